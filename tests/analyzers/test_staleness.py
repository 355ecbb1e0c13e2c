from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from grouped_data import frame

from rollprof.analyzers.staleness import analyze_staleness

NO_SEGMENTS = pl.LazyFrame(schema={"rollout": pl.Int64, "policy_version": pl.Int64, "tokens": pl.Int32})


def test_hand_worked_versions() -> None:
    rollouts = frame(
        step=[7, 7, 7],
        response_tokens=[100, 300, 100],
        policy_version_first=[7, 6, 5],
        policy_version_last=[7, 6, 5],
    )
    found = analyze_staleness(rollouts, NO_SEGMENTS)
    assert found is not None
    value = {name: figure.value for name, figure in found.figures.items()}
    assert value == {
        "off_policy_token_share": pytest.approx(0.8),
        "staleness_mean": pytest.approx((300 + 200) / 500),
        "staleness_p95": 2,
        "staleness_max": 2,
        "resumed_share": 0,
    }
    assert found.histogram == {0: pytest.approx(0.2), 1: pytest.approx(0.6), 2: pytest.approx(0.2)}
    assert found.figures["staleness_mean"].bound == "lower"
    assert found.figures["staleness_mean"].basis == "measured"


def test_a_span_is_spread_evenly_and_says_so() -> None:
    rollouts = frame(response_tokens=[90], policy_version_first=[1], policy_version_last=[3])
    found = analyze_staleness(rollouts, NO_SEGMENTS)
    assert found is not None
    assert found.figures["staleness_mean"].value == pytest.approx(1.0)
    assert found.figures["staleness_mean"].basis == "modelled"
    assert found.figures["resumed_share"].value == 1.0
    assert found.figures["resumed_share"].basis == "measured"


def test_segments_know_better() -> None:
    rollouts = frame(response_tokens=[90, 10], policy_version_first=[1, 3], policy_version_last=[3, 3])
    segments = pl.LazyFrame({"rollout": [0, 0], "policy_version": [1, 3], "tokens": [80, 10]})
    found = analyze_staleness(rollouts, segments)
    assert found is not None
    assert found.figures["off_policy_token_share"].value == pytest.approx(0.8)
    assert found.figures["off_policy_token_share"].basis == "measured"


def test_no_versions_no_figure() -> None:
    assert analyze_staleness(frame(response_tokens=[1, 2]), NO_SEGMENTS) is None
