from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from parts import part

from rollprof.adapters.base import Fact, Interpretation
from rollprof.assemble.merge import combine, merge


def test_the_more_exact_source_wins_per_key_and_others_fill_gaps() -> None:
    console = part("console.log", {1: {"a": 0.123, "b": 2.0}, 2: {"a": 5.0}})
    logger = part("run.jsonl", {1: {"a": 0.12345}}, role="metrics")
    merged = merge([console, logger])
    assert merged.metrics == {1: {"a": 0.12345, "b": 2.0}, 2: {"a": 5.0}}


def test_nan_does_not_hide_a_number() -> None:
    logger = part("run.jsonl", {1: {"a": math.nan}}, role="metrics")
    assert merge([logger, part("c.log", {1: {"a": 1.5}})]).metrics[1]["a"] == 1.5


def test_the_last_word_of_a_file_counts() -> None:
    console = part("c.log", {1: {"a": 1.0}})
    console.metrics += part("c.log", {1: {"a": 3.0}}).metrics
    assert merge([console]).metrics[1]["a"] == 3.0


def test_interpretations_combine_column_by_column() -> None:
    first = Interpretation(
        steps=[{"step": 1, "split": "train", "step_s": 2.0}], facts={"gpus": Fact(8, "config", "a")}
    )
    second = Interpretation(
        steps=[{"step": 1, "split": "train", "step_s": 9.0, "generate_s": 1.0}],
        facts={"gpus": Fact(4, "config", "b"), "engines": Fact(2, "config", "b")},
        version="0.5",
    )
    both = combine([first, second])
    assert both.steps == [{"step": 1, "split": "train", "step_s": 2.0, "generate_s": 1.0}]
    assert (both.facts["gpus"].value, both.facts["engines"].value, both.version) == (8, 2, "0.5")
