"""Whatever stands in a log: no traceback, every line accounted for, no number changed quietly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollprof.adapters.openrlhf import ADAPTER
from rollprof.assemble import merge
from rollprof.schema.ledger import Ledger
from rollprof.sources.tree import sniff

RELAXED = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def whole(logs: Any) -> bytes:
    """A log of three steps with bars and an evaluation."""
    text = (
        "namespace(train=namespace(async_enable=False, colocate_all=True), rollout=namespace(batch_size=4, "
        "n_samples_per_prompt=2, max_new_tokens=900), vllm=namespace(num_engines=2))\n"
    )
    for n in (1, 2, 3):
        text += logs.groups([3, 5, 7, 11.0])
        text += logs.said("🚀 Starting experience making with 8 samples")
        text += logs.step(n, {"reward": 0.25 * n, "response_length": 100.0 + n, "timing/generation": 12.5})
    return text.encode()


def read_all(path: Path, content: bytes) -> tuple[dict[int, dict[str, float]], Ledger]:
    path.write_bytes(content)
    file, ledger = sniff(str(path), "run.log"), Ledger()
    claim = ADAPTER.claim(file)
    if claim is None or claim.role != "console":
        return {}, ledger
    values: dict[int, dict[str, float]] = {}
    for part in ADAPTER.read(file, claim, ledger):
        merged = merge.merge([part])
        ADAPTER.interpret(merge.evidence(merged, {}, {}))
        values.update(merged.metrics)
    assert ledger.lines == len(content.removesuffix(b"\n").split(b"\n")) if content else True
    return values, ledger


@RELAXED
@given(at=st.integers(0, 10_000), noise=st.binary(max_size=60))
def test_inserted_bytes(tmp_path: Path, whole: bytes, at: int, noise: bytes) -> None:
    at %= len(whole)
    read_all(tmp_path / "run.log", whole[:at] + noise + whole[at:])


@RELAXED
@given(cut=st.integers(1, 10_000))
def test_cut_anywhere(tmp_path: Path, whole: bytes, cut: int) -> None:
    """A killed run's log: what is left of it says what the whole log says, or nothing."""
    content = whole[: cut % len(whole) or 1]
    values, _ = read_all(tmp_path / "run.log", content)
    expected, _ = read_all(tmp_path / "run.log", whole)
    for step, found in values.items():
        for key, value in found.items():
            if not key.startswith("bar/"):
                assert expected[step][key] == value


LINES = st.sampled_from(
    [
        "(RolloutRayActor pid=9) update weight: model.layers.0.weight, dtype: torch.bfloat16, shape: [8, 8]",
        "(EngineCore) [cumem.py:271] CuMemAllocator: sleep freed 27.29 GiB memory ...",
        "{'loss': 0.5, 'reward': 99.0}",
        "'reward': 99.0, 'response_length': 99.0}",
        "['Global step 2: {\\'reward\\': 99.0}', 1.0]",
        "Traceback (most recent call last):",
        "",
        "Train epoch [1/1]:  50%|#####     | 2/4 [00:00<00:00, 16.02it/s, reward=99.0, gen_len=99]",
    ]
)


@RELAXED
@given(line=LINES, at=st.integers(0, 60))
def test_lines_of_others_change_nothing(tmp_path: Path, whole: bytes, line: str, at: int) -> None:
    expected, _ = read_all(tmp_path / "run.log", whole)
    lines = whole.decode().split("\n")
    at %= len(lines)
    values, _ = read_all(tmp_path / "run.log", "\n".join([*lines[:at], line, *lines[at:]]).encode())
    assert values == expected
