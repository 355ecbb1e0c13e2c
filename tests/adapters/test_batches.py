"""Many records at once give what they give one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof.adapters import registry
from rollprof.adapters.base import BatchMapper, Dropped, MapperContext
from rollprof.parallel import convert
from rollprof.parallel.tasks import ConvertOptions, plan
from rollprof.schema.ledger import Ledger
from rollprof.sources.tree import find_files

TEXT = st.text(max_size=6)
NUMBER = st.one_of(st.floats(allow_nan=False), st.integers(-3, 3), st.booleans())
ODD = st.one_of(
    st.none(), TEXT, NUMBER, st.lists(NUMBER, max_size=2), st.dictionaries(TEXT, NUMBER, max_size=2)
)

VERL = {
    "input": TEXT,
    "output": TEXT,
    "score": NUMBER,
    "step": st.integers(0, 9),
    "gts": ODD,
    "acc": NUMBER,
    "format_reward": NUMBER,
    "pred": ODD,
    "note": TEXT,
    "token_ids": st.lists(st.integers(), max_size=3),
    "num_turns": st.integers(0, 40_000),
    "data_source": TEXT,
    "request_id": TEXT,
    "reward_extra": st.fixed_dictionaries(
        {"format": NUMBER, "tool": st.dictionaries(TEXT, NUMBER, max_size=1)}, optional={"score": NUMBER}
    ),
}
GENERIC = {
    "step": st.integers(0, 9),
    "prompt": TEXT,
    "response": TEXT,
    "response_tokens": st.integers(0, 99),
    "reward": NUMBER,
    "started_at": st.floats(0, 100),
    "completed_at": st.floats(0, 100),
    "generate_s": st.floats(0, 100),
    "finish_reason": st.sampled_from(["stop", "length", "eos", "?"]),
    "engine": TEXT,
    "prompt_id": st.integers(0, 5),
    "policy_version": st.integers(0, 5),
    "split": st.sampled_from(["train", "eval"]),
}


SELDOM = frozenset({"request_id", "num_turns", "gts", "pred", "data_source", "acc", "reward_extra"})
"""Keys that some rows of a log have and others have not."""


def batches(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Records of the same keys, some of them with a value that is not as it should be."""

    def of(keys: frozenset[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
        plain = st.fixed_dictionaries({key: fields[key] for key in sorted(keys)})
        strange = st.fixed_dictionaries({}, optional=dict.fromkeys(sorted(keys), ODD))
        whole = st.lists(plain, min_size=1, max_size=5)
        now_and_then = st.fixed_dictionaries(
            {key: fields[key] for key in sorted(keys - SELDOM)},
            optional={key: fields[key] for key in sorted(keys & SELDOM)},
        )
        seldom = st.lists(now_and_then, min_size=1, max_size=5)
        return st.one_of(whole, seldom, st.lists(st.one_of(plain, strange), min_size=1, max_size=5))

    return st.frozensets(st.sampled_from(sorted(fields)), min_size=2).flatmap(of)


def one_by_one(mapper: BatchMapper, records: list[dict[str, Any]]) -> dict[str, list[Any]] | None:
    """The rows as columns; None where a record is left out or cannot be used."""
    try:
        rows = [mapper(record) for record in records]
    except ValueError:
        return None
    if any(isinstance(row, Dropped) for row in rows):
        return None
    return {name: [row[at] for row in rows] for at, name in enumerate(mapper.columns)}  # type: ignore[index]


def same(framework: str, records: list[dict[str, Any]]) -> bool:
    """Whether the records were plain; asserts that both ways agree."""
    context = MapperContext("log.jsonl", "log", "train", keys=tuple(records[0]))
    mapper, other = (registry.load(framework).mapper(context) for _ in range(2))
    assert isinstance(mapper, BatchMapper)
    assert isinstance(other, BatchMapper)
    found = mapper.batch(records)
    if found is None:
        return False
    expected = one_by_one(other, records)
    assert expected is not None
    assert repr({name: list(column) for name, column in found.items()}) == repr(expected)
    return True


@given(batches(VERL))
@settings(max_examples=150, deadline=None)
def test_a_dump_of_verl(records: list[dict[str, Any]]) -> None:
    same("verl", records)


@given(batches(GENERIC))
@settings(max_examples=150, deadline=None)
def test_any_records(records: list[dict[str, Any]]) -> None:
    same("generic", records)


def test_plain_records_are_taken_at_once() -> None:
    verl = {"input": "q", "output": "a", "gts": "7", "score": 1.0, "step": 3, "acc": True, "ids": [1, 2]}
    own = {
        "step": 3,
        "prompt": "q",
        "response_tokens": 9,
        "reward": 1,
        "started_at": 1.0,
        "completed_at": 2.0,
    }
    assert same("verl", [verl] * 3)
    assert same("verl", [verl, {"input": "q", "output": "a", "score": 0, "step": 3, "acc": False, "ids": []}])
    nested = {**verl, "extra": {"format": 0.5, "tool": {"calls": 1}}}
    assert same("verl", [nested, {**nested, "request_id": "7", "num_turns": 2}])
    assert same("generic", [own] * 3)


def converted(path: Path) -> list[tuple[Any, ...]]:
    """All that comes of a file: rows, totals, remarks and the ledger."""
    (file,) = find_files([str(path)])
    found = []
    for claim in registry.claims(file, only=None, columns={}, ledger=Ledger())[:1]:
        if claim.role == "rollouts":
            for task in plan([(file, claim, 0)], ConvertOptions()):
                result = convert.convert_chunk(task)
                rows = [row for batch in result.batches() for row in batch.to_pylist()]
                found.append((rows, result.totals, result.remarks, result.ledger.as_dict()))
    return found


def both(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Rows of the file; asserts that they are the same with and without batches."""
    at_once = converted(path)
    with monkeypatch.context() as patch:
        patch.setattr(convert, "BatchMapper", int)  # which no mapper is
        assert repr(converted(path)) == repr(at_once)
    return sum(len(rows) for rows, *_ in at_once)


def test_every_dump_of_the_corpus(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [p for p in sorted(corpus.rglob("*.jsonl")) if p.stat().st_size < 2 << 20]
    assert sum(both(path, monkeypatch) for path in files) > 1000


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_a_dump_with_random_damage(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    row = {"input": "qé", "output": "a" * 30, "gts": "7", "score": 1.0, "step": 3, "acc": True}
    raw = bytearray("".join(json.dumps({**row, "step": 1 + i // 8}) + "\n" for i in range(40)).encode())
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=6)):
        raw[at] = data.draw(st.sampled_from(b'\n\x00{}"[,N\xff9 '))
    path = tmp_path_factory.mktemp("damage") / "dump.jsonl"
    path.write_bytes(bytes(raw))
    with pytest.MonkeyPatch.context() as patch:
        both(path, patch)
