from __future__ import annotations

import subprocess
import sys

import pytest

from rollprof.adapters.base import FACT_NAMES
from rollprof.analyzers.registry import COLUMN_FIGURES, REGISTRY, spec
from rollprof.errors import UsageProblem
from rollprof.schema.tables import BY_NAME, PHASE_COLUMNS, STEPS

DEFINED = [
    "step_idle",
    "generation_idle",
    "effective_idle",
    "slot_idle",
    "engine_idle",
    "throughput_idle",
    "trainer_idle",
    "rollout_idle",
    "gpu_util_idle",
    "recoverable",
    "gpu_hours_lost",
    "cost_lost",
    "straggler_wait_mean_s",
    "straggler_wait_p50_s",
    "straggler_wait_max_s",
    "straggler_wait_mean_tokens",
    "straggler_wait_p50_tokens",
    "straggler_wait_max_tokens",
    "tail_time_s",
    "tail_time_share",
    "response_tokens_mean",
    "response_tokens_std",
    "response_tokens_min",
    "response_tokens_p50",
    "response_tokens_p90",
    "response_tokens_p95",
    "response_tokens_p99",
    "response_tokens_max",
    "max_over_median",
    "p99_over_p50",
    "gini_length",
    "truncated_share",
    "tail_token_share_1",
    "tail_token_share_5",
    "tail_token_share_10",
    "km_median_tokens",
    "km_restricted_mean_tokens",
    "length_drift_p50",
    "length_drift_p99",
    "length_drift_truncated",
    "generation_share",
    "difficulty_length_spearman",
    "difficulty_length_kendall",
    "difficulty_length_spearman_untruncated",
    "difficulty_length_kendall_untruncated",
    "wrong_minus_correct_tokens",
    "icc_log_length",
    "probe_spearman",
    "epoch_spearman",
    "zero_variance_share",
    "all_correct_share",
    "all_wrong_share",
    "useless_token_share",
    "dynamic_sampling_rounds",
    "dynamic_sampling_length_shift",
    "off_policy_token_share",
    "staleness_mean",
    "staleness_p95",
    "staleness_max",
    "resumed_share",
    "repeat_offender_share",
    "decode_s_per_token",
    "tokens_per_gpu_s",
    "engine_imbalance",
    "queue_share",
    "preemptions",
    "kv_usage_max",
]

PER_RUN_ONLY = [
    "km_median_tokens",
    "km_restricted_mean_tokens",
    "length_drift_p50",
    "length_drift_p99",
    "length_drift_truncated",
    "difficulty_length_spearman",
    "difficulty_length_kendall",
    "wrong_minus_correct_tokens",
    "icc_log_length",
    "probe_spearman",
    "epoch_spearman",
    "repeat_offender_share",
]


@pytest.mark.parametrize("name", DEFINED)
def test_every_defined_figure_is_there(name: str) -> None:
    assert spec(name).per_step is (name not in PER_RUN_ONLY and not name.endswith("_untruncated"))


def test_every_phase_has_a_share() -> None:
    wanted = {f"phase_share_{c.removesuffix('_s')}" for c in PHASE_COLUMNS} | {"phase_share_other"}
    assert wanted <= set(REGISTRY)


def test_every_numeric_column_of_steps_is_a_figure() -> None:
    numeric = {c.name for c in STEPS if c.type in ("int64", "float64")} - {"step", "logged_at"}
    assert numeric <= set(REGISTRY)
    assert set(COLUMN_FIGURES) <= numeric
    assert spec("generate_s").aggregation == "median over steps"
    # columns that the definitions name keep the definition's own aggregation
    assert spec("truncated_share").aggregation.startswith("pooled")


@pytest.mark.parametrize("figure", REGISTRY.values(), ids=lambda f: f.name)
def test_a_figure_says_what_it_is(figure) -> None:  # type: ignore[no-untyped-def]
    assert figure.formula
    assert figure.aggregation
    assert figure.basis_rules
    assert figure.doc[0].isupper()
    assert figure.doc.rstrip().endswith(".")
    assert figure.needs
    for need in (n for group in figure.needs for n in group):
        table, _, name = need.partition(".")
        if table == "fact":
            assert name in (*FACT_NAMES, "gpu_hour_cost"), need
        elif table != "metrics":
            assert name in BY_NAME[table].column_names, need


def test_a_wrong_name_is_met_with_the_right_one() -> None:
    with pytest.raises(UsageProblem) as error:
        spec("slot_idel")
    assert "slot_idle" in (error.value.hint or "")
    with pytest.raises(UsageProblem, match="xyzzy") as error:
        spec("xyzzy")
    assert "explain" in (error.value.hint or "")


def test_names_are_looked_up_without_heavy_imports() -> None:
    code = (
        "import rollprof.analyzers.registry, sys;"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'polars', 'scipy', 'pyarrow')))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
