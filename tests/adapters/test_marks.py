"""Plain marks that spare the search for a pattern: no line that the pattern finds lacks all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rollprof.adapters.openrlhf import detect as openrlhf
from rollprof.adapters.trl import detect as trl
from rollprof.adapters.verl import detect as verl
from rollprof.adapters.verl.stepline import FAMILIES

Marks = tuple[bytes | re.Pattern[bytes], ...]
PAIRS: dict[str, tuple[re.Pattern[bytes], Marks]] = {
    "verl step": (verl._STEP_LINE, verl._STEP_MARKS),
    "verl other": (verl._OTHER, verl._OTHER_MARKS),
    "openrlhf step": (openrlhf._STEP, openrlhf._STEP_MARKS),
    "openrlhf other": (openrlhf._OTHER, openrlhf._OTHER_MARKS),
    "trl": (trl._DICT, trl._DICT_MARKS),
}
LINES: dict[str, tuple[bytes, ...]] = {
    "verl step": (b"(TaskRunner pid=7) step:3 - actor/loss:0.1", b"step:1 - total_num_tokens:5"),
    "verl other": (
        b"{'actor_rollout_ref': {",
        b"(main_task pid=1) [FullyAsyncTrainer]",
        b"[FullyAsyncRollouter]",
        b"+ python3 -m verl.trainer.main_ppo",
        b"++ /usr/bin/python -u -m recipe.dapo.main",
        *(f" - {f}/a:1 - {f}/b:nan - {f}/c:np.float64(2)".encode() for f in sorted(FAMILIES)),
    ),
    "openrlhf step": (
        b"INFO x.py:1] Global step 4: {'reward': 0.5}",
        b"\xe2\x9c\xa8 Global step 1 [a]: {'kl':",
    ),
    "openrlhf other": (
        b"Namespace(n_samples_per_prompt=2)",
        b"namespace(vllm_num_engines=2)",
        *(
            b"(" + actor + b" pid=3) Generate samples: "
            for actor in (
                b"PPOTrainer",
                b"PPOTrainerAsync",
                b"TrainingActor",
                b"GenerateSamplesActor",
                b"PolicyModelActor",
                b"ActorModelRayActor",
                b"LLMRayActor",
                b"LLMRayActorAsync",
                b"RolloutRayActor",
                b"RemoteRewardModel",
            )
        ),
        b"(RolloutRayActor) INFO 11-30 20:00:00 a.py:1] ",
        "a.py:1] \N{ROCKET} Starting experience making with 8 samples".encode(),
        b"a.py:1] Sample: [",
        b"a.py:1] queue_size=3",
        b"'-m', 'openrlhf.cli.train_ppo_ray',",
    ),
    "trl": tuple(
        b"{'reward': 0.5, " + quote + key + quote + b": 1}"
        for key in (b"loss", b"grad_norm", b"learning_rate", b"epoch", b"train_runtime", b"eval_loss")
        for quote in (b"'", b'"')
    ),
}


def holds(data: bytes, marks: Marks) -> bool:
    return any(m in data if isinstance(m, bytes) else m.search(data) is not None for m in marks)


@pytest.mark.parametrize("name", PAIRS)
def test_whatever_is_found_holds_a_mark(name: str) -> None:
    pattern, marks = PAIRS[name]
    for line in LINES[name]:
        found = pattern.search(line)
        assert found is not None, line
        assert holds(found.group(), marks), line


def test_so_it_is_in_every_log(corpus: Path) -> None:
    met = dict.fromkeys(PAIRS, 0)
    for path in sorted(corpus.rglob("*")):
        if path.suffix not in (".log", ".txt", ".out") or path.stat().st_size > 2 << 20:
            continue
        data = path.read_bytes()
        for name, (pattern, marks) in PAIRS.items():
            found = pattern.search(data)
            if found is not None:
                met[name] += 1
                assert holds(found.group(), marks), (name, path)
    assert all(met.values()), met
