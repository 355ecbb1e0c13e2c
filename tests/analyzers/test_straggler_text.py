"""Private text is fetched for the rollouts that were asked for, and only where it was kept."""

from __future__ import annotations

import polars as pl

from rollprof.analyzers.results import Straggler
from rollprof.analyzers.straggler_text import has_text, straggler_texts


def rollouts(**more: list[str | None]) -> pl.LazyFrame:
    return pl.LazyFrame(
        {
            "split": ["train", "train", "eval", "train", "train"],
            "step": [1, 1, 1, 2, 2],
            "prompt_id": [7, 8, 8, 9, 9],
            "response_tokens": [10, 90, 90, 50, 50],
            "response_chars": [40, 300, 300, 200, 200],
            **more,
        },
        schema_overrides={"prompt_id": pl.UInt64},
    )


def last(step: int, prompt: int | None, length: float | None) -> Straggler:
    return Straggler(step, prompt, length, None, None, None, "long")


def test_text_of_the_last_rollouts() -> None:
    frame = rollouts(
        prompt=["p1", "p2", "eval", "p3", "p4"], response=["a", "b" * 9000, "e", "first", "second"]
    )
    found = straggler_texts(frame, [last(1, 8, 90.0), last(2, 9, 50.0), last(3, 1, 1.0), last(1, None, 5.0)])
    assert found == {1: ("p2", "b" * 4000), 2: ("p3", "first")}
    assert straggler_texts(frame, [last(1, 8, 90.0)], split="eval") == {1: ("eval", "e")}


def test_a_dataset_without_text_has_none() -> None:
    assert not has_text(rollouts())
    assert straggler_texts(rollouts(), [last(1, 8, 90.0)]) == {}
    only = rollouts(response=["a", "b", "c", "d", "e"])
    assert has_text(only)
    assert straggler_texts(only, [last(1, 8, 90.0)]) == {1: (None, "b")}
