from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed, length_rows, straggler_512

from rollprof.analyzers.missing import missing_figures, present
from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import Figure

BRINGS = {
    "started_at": {"option": "trace=on", "releases": "0.5 and later"},
    "completed_at": {"option": "trace=on", "releases": "0.5 and later"},
    "engines.generation_tokens_s": {"option": "stats=on", "releases": ""},
    "engines.time": {"option": "stats=on", "releases": ""},
}


def test_every_absent_figure_says_why_and_what_would_bring_it() -> None:
    a = analyzed(length_rows([1, 2]), brings=BRINGS)
    found = {m.figure: m for m in a.missing}
    assert found["throughput_idle"].enable == "stats=on"
    assert found["throughput_idle"].why == "no samples of the inference engines"
    assert found["gpu_hours_lost"].enable == "trace=on (0.5 and later); --config gpus=N"
    assert found["generation_share"].enable == ""  # no option brings step times here
    assert "slot_idle" not in found  # a bracket is not absent
    assert all(m.why for m in a.missing)


def test_the_first_way_that_can_be_had_is_named() -> None:
    found = {m.figure: m for m in analyzed(length_rows([1, 2]), brings=BRINGS).missing}
    assert found["effective_idle"].enable == "trace=on (0.5 and later)"
    assert found["effective_idle"].why
    without = {m.figure: m for m in analyzed(length_rows([1, 2])).missing}
    assert without["effective_idle"].enable == ""


def test_what_the_user_can_say_is_an_option_too() -> None:
    found = {m.figure: m for m in analyzed(straggler_512()).missing}
    assert found["queue_share"].enable == "--config max_num_seqs=N"
    assert found["engine_idle"].enable == "--config engines=N"


def test_columns_and_what_does_not_apply_are_not_listed() -> None:
    names = {m.figure for m in analyzed(straggler_512()).missing}
    assert not names & {"values_s", "phase_share_values", "straggler_wait_mean_tokens"}
    assert not names & {"trainer_idle", "rollout_idle"}  # one set of GPUs: nobody waits for anybody
    apart = analyzed(straggler_512(), fact={"mode": "async"})
    assert "trainer_idle" in {m.figure for m in apart.missing}


def test_absent_figures_are_in_the_analysis_with_the_reason() -> None:
    a = analyzed(length_rows([1, 2]))
    f = a.figures["effective_idle"]
    assert (f.value, f.interval, f.basis) == (None, None, None)
    assert f.note == next(m.why for m in a.missing if m.figure == "effective_idle")


def test_the_order_is_that_of_the_registry_and_reasons_name_the_nearest_way() -> None:
    found = missing_figures({}, {}, present(["rollouts.started_at"], {"gpus": {"value": 8}}))
    names = [m.figure for m in found]
    assert names == [n for n in REGISTRY if n in set(names)]
    why = {m.figure: m.why for m in found}
    assert why["slot_idle"] == "not in this log: completed_at of rollouts"


def test_known_figures_are_not_missing() -> None:
    value = Figure("slot_idle", 0.4, "fraction", "measured")
    assert "slot_idle" not in {m.figure for m in missing_figures({"slot_idle": value}, {}, frozenset())}
