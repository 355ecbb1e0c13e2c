"""Which files are TRL's, and which only look like it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollprof.adapters.base import Claim
from rollprof.adapters.trl import ADAPTER
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

from .log_text import bar, metrics, v4, v5

Make = Callable[..., SniffedFile]
Dump = Callable[..., SniffedFile]

SFT = {"loss": 1.5, "grad_norm": 0.3, "learning_rate": 1e-05, "mean_token_accuracy": 0.6, "num_tokens": 900.0}
DPO = {
    "loss": 0.69,
    "rewards/chosen": 0.1,
    "rewards/rejected": 0.0,
    "rewards/margins": 0.1,
    "logps/chosen": -9.0,
}


def claim(file: SniffedFile) -> Claim | None:
    return ADAPTER.claim(file)


@pytest.mark.parametrize("form", [v4, v5])
def test_console_logs_of_both_transformers(
    make: Make, form: Callable[[dict[str, float], float], str]
) -> None:
    found = claim(make(f"some text\n{bar(1, 9, '00:03')}{form(metrics(1), 0.1)}\n"))
    assert found is not None
    assert (found.role, found.score) == ("console", 0.9)


def test_the_first_dict_may_come_late_and_after_others(make: Make) -> None:
    noise = "INFO vllm {'a': 1} {'reward': 1.0, 'prompt': 2}\n" * 4000
    found = claim(make(noise + v4(SFT, 0.1) + "\n" + noise + v4(metrics(1), 0.1) + "\n"))
    assert found is not None


@pytest.mark.parametrize(
    "text",
    [
        v4(SFT, 0.1),
        v5(DPO, 0.1),
        "{'train_runtime': 9.0, 'train_loss': 0.5, 'epoch': 1.0}",
        "step:1 - actor/pg_loss:0.1 - critic/score/mean:0.5 - response_length/mean:100.0",
        "✨ Global step 1: {'policy_loss': 0.1, 'reward': 0.5, 'response_length': 300.0, 'actor_lr': 1e-06}",
        f"TRL prints `{v4(metrics(1), 0.1)}` at every log",
        "{'reward': 1.0, 'completion_length': 12}",
        "| completions/mean_length | 28.75 |\n| reward | 0.5 |\n| learning_rate | 1e-6 |",
    ],
)
def test_false_friends(make: Make, text: str) -> None:
    assert claim(make(text + "\n")) is None


def history(entry: dict[str, Any], **extra: Any) -> str:
    return json.dumps(
        {"global_step": 1, "log_history": [{**entry, "step": 1}], **extra}, indent=2, sort_keys=True
    )


def test_the_state_under_any_name(make: Make) -> None:
    for name in ("trainer_state.json", "chaos_training_logs.json", "x.log"):
        found = claim(make(history(metrics(1)), name))
        assert found is not None
        assert found.role == "metrics"
    assert claim(make(json.dumps(json.loads(history(metrics(1)))), "one_line.json")) is not None
    assert claim(make(history(metrics(1, grad_norm=float("nan"))), "nan.json")) is not None


def test_the_state_of_other_trainers_is_not_ours(make: Make) -> None:
    assert claim(make(history(SFT), "trainer_state.json")) is None
    assert claim(make(history(DPO), "trainer_state.json")) is None
    assert claim(make(json.dumps({"log_history": [metrics(1)]}), "x.json")) is None


def test_a_long_history_is_told_by_its_head(make: Make) -> None:
    """Reward keys may come late: evaluation and text first, hundreds of entries."""
    entries = [{**metrics(s), "step": s} for s in range(1, 900)]
    assert (
        claim(make(json.dumps({"epoch": 1, "global_step": 9, "log_history": entries}, indent=2))) is not None
    )


def test_swift_lines_of_grpo_and_of_sft(make: Make) -> None:
    own = "\n".join(json.dumps({**metrics(s), "global_step/max_steps": f"{s}/9"}) for s in (1, 2))
    assert claim(make(own, "logging.jsonl")) is not None
    other = "\n".join(json.dumps({**SFT, "global_step/max_steps": f"{s}/9"}) for s in (1, 2))
    assert claim(make(other, "logging.jsonl")) is None


def test_completions_by_their_columns(dump: Dump) -> None:
    found = claim(dump(3, [{"prompt": "a", "completion": "b", "exact": 1.0, "advantage": 0.0}]))
    assert found is not None
    assert (found.role, found.series, found.split) == ("rollouts", "completions", "train")
    assert found.hints == {"whole_file": "1"}
    chat = [{"role": "user", "content": "a"}]
    found = claim(dump(4, [{"prompt": chat, "completion": chat, "exact": 1.0, "advantage": 0.0}]))
    assert found is not None
    assert claim(dump(5, [{"prompt": "a", "completion": "b"}])) is not None  # distillation
    assert claim(dump(6, [{"prompt": "a", "response": "b", "advantage": 0.0}])) is None


def test_other_parquet_is_not_ours(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"prompt": ["a"], "completion": ["b"], "reward": [1.0]}), path)
    assert claim(sniff(str(path), "data.parquet")) is None


@pytest.mark.parametrize(
    "content",
    [
        "---\nlibrary_name: transformers\ntags:\n- trl\n- sft\n---\n# Model\n",
        "# How to train\n\n- TRL: 1.16.0\n",
        "PK\x03\x04 nothing of ours",
    ],
)
def test_other_cards_and_archives(make: Make, content: str) -> None:
    assert claim(make(content, "README.md")) is None


def test_nothing_of_the_other_frameworks_is_claimed(corpus: Path) -> None:
    from rollprof.sources.tree import find_files

    for folder in ("verl", "openrlhf", "other", "engine", "edge_jsonl"):
        assert [f.name for f in find_files([str(corpus / folder)]) if claim(f) is not None] == []
