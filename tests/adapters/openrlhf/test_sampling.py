from __future__ import annotations

import pytest

from rollprof.adapters.openrlhf.releases import Range
from rollprof.adapters.openrlhf.sampling import pass_rate

BAR = {"bar/generate_samples/groups": 8.0, "bar/generate_samples/prompts_consumed": 24.0}
NEW, OLD, UNKNOWN = Range("0.9.9", ""), Range("0.9.1", "0.9.9"), Range("", "")


def logged(percent: float) -> dict[str, float]:
    return {"dynamic_filtering_pass_rate": percent}


def test_above_a_hundred_percent_is_the_rate_times_the_group_size() -> None:
    found = pass_rate([logged(133.33 + 1 / 300)], NEW, 4)
    assert found is not None
    assert found.share == pytest.approx(1 / 3, abs=1e-4)
    assert found.logged_wrong


def test_counts_of_the_log_come_first() -> None:
    found = pass_rate([BAR | logged(133.33), BAR | logged(133.33)], NEW, None)
    assert found is not None
    assert found.share == pytest.approx(1 / 3)
    assert "counted" in found.how


def test_below_a_hundred_the_release_decides() -> None:
    for release, share in ((NEW, 0.1), (OLD, 0.4)):
        found = pass_rate([logged(40.0)], release, 4)
        assert found is not None
        assert found.share == pytest.approx(share), release
    found = pass_rate([logged(40.0)], UNKNOWN, 4)
    assert found is not None
    assert found.share is None
    assert "release is unknown" in found.how


def test_without_the_group_size_the_rate_stays_unknown() -> None:
    found = pass_rate([logged(133.0)], NEW, None)
    assert found is not None
    assert (found.share, "group size" in found.how) == (None, True)


def test_steps_are_pooled_by_prompts_not_by_steps() -> None:
    # 8 of 16 and 8 of 80 prompts: 16 of 96
    found = pass_rate([logged(50.0), logged(10.0)], OLD, 4)
    assert found is not None
    assert found.share == pytest.approx(16 / 96)


def test_rejected_groups_of_the_log_lines() -> None:
    step = {"log/rejected_groups": 16.0, "log/samples": 32.0}
    found = pass_rate([step], OLD, 4)
    assert found is not None
    assert found.share == pytest.approx(8 / 24)


def test_nothing_filtered_is_no_rate() -> None:
    assert (
        pass_rate(
            [{"bar/generate_samples/groups": 8.0, "bar/generate_samples/prompts_consumed": 8.0}], NEW, 4
        )
        is None
    )
