"""`--map COLUMN=KEY`: columns, nested keys, and a framework's mapper with some of them replaced."""

from __future__ import annotations

from typing import Any

import pytest

from rollprof.adapters import mapping
from rollprof.adapters.base import Dropped, Row
from rollprof.errors import UsageProblem
from rollprof.schema.tables import ROLLOUTS

COMPUTED = {"group_id", "prompt_chars", "response_chars", "source"}
"""Columns of rollouts that the converter makes itself."""


def test_every_column_can_be_named() -> None:
    assert set(mapping.CONVERT) == (set(ROLLOUTS.column_names) - COMPUTED) | {"prompt", "response", "group"}
    assert mapping.column_named("group_id") == "group"


def test_an_unknown_column_is_named_with_its_neighbour() -> None:
    with pytest.raises(UsageProblem) as problem:
        mapping.column_named("response_token")
    assert problem.value.hint == "did you mean response_tokens?"
    with pytest.raises(UsageProblem) as problem:
        mapping.column_named("zzz")
    assert problem.value.hint is not None
    assert problem.value.hint.startswith("columns: step, split,")


def test_nested_keys() -> None:
    get = mapping.lookup("metrics.queue.s")
    assert get({"metrics": {"queue": {"s": 1.5}}}) == 1.5
    assert get({"metrics.queue.s": 2.5, "metrics": {}}) == 2.5  # the key as it stands comes first
    assert get({"metrics": {"queue.s": 3.5}}) == 3.5
    assert get({"metrics": 5}) is None
    assert get({}) is None


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("val", "eval"), ("Train", "train"), (True, "eval"), (False, "train"), ("x", None), (None, None)],
)
def test_splits(value: Any, wanted: str | None) -> None:
    assert mapping.split_name(value) == wanted


def test_prompt_ids() -> None:
    assert mapping.prompt_key(17) == 17
    assert mapping.prompt_key("q-17") == mapping.prompt_key("q-17")
    assert mapping.prompt_key("q-17") != mapping.prompt_key("q-18")
    assert mapping.prompt_key("\ud800") is not None
    assert mapping.prompt_key(-1) == mapping.prompt_key("-1")
    assert mapping.prompt_key(None) is None


class Base:
    columns = ("step", "reward")

    def __call__(self, record: dict[str, Any]) -> Row | Dropped:
        return Dropped("padding") if record.get("pad") else (record["step"], record["score"])


def test_a_mapper_with_columns_replaced_and_added() -> None:
    mapper = mapping.Mapped(Base(), {"reward": "judge.score", "response_tokens": "n"})
    assert mapper.columns == ("step", "reward", "response_tokens")
    assert mapper({"step": 1, "score": 0.0, "judge": {"score": "0.5"}, "n": [1, 2]}) == (1, 0.5, 2)
    assert mapper({"step": 1, "score": 0.0}) == (1, None, None)
    assert mapper({"pad": 1}) == Dropped("padding")
