from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollprof.adapters.openrlhf import ADAPTER
from rollprof.sources.records import SniffedFile
from rollprof.sources.tree import sniff

Make = Callable[..., SniffedFile]


def test_what_openrlhf_writes_is_claimed(make: Make, logs: Any) -> None:
    for text, score in (
        (logs.step(1, {"policy_loss": 0.1, "reward": 0.5}), 0.97),
        ("Global step 2: {'reward': 0.5}\n", 0.97),
        (logs.step(1, {"mine": 1, "reward": 0.5}), 0.97),
        ("Namespace(colocate_all_models=True, vllm_num_engines=2)\n", 0.85),
        (logs.bar("Generate samples", 1, 8, 2), 0.8),
        (logs.bar("Processed prompts", 1, 8, 2, actor="LLMRayActor"), 0.8),
        ("INFO 11-30 21:08:46 ppo_trainer_async.py:290] queue_size=1\n", 0.7),
    ):
        claim = ADAPTER.claim(make(text))
        assert claim is not None, text
        assert (claim.role, claim.score) == ("console", score), text


def test_step_line_far_down_a_log(make: Make, logs: Any) -> None:
    claim = ADAPTER.claim(make("engine starting\n" * 20_000 + logs.step(1, {"reward": 0.5})))
    assert claim is not None
    assert claim.score == 0.97


@pytest.mark.parametrize(
    "text",
    [
        "step:1 - timing_s/gen:4.1 - critic/score/mean:0.63\n",  # verl
        "{'loss': 0.1, 'reward': 0.5, 'epoch': 0.1}\n",  # TRL
        "Step 3: \n{'generate/avg_num_tokens': '312.5000'}\n",  # SkyRL
        "the paper logs `Global step N: {...}` lines of OpenRLHF\n",
        "run python3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1\n",
        "Global step 5: {'my_own': 1.0}\n",
        "Namespace(lr=0.1, epochs=3)\n",
        "Processed prompts: 100%|##########| 16/16 [00:12<00:00,  1.25it/s]\n",  # any vLLM
        "Training Progress:  50%|#####     | 1/2 [00:12<00:12, 12.5s/it]\n",
        "INFO 09-15 14:42:21 [executor_base.py:188] It took 1.460260 seconds to fall asleep.\n",
    ],
)
def test_false_friends(make: Make, text: str) -> None:
    assert ADAPTER.claim(make(text)) is None


def test_other_frameworks_of_the_corpus_are_left_alone(corpus: Path) -> None:
    for path in sorted(corpus.rglob("*")):
        if path.is_file() and "openrlhf" not in path.parts and path.suffix not in (".pt", ".safetensors"):
            assert ADAPTER.claim(sniff(str(path), path.name)) is None, path


def test_reformatted_log_says_so(make: Make) -> None:
    claim = ADAPTER.claim(make("\n✨ Global step 1:\n    policy_loss:        0.024\n"))
    assert claim is not None
    assert "somebody reformatted" in claim.why
