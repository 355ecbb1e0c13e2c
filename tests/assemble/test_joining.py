"""Windows joined to steps by the clock, in order, or not at all."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from rollprof.assemble.joining import Span, alone, join, spans_of
from rollprof.curves.windows import Window

T0 = 1_796_000_000.0
HOUR = 3600.0


def windows(*pairs: tuple[float, float], moved: float = 0.0) -> list[Window]:
    return [Window(0, 0, T0 + a + moved, T0 + b + moved, 10.0, 1.0) for a, b in pairs]


def spans(*pairs: tuple[float, float]) -> list[Span]:
    return [Span(k + 1, T0 + a, T0 + b, b - a, exact=True) for k, (a, b) in enumerate(pairs)]


def clockless(*seconds: float) -> list[Span]:
    return [Span(k + 1, math.nan, math.nan, s, exact=False) for k, s in enumerate(seconds)]


GENERATED: Sequence[tuple[float, float]] = [(0, 31), (100, 147), (200, 222), (300, 338)]
BUSY: Sequence[tuple[float, float]] = [(1, 30), (101, 146), (201, 221), (301, 337)]


def test_by_the_clock() -> None:
    found = join(windows(*BUSY), spans(*GENERATED), local=False, tick=1.0)
    assert (found.how, found.steps) == ("clock", (1, 2, 3, 4))
    assert found.skew_s == pytest.approx(-1.0)


def test_several_rounds_are_of_one_step_and_an_evaluation_of_none() -> None:
    found = join(windows((1, 14), (16, 30), (60, 62), *BUSY[1:]), spans(*GENERATED), local=False, tick=1.0)
    assert found.steps == (1, 1, None, 2, 3, 4)


@pytest.mark.parametrize("hours", [2.0, -7.0, 5.5])
def test_a_clock_without_a_zone_is_moved_by_whole_quarters_and_said(hours: float) -> None:
    found = join(windows(*BUSY, moved=hours * HOUR), spans(*GENERATED), local=True, tick=1.0)
    assert (found.how, found.zone_s, found.steps) == ("clock", -hours * HOUR, (1, 2, 3, 4))
    assert "names no zone" in found.notes[0]


def test_a_clock_with_a_zone_is_not_moved() -> None:
    found = join(windows(*BUSY, moved=2 * HOUR), spans(*GENERATED), local=False, tick=1.0)
    assert found.how == ""
    assert set(found.steps) == {None}


@pytest.mark.parametrize("apart", [41.0, -37.0])
@pytest.mark.parametrize("hours", [0.0, 9.0])
def test_clocks_that_are_apart_by_the_same_in_every_step_are_put_right(apart: float, hours: float) -> None:
    """Generation of 15 to 30 s seen 41 s too late: nothing overlaps, but every end is as late."""
    short = [(0.0, 22.0), (100.0, 131.0), (207.0, 222.0), (330.0, 352.0)]
    found = join(windows(*short, moved=apart + hours * HOUR), spans(*short), local=bool(hours), tick=1.0)
    assert (found.how, found.steps) == ("clock", (1, 2, 3, 4))
    assert (found.zone_s, found.corrected_s, found.skew_s) == (-hours * HOUR, -apart, apart)
    assert found.moved_s == -apart - hours * HOUR
    assert f"moved by {-apart:+g} s" in found.notes[-1]


def test_no_skew_is_made_up_where_lengths_or_ends_disagree() -> None:
    """Ends that are apart by another time in each step, and generations of other lengths."""
    mine = windows((41, 63), (120, 151), (270, 285), (340, 362))
    theirs = spans((0, 22), (100, 131), (207, 222), (390, 412))
    assert join(mine, theirs, local=False, tick=1.0).how == ""
    long = windows((11, 63), (141, 172 + 60), (219, 263), (360, 393))
    assert join(long, spans((0, 2), (100, 111), (200, 202), (330, 332)), local=False, tick=1.0).how == ""


def test_the_rollouts_own_times_tell_a_smaller_skew() -> None:
    """Joined already; 6 s late in every step by two clocks of the same moments."""
    seen = windows(*((a + 6, b + 6) for a, b in GENERATED))
    own = [Span(k + 1, T0 + a, T0 + b, b - a, exact=True, own=True) for k, (a, b) in enumerate(GENERATED)]
    found = join(seen, own, local=False, tick=1.0)
    assert (found.how, found.skew_s, found.corrected_s) == ("clock", 6.0, -6.0)
    logged = join(seen, spans(*GENERATED), local=False, tick=1.0)
    assert (logged.skew_s, logged.corrected_s) == (6.0, 0.0), "said, not corrected: the call may end later"


def test_engines_that_work_between_the_generations_are_not_this_runs() -> None:
    found = join(windows((40, 90), (150, 190), (230, 290)), spans(*GENERATED), local=True, tick=1.0)
    assert found.how == ""
    assert "by the clock" in found.why


def test_engines_busy_for_longer_than_the_call_are_not_this_runs() -> None:
    whole = [Span(k + 1, T0 + 100 * k, T0 + 100 * k + 100, 10.0, exact=False) for k in range(4)]
    found = join(windows((0, 90), (100, 190), (200, 290), (300, 390)), whole, local=False, tick=1.0)
    assert found.how == ""
    assert "not the engines of this run" in found.why


def test_without_a_clock_in_order_where_the_lengths_agree() -> None:
    found = join(windows(*BUSY), clockless(31, 47, 22, 38), local=True, tick=1.0)
    assert (found.how, found.steps) == ("order", (1, 2, 3, 4))


def test_an_evaluation_before_the_steps_shifts_them() -> None:
    found = join(windows((-50, -45), *BUSY), clockless(31, 47, 22, 38), local=True, tick=1.0)
    assert found.steps == (None, 1, 2, 3, 4)


def test_more_than_one_way_is_none() -> None:
    even = [(100.0 * k, 100.0 * k + 30) for k in range(5)]
    found = join(windows(*even), clockless(31, 31, 31, 31), local=True, tick=1.0)
    assert (found.how, set(found.steps)) == ("", {None})
    assert "more than one way" in found.why


def test_lengths_that_do_not_agree_are_refused() -> None:
    found = join(windows(*BUSY), clockless(90, 12, 60, 11), local=True, tick=1.0)
    assert found.how == ""


def test_steps_without_any_time_are_refused() -> None:
    found = join(windows(*BUSY), clockless(math.nan, math.nan), local=True, tick=1.0)
    assert found.how == ""
    assert "neither a clock" in found.why


def test_alone_the_windows_are_the_steps() -> None:
    assert alone(windows(*BUSY)).steps == (1, 2, 3, 4)


def test_a_steps_own_rollouts_are_its_best_clock() -> None:
    rows = [
        {"step": 1, "logged_at": T0 + 100, "step_s": 90.0, "generate_s": 30.0},
        {"step": 2, "logged_at": T0 + 200, "step_s": 95.0},
        {"step": 2, "split": "eval", "logged_at": T0 + 250, "step_s": 5.0},
    ]
    first, second = spans_of(rows, {1: (T0 + 20, T0 + 45)})
    assert (first.start, first.end, first.exact) == (T0 + 20, T0 + 45, True)
    assert (second.start, second.end, second.exact) == (T0 + 105, T0 + 200, False)
