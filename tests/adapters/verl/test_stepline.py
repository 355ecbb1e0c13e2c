"""A step line, in every form that verl and its surroundings give it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.adapters.verl.stepline import parse_pairs, parse_single, parse_step_lines, parse_value


def only(text: str, *, complete: bool = True) -> tuple[int | None, dict[str, float], tuple[str, ...]]:
    (line,) = parse_step_lines(text, complete=complete)
    return line.step, dict(line.pairs), line.dropped


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("0.123", 0.123),
        ("-0.000", 0.0),
        ("8.429680019617081e-05", 8.429680019617081e-05),
        ("4388173", 4388173.0),
        ("np.float64(0.0123)", 0.0123),
        ("np.int64(-1)", -1.0),
        ("np.float32(0.25)", 0.25),
        ("np.int32(2)", 2.0),
        ("np.bool_(True)", 1.0),
        ("numpy.float64(1e-05)", 1e-05),
        ("True", 1.0),
        ("False", 0.0),
        ("inf", math.inf),
        ("-inf", -math.inf),
    ],
)
def test_values_of_both_eras(raw: str, value: float) -> None:
    assert parse_value(raw) == value


@pytest.mark.parametrize("raw", ["nan", "np.float64(nan)"])
def test_nan_is_a_value(raw: str) -> None:
    assert math.isnan(parse_value(raw) or 0.0)


@pytest.mark.parametrize("raw", ["", "1_000", "0x10", "None", "np.float64(", "4.1)", "tensor(0.5)", "1.2.3"])
def test_what_is_no_value(raw: str) -> None:
    assert parse_value(raw) is None


def test_keys_with_colons_blanks_and_brackets() -> None:
    step, pairs, dropped = only(
        "step:3 - critic/lr(1e-4):0.100 - val-core/my data: v2/acc/mean@1:0.5 - Tokens/Sec/GPU:3.25 - a.b-c:1"
    )
    assert step == 3
    assert pairs == {
        "critic/lr(1e-4)": 0.1,
        "val-core/my data: v2/acc/mean@1": 0.5,
        "Tokens/Sec/GPU": 3.25,
        "a.b-c": 1.0,
    }
    assert dropped == ()


def test_step_stands_at_the_start_only() -> None:
    step, pairs, _ = only("step:7 - timing_s/step:5.5 - training/global_step:8")
    assert (step, pairs) == (7, {"timing_s/step": 5.5, "training/global_step": 8.0})
    for text in (
        "see step:7 - timing_s/gen:1",
        "global_step:7 - timing_s/gen:1",
        "checkpoint global_step_60",
        "step:7 - loss:1.0 - lr:2",  # another framework's
    ):
        assert parse_step_lines(text) == []


def test_step_line_glued_to_a_progress_bar() -> None:
    step, pairs, _ = only(
        "Training Progress:  16%|█▋ | 71/435 [1:10:40<6:31:06, 64.47s/it]step:72 - actor/lr:1e-06"
    )
    assert (step, pairs) == (72, {"actor/lr": 1e-06})


def test_last_pair_without_a_value_is_dropped() -> None:
    assert only("step:2 - timing_s/adv:1.167 - timing_s/ref:") == (
        2,
        {"timing_s/adv": 1.167},
        ("timing_s/ref:",),
    )
    assert only("step:2 - timing_s/adv:1.167 - prompt_length/m")[2] == ("prompt_length/m",)


def test_a_number_at_the_cut_is_not_believed() -> None:
    text = "step:2 - timing_s/adv:1.1672 - timing_s/ref:3.25 - timing_s/gen:12.5"
    assert "timing_s/gen" in only(text)[1]
    _, pairs, dropped = only(text, complete=False)
    assert "timing_s/gen" not in pairs
    assert dropped == ("timing_s/gen:12.5",)
    # three decimals everywhere: the value shows that it is whole
    fixed = "step:2 - timing_s/adv:1.167 - timing_s/ref:3.250 - actor/lr:0.000 - timing_s/gen:12.500"
    assert only(fixed, complete=False)[1]["timing_s/gen"] == 12.5
    assert "timing_s/gen" not in only(fixed[:-1], complete=False)[1]
    # so does a closed bracket
    assert only("step:2 - actor/x:0.25 - actor/y:np.float64(1.5)", complete=False)[1]["actor/y"] == 1.5


def test_foreign_text_in_the_middle_costs_only_what_it_touches() -> None:
    step, pairs, dropped = only("step:5 - actor/x:1.5 - timing_s/gen:4.1 loading - note:3 - actor/lr:1e-06")
    assert (step, pairs) == (5, {"actor/x": 1.5, "actor/lr": 1e-06})
    assert dropped == ("timing_s/gen:4.1 loading", "note:3")


def test_two_step_lines_without_a_newline_between_them() -> None:
    first, second = parse_step_lines("step:3 - actor/x:0.125 - timing_s/gen:4.1step:4 - actor/x:2.5")
    assert (first.step, dict(first.pairs), first.dropped) == (3, {"actor/x": 0.125}, ("timing_s/gen:4.1",))
    assert (second.step, dict(second.pairs)) == (4, {"actor/x": 2.5})


def test_a_repeated_key_ends_the_line() -> None:
    _, pairs, dropped = only("step:3 - actor/x:1.0 - timing_s/gen:2.0 - actor/x:5.0 - timing_s/step:9.0")
    assert pairs == {"actor/x": 1.0, "timing_s/gen": 2.0}
    assert len(dropped) == 2


def test_separators_that_lost_a_blank_to_a_wrap() -> None:
    _, pairs, dropped = only("step:1 - actor/a:0.48 -actor/b:0.14- actor/c:2 - actor/d:1e-05 -  actor/e:3")
    assert pairs == {"actor/a": 0.48, "actor/b": 0.14, "actor/c": 2.0, "actor/d": 1e-05, "actor/e": 3.0}
    assert dropped == ()


def test_an_ellipsis_is_a_gap() -> None:
    _, pairs, dropped = only(
        "step:1 - response_length/min:38.0 -...timing_s/agent_loop/x/min:18.7 - timing_s/gen:5.0"
    )
    assert pairs == {"response_length/min": 38.0, "timing_s/agent_loop/x/min": 18.7, "timing_s/gen": 5.0}
    assert dropped == ("...",)


def test_a_line_that_lost_its_head() -> None:
    step, pairs, dropped = only(
        "0.0115 - critic/returns/max:2.4 - response_length/mean:87.4 - perf/throughput:619.4"
    )
    assert step is None
    assert list(pairs) == ["critic/returns/max", "response_length/mean", "perf/throughput"]
    assert dropped == ("0.0115",)
    assert parse_step_lines("usage - a/b:1 - c/d:2 - e/f:3") == []


def test_one_metric_per_line() -> None:
    assert parse_single(" - timing_s/gen:24.533") == ("timing_s/gen", 24.533)
    assert parse_single("- note:3") is None
    assert parse_single("timing_s/gen:24.533") is None


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (" - actor/a:0.123 - actor/b:1.000 - actor/c:nan", "fixed3"),
        (" - actor/a:0.1234 - actor/b:1 - actor/c:0.5", "repr"),
        (" - actor/a:0.123 - actor/b:1.000", None),
        (" - actor/a:0.123 - actor/b:1.000 - actor/c:12.3", None),  # one odd value may be a cut one
    ],
)
def test_the_form_of_the_values_tells_the_era(body: str, form: str | None) -> None:
    assert parse_pairs(body)[2] == form


@given(st.text(max_size=200))
def test_any_text_is_parsed_without_a_complaint(text: str) -> None:
    for candidate in (text, f"step:1 - {text}", f"step:1 - actor/a:1.0 - {text}"):
        for complete in (True, False):
            for line in parse_step_lines(candidate, complete=complete):
                assert all(key for key, _ in line.pairs)


@given(
    st.dictionaries(
        st.sampled_from(["actor/a", "timing_s/gen", "val-core/a b/acc/mean@1", "perf/x", "critic/lr(1e-4)"]),
        st.floats(allow_nan=False),
        min_size=1,
    )
)
def test_what_verl_prints_comes_back(data: dict[str, float]) -> None:
    text = "step:12 - " + " - ".join(f"{k}:{v!r}" for k, v in data.items())
    assert only(text) == (12, data, ())
    assert only("step:12 - " + " - ".join(f"{k}:np.float64({v!r})" for k, v in data.items()))[1] == data
