"""Damage never changes what is read without an entry in the ledger, whatever the file."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollprof import api
from rollprof.errors import RollprofError
from rollprof.schema.store import Dataset

GARBAGE = (
    b"Traceback (most recent call last):\n",
    b"\n",
    b"\x00\x00\x00\x00\n",
    b"(WorkerDict pid=77) INFO 08-20 10:11:12 scheduler.py:1] hello\n",
    b'{"note": "not a rollout"}\n',
    b"\xff\xfe\xff\n",
    b"null\n",
)


def dump() -> bytes:
    rng = random.Random(5)
    rows = [
        {
            "input": f"prompt {i // 4}",
            "output": "word " * rng.randint(5, 60),
            "gts": "7",
            "score": float(i % 2),
            "step": 1 + i // 8,
        }
        for i in range(24)
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def console() -> bytes:
    lines = []
    for step in range(1, 7):
        values = {
            "training/global_step": step,
            "critic/score/mean": 0.25 + step / 16,
            "response_length/mean": 100.5 + step,
            "response_length/max": 512.0,
            "response_length/min": 4.0,
            "timing_s/gen": 10.125 + step,
            "timing_s/step": 30.25 + step,
        }
        pairs = " - ".join(f"{k}:{v!r}" for k, v in values.items())
        lines.append(f"(TaskRunner pid=11) step:{step} - {pairs}\n".encode())
    return b"".join(lines)


FILES = {"1.jsonl": dump(), "train.log": console()}


def read(name: str, data: bytes, **options: Any) -> tuple[Any, Dataset] | None:
    """The tables of a file, or None where nothing usable is left (said in one line)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            dataset = api.open_run(
                [str(path)],
                options=api.OpenOptions(framework="verl", output=f"{folder}/out", workers=1, **options),
            )
        except RollprofError as error:
            if "\n" in error.message:
                raise
            return None
        rollouts = dataset.rollouts.drop("source").collect().to_dicts()
        return (rollouts, dataset.steps.collect().to_dicts()), dataset


def physical_lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    kind = draw(st.sampled_from(["line", "cut", "nul", "utf8", "newline"]))
    if kind == "line":
        starts = [0, *(i + 1 for i, b in enumerate(data) if b == 10)]
        at = draw(st.sampled_from(starts))
        return data[:at] + draw(st.sampled_from(GARBAGE)) + data[at:]
    at = draw(st.integers(1, len(data) - 1))
    if kind == "cut":
        return data[:at]
    return data[:at] + {"nul": b"\x00", "utf8": b"\xff", "newline": b"\n"}[kind] + data[at:]


@pytest.mark.parametrize("name", list(FILES))
@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_damage_changes_a_figure_silently(name: str, data: st.DataObject) -> None:
    whole = read(name, FILES[name])
    assert whole is not None
    spoiled = data.draw(damaged(FILES[name]))
    found = read(name, spoiled)
    if found is None:
        return
    tables, dataset = found
    ledger = dataset.ledger
    assert ledger.lines == physical_lines(spoiled)
    if tables != whole[0]:
        whole_lines_lost = FILES[name].startswith(spoiled) and spoiled.endswith(b"\n")
        assert not ledger.clean or whole_lines_lost, spoiled


@pytest.mark.parametrize("name", list(FILES))
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_arbitrary_bytes_never_give_a_traceback(name: str, data: st.DataObject) -> None:
    original = FILES[name]
    at = data.draw(st.integers(0, len(original)))
    spoiled = original[:at] + data.draw(st.binary(min_size=1, max_size=40)) + original[at:]
    found = read(name, spoiled)
    if found is not None:
        assert found[1].ledger.lines == physical_lines(spoiled)
