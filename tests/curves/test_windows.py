"""Where generations begin and end, and how much of their slots was used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof.curves.area import busy_area, sampling_error, too_coarse
from rollprof.curves.ticks import Curve, curve_of
from rollprof.curves.windows import capacity_of, find_windows


def sampled(
    ends: list[float], tick: float, phase: float, *, gap: float = 0.0, slots: int = 10**6
) -> tuple[Curve, float]:
    """A run of one engine: bursts of requests that end at `ends`, each decoding one token a second; sampled
    every `tick` seconds. Returns the curve and the true slot_idle of a burst."""
    f = np.array(sorted(ends))
    top = min(len(f), slots)
    begin = np.arange(3) * (f[-1] + gap)
    rows = []
    for t in np.arange(phase, begin[-1] + f[-1] + gap, tick):

        def running(x: float) -> float:
            return float(sum(((f + b) > x).sum() for b in begin if b <= x))

        fine = np.arange(t - tick, t, tick / 200) + tick / 400
        tokens = float(np.mean([running(x) for x in fine])) * 1.0
        started = sum(b > t - tick and b <= t for b in begin)
        rows.append((t, running(t), 0.0, started * len(f) * 5 / tick, tokens))
    return curve_of(np.array(rows), silent_when_idle=False), 1 - float(f.sum()) / (top * f[-1])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(2.0, 40.0), min_size=20, max_size=40), st.floats(0.01, 0.99))
def test_the_interval_holds_the_truth(ends: list[float], phase: float) -> None:
    ends = [*ends, 41.0]
    curve, truth = sampled(ends, 1.0, phase, gap=3.0)
    windows = find_windows(curve, None)
    assert len(windows) == 3
    C = capacity_of(curve, None)
    w = windows[1]
    at = slice(w.first, w.last + 1)
    found = 1 - busy_area(curve.time[at], curve.load[at], C, w.start, w.end, full=w.full) / (C * w.seconds)
    assert abs(found - truth) <= sampling_error(w.tick, w.seconds)
    assert w.seconds == pytest.approx(41.0, abs=1.0)


def test_area_by_hand() -> None:
    # 4 slots; lead 1 s from 4 to 4, then 4 -> 2 over 2 s, one request left for 3 s more
    time, load = np.array([1.0, 3.0, 5.0]), np.array([4.0, 2.0, 1.0])
    assert busy_area(time, load, 4, 0.0, 8.0) == pytest.approx(4 * 1 + 3 * 2 + 1.5 * 2 + 1 * 3)
    # two left drain one after another: 2 * .6 * 3
    assert busy_area(time[:2], load[:2], 4, 0.0, 6.0) == pytest.approx(4 + 6 + 0.6 * 2 * 3)
    # a burst that was still coming in at the first sample counts as full until the second
    assert busy_area(time[:2], np.array([1.0, 4.0]), 4, 0.0, 3.0, full=True) == pytest.approx(4 * 1 + 4 * 2)


def rows(*samples: tuple[float, float, float, float]) -> Curve:
    """(time, load, prompt, generation)"""
    return curve_of(
        np.array([[t, n, 0.0, p, g] for t, n, p, g in samples], dtype=np.float64), silent_when_idle=False
    )


def burst(start: float, loads: list[float], tick: float = 1.0) -> list[tuple[float, float, float, float]]:
    return [(start + k * tick + 0.25, n, 50.0 if k == 0 else 0.0, 10 * n) for k, n in enumerate(loads)]


def test_warm_up_and_probes_are_no_generation() -> None:
    curve = rows(*burst(0, [5, 0]), *burst(2, [100, 80, 20, 1, 0]))
    (window,) = find_windows(curve, None)
    assert (window.first, window.last) == (2, 5)


def test_a_run_that_fills_up_again_begins_anew_without_an_idle_sample() -> None:
    curve = rows(*burst(0, [100, 80, 5]), *burst(3, [100, 60, 3, 0]))
    assert [(w.first, w.last) for w in find_windows(curve, None)] == [(0, 2), (3, 5)]


def test_a_burst_that_comes_in_over_two_samples_is_one() -> None:
    curve = rows(
        (0.25, 30, 20, 5),
        (1.25, 100, 60, 300),
        *[(k + 0.25, 90 - 8 * k, 0, 300) for k in range(2, 11)],
        (11.25, 0, 0, 5),
    )
    (window,) = find_windows(curve, None)
    assert window.full
    assert window.cut == ""


def test_what_the_log_does_not_hold_is_said() -> None:
    under_way = rows(*[(t, n, 0.0, g) for t, n, _, g in burst(0, [50, 20, 0])], *burst(3, [100, 50, 10]))
    first, last = find_windows(under_way, None)
    assert "under way" in first.cut
    assert "end of generation" in last.cut


def test_a_hole_inside_spoils_the_windows_beside_it() -> None:
    curve = rows(*burst(0, [100, 90, 80, 70]), *[(20 + k + 0.25, 40 - 20 * k, 0.0, 9.0) for k in range(3)])
    assert all(w.cut for w in find_windows(curve, None))


def test_capacity_is_the_runs_never_a_windows_own_peak() -> None:
    curve = rows(*burst(0, [88, 40, 0]), *burst(3, [128, 40, 0]))
    assert capacity_of(curve, None) == 128
    assert capacity_of(curve, 32) == 32
    assert capacity_of(curve, 4096) == 128


def test_a_tick_of_more_than_three_tenths_is_too_coarse() -> None:
    assert not too_coarse(3.0, 10.0)
    assert too_coarse(3.01, 10.0)
    assert too_coarse(float("nan"), 10.0)


def test_nothing_gives_nothing() -> None:
    assert find_windows(rows((0.5, 0, 0, 0), (1.5, 0, 0, 0)), None) == []
