"""Prompts that a framework says it has in work are kept beside the engines' samples, never taken for them."""

from __future__ import annotations

from pathlib import Path

from rollprof import api

STEP = "(TaskRunner pid=1) step:{n} - response_length/mean:100.0 - timing_s/gen:20.5 - timing_s/step:40.1\n"
HISTORY = (
    "(FullyAsyncRollouter pid=2) [FullyAsyncRollouter][RolloutResourceUtilization] raw active_count_history "
    "(timestamp, active_count, max_concurrent): [(1786071797.25, 0, 64), (1786071798.5, 64, 64)]\n"
)


def test_they_are_in_the_table_and_engines_are_still_said_to_be_missing(tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(STEP.format(n=1) + HISTORY + STEP.format(n=2), encoding="utf-8")
    options = api.OpenOptions(output=str(tmp_path / "out"))
    dataset = api.open_run([str(log)], options=options)
    rows = dataset.engines.collect()
    assert rows["engine"].unique().to_list() == ["verl/rollouter_prompts"]
    assert rows["running"].to_list() == [0.0, 64.0]
    missing = {m.figure: m.why for m in api.analyze(dataset).missing}
    assert "no samples of the inference engines" in missing["throughput_idle"]
