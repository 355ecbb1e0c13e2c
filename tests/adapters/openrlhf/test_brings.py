from __future__ import annotations

from rollprof.adapters.base import FACT_NAMES
from rollprof.adapters.openrlhf import ADAPTER
from rollprof.schema.tables import ENGINES, ROLLOUTS, STEPS


def test_every_entry_names_something_that_can_be_missing() -> None:
    known = {
        "rollouts",
        "sampling_pass_rate",
        *FACT_NAMES,
        *ROLLOUTS.column_names,
        *STEPS.column_names,
        *(f"engines.{name}" for name in ENGINES.column_names),
    }
    assert set(ADAPTER.brings) <= known
    assert all(entry.option and not entry.option.endswith(".") for entry in ADAPTER.brings.values())


def test_what_no_option_brings_is_said() -> None:
    for name in ("policy_version_first", "reference_s", "engine", "max_num_seqs"):
        assert "no option" in ADAPTER.brings[name].option
    assert "OpenRLHF itself writes none" in ADAPTER.brings["response_chars"].option
