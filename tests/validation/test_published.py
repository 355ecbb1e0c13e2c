"""Published numbers: each deviation printed, what is promised held, and the table of the docs up to date."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import published


def test_deviations(capsys):
    with capsys.disabled():
        for row in published.rows():
            print("\n  " + "  ".join(row.cells()[:5]) + "  " + row.verdict, end="")
    missed = [row.cells() for row in published.rows() if row.verdict == "missed"]
    assert missed == []


def test_the_table_of_the_docs_is_this_one():
    page = published.PAGE.read_text(encoding="utf-8")
    assert page == published.written(page), "run python tests/validation/published.py --write"


def test_the_longest_explains_the_time_better_than_the_total():
    slope, by_longest, by_total = published.slope_and_r2()
    assert slope == pytest.approx(0.0195, rel=0.03)
    assert by_longest > 0.99 > 0.7 > by_total


def test_groups_and_pooled_responses_differ():
    groups, pooled = published.group_guard()
    assert groups == pytest.approx(0.95, abs=0.08)
    assert pooled < 0.5


@pytest.mark.parametrize(
    ("published_", "replay", "allowed", "verdict"),
    [
        (100.0, 120.0, 0.25, "met"),
        (100.0, 130.0, 0.25, "missed"),
        ((1.0, 2.0), 1.5, 0.0, "met"),
        ((1.0, 2.0), 2.2, 0.05, "missed"),
        (1.0, 9.0, None, "shown only"),
    ],
)
def test_verdicts(published_, replay, allowed, verdict):
    assert published.Row("", "", published_, replay, allowed).verdict == verdict
