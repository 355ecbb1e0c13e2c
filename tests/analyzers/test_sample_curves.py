"""What a picture shows of samples: as much as can be seen, gaps as gaps, silence as nothing running."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rollprof.analyzers.sample_curves import POINTS, engine_curve, gpu_band, joined_up
from rollprof.curves.ticks import curve_of


def curve(times: list[float], running: list[float], *, silent: bool) -> object:
    nothing = np.full(len(times), np.nan)
    rows = np.column_stack([times, running, np.zeros(len(times)), nothing, nothing])
    return curve_of(rows, silent_when_idle=silent)


def test_missing_samples_are_a_gap_and_silence_is_nothing_running() -> None:
    times, running = [0.5, 1.5, 2.5, 60.5, 61.5, 62.5], [4.0, 4.0, 4.0, 2.0, 2.0, 2.0]
    hole = engine_curve("e", curve(times, running, silent=False), 4.0)  # type: ignore[arg-type]
    assert hole.running == (4.0, 4.0, 4.0, None, 2.0, 2.0, 2.0)
    quiet = engine_curve("e", curve(times, running, silent=True), 4.0)  # type: ignore[arg-type]
    assert quiet.running == (4.0, 4.0, 4.0, 0.0, 0.0, 2.0, 2.0, 2.0)
    assert list(quiet.time) == sorted(quiet.time)


def test_a_long_curve_is_means_of_neighbours() -> None:
    times = np.arange(100_000) + 0.25
    running = np.tile([0.0, 8.0], 50_000)
    rows = np.column_stack([times, running, running, running, running])
    drawn = engine_curve("e", curve_of(rows, silent_when_idle=False), 8.0)
    assert len(drawn.time) <= POINTS
    assert np.mean(drawn.running) == pytest.approx(4.0, abs=0.05)  # type: ignore[arg-type]
    assert np.mean(drawn.waiting) == pytest.approx(4.0, abs=0.05)  # type: ignore[arg-type]


def test_gpus_of_one_moment_are_one_cell_and_a_pause_is_a_gap() -> None:
    rows = [(t, u) for t in (0.0, 1.0, 2.0, 10.0, 11.0) for u in (0.2, 0.6)]
    band = gpu_band(pl.DataFrame(rows, schema=["time", "utilization"], orient="row"))
    assert band is not None
    assert [v for v in band.mean if v is not None] == pytest.approx([0.4] * 5)
    assert band.mean.count(None) == 7
    assert {(low, high) for low, high in zip(band.low, band.high, strict=True) if low is not None} == {
        (0.2, 0.6)
    }


def test_many_gpu_samples_are_few_cells_with_their_range() -> None:
    time = np.arange(50_000.0)
    used = np.where(time % 2 == 0, 0.0, 1.0)
    band = gpu_band(pl.DataFrame({"time": time, "utilization": used}))
    assert band is not None
    assert len(band.time) <= POINTS + 1
    assert set(band.low[:-1]) == {0.0}
    assert set(band.high[:-1]) == {1.0}
    assert band.mean[1] == pytest.approx(0.5, abs=0.01)
    assert gpu_band(pl.DataFrame({"time": [1.0], "utilization": [0.5]})) is None


def test_pauses_that_cannot_be_seen_are_not_drawn() -> None:
    assert joined_up([(0.0, 10.0), (10.5, 20.0), (900.0, 1000.0)]) == [(0.0, 20.0), (900.0, 1000.0)]
    assert joined_up([(0.0, 10.0), (12.0, 20.0)]) == [(0.0, 10.0), (12.0, 20.0)]
    assert joined_up([]) == []
