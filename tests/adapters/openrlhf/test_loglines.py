from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rollprof.adapters.openrlhf.loglines import Calendar, Remark, parse_log_line, parse_remark


def remark(text: str) -> Remark:
    found = parse_remark(text)
    assert found is not None
    return found


def test_log_line() -> None:
    line = parse_log_line(
        "INFO 11-30 21:04:54 experience_maker.py:116] 🚀 Starting experience making with 32 samples"
    )
    assert line is not None
    assert (line.stamp, line.file) == ((11, 30, 21, 4, 54), "experience_maker.py")
    assert remark(line.text) == Remark("samples", 32)
    assert parse_log_line("(PPOTrainer) ✨ Global step 2: {'a': [1]}") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("✨ Experience making completed in 0:01:12", Remark("made", seconds=72.0)),
        ("✨ Experience making completed in 1 day, 2:00:00", Remark("made", seconds=93_600.0)),
        ("Filtered out: avg_reward=1.00, threshold=(0.00, 1.00), scores=['1.00']", Remark("filtered")),
        ("filtered_samples 12.0 < rollout_batch_size 128, continue sampling", Remark("round")),
        ("Dynamic filtering pass rate: 41.02% (1050/2560)", Remark("kept", 1050, 2560)),
        ("queue_size=1", Remark("queue", 1)),
        ("Queue is full, waiting for training to consume samples...", Remark("queue_full")),
        ("⏰ Evaluation start time: 2026-01-01 00:00:00", Remark("eval_start")),
        ("Starting async evaluation...", Remark("eval_start")),
        ("Async evaluation completed: {'eval_a_pass1': 0.5}", Remark("eval_end")),
        (
            "✨ Evaluation completed in 0:01:02, global_step 10, eval_metrics: {'eval_a_pass1': 0.5}",
            Remark("eval_end", step=10, seconds=62.0, body="{'eval_a_pass1': 0.5}"),
        ),
        ("✨ Evaluation completed in 0:01:02", Remark("eval_end", seconds=62.0)),
        ("Eval at step 3: {'eval_a_pass1': 0.5}", Remark("eval_at", step=3, body="{'eval_a_pass1': 0.5}")),
        ("Sample: ['text', 1.0]", Remark("sample")),
    ],
)
def test_remarks(text: str, expected: Remark) -> None:
    assert remark(text) == expected


def epoch(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]


def test_year_from_a_date_in_the_log_and_over_new_year() -> None:
    dates = Calendar(epoch(2026, 12, 31, 20), latest=False)
    assert dates.epoch((12, 31, 23, 59, 59)) == epoch(2026, 12, 31, 23, 59, 59)
    assert dates.epoch((1, 1, 0, 0, 3)) == epoch(2027, 1, 1, 0, 0, 3)
    assert dates.epoch((12, 31, 23, 59, 59)) == epoch(2026, 12, 31, 23, 59, 59)  # another actor's late line
    assert dates.epoch((6, 1, 0, 0, 0)) == epoch(2027, 6, 1, 0, 0, 0)


def test_year_from_the_file_is_not_in_the_future() -> None:
    assert Calendar(epoch(2026, 3, 1), latest=True).epoch((11, 30, 0, 0, 0)) == epoch(2025, 11, 30)
    assert Calendar(epoch(2026, 12, 1), latest=True).epoch((11, 30, 0, 0, 0)) == epoch(2026, 11, 30)


def test_days_that_do_not_exist() -> None:
    dates = Calendar(epoch(2027, 3, 1), latest=False)
    assert dates.epoch((2, 29, 0, 0, 0)) == epoch(2028, 2, 29)
    assert dates.epoch((13, 1, 0, 0, 0)) is None
    assert dates.epoch((1, 1, 25, 0, 0)) is None
