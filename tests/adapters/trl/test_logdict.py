"""Metric dicts of transformers 4 and 5, wherever they stand in a text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.adapters.trl.logdict import find_dicts, generates, headless, is_trainer_log

from .log_text import bar, metrics, v4, v5


def only(text: str) -> dict[str, object]:
    (found,) = find_dicts(text)
    assert found.state == "whole"
    return dict(found.values)


def test_transformers_4_keeps_every_digit() -> None:
    (found,) = find_dicts(v4(metrics(3), 0.25))
    assert found.values["grad_norm"] == 1.0282684564590454
    assert found.values["completions/mean_length"] == 31.75
    assert found.values["loss"] == -0.0370
    assert not found.quoted


def test_transformers_5_prints_strings_of_four_digits() -> None:
    (found,) = find_dicts(v5(metrics(3), 0.25))
    assert found.values["grad_norm"] == 1.028
    assert found.values["num_tokens"] == 4512.0
    assert found.quoted


def test_bare_nan_inf_and_none_are_read() -> None:
    values = only("{'loss': -0.0, 'grad_norm': nan, 'kl': inf, 'reward': None, 'epoch': 0.01}")
    assert math.isnan(values["grad_norm"])  # type: ignore[arg-type]
    assert values["kl"] == math.inf
    assert values["reward"] is None
    assert values["loss"] == 0.0


def test_numpy_and_torch_scalars_are_numbers() -> None:
    values = only("{'loss': np.float64(0.5), 'reward': tensor(1.25), 'epoch': 1.0}")
    assert values == {"loss": 0.5, "reward": 1.25, "epoch": 1.0}


def test_text_between_values_stays_text() -> None:
    values = only("{'loss': 1.0, 'global_step/max_steps': '5/8724', 'elapsed_time': '2m 25s', 'epoch': 0.0}")
    assert values["global_step/max_steps"] == "5/8724"
    assert values["elapsed_time"] == "2m 25s"


@pytest.mark.parametrize(
    "before",
    [bar(9, 200, "03:00"), "[rank0]:", "[default0]: ", "(pid=12) ", "INFO 09-15 14:29:21 x.py:1] ", "  "],
)
def test_a_dict_stands_anywhere_in_a_line(before: str) -> None:
    found = list(find_dicts(f"{before}{v5(metrics(9), 0.07)} and more {{not: one}}"))
    assert [f.values["completions/mean_length"] for f in found] == [37.75]
    assert found[0].start == len(before)


def test_two_dicts_glued_together() -> None:
    found = list(find_dicts(v4(metrics(1), 0.1) + v4(metrics(2), 0.2)))
    assert [f.values["num_tokens"] for f in found] == [1504.0, 3008.0]


def test_a_dict_that_goes_on_is_open() -> None:
    text = v4(metrics(1), 0.1)
    for cut in range(20, len(text)):
        (found,) = find_dicts(text[:cut])
        assert found.state == "open", text[:cut]
        assert found.end == cut


@pytest.mark.parametrize(
    "text",
    [
        "{'loss': {'a': 1}, 'epoch': 1}",
        "{'train': [1, 2], 'epoch': 1}",
        '{"key": "a \\"quoted\\" text", "epoch": 1}',
        "{loss: 1.0, epoch: 2}",
        "x = {} or {'a'}",
        "see `{'loss': 0.5, 'reward': 1.0, 'epoch': 0.1}`",
        "{'loss': 0.368, ..., 'epoch': 0.17}",
    ],
)
def test_other_braces_are_no_metric_dicts(text: str) -> None:
    assert not [f for f in find_dicts(text) if f.state == "whole" and is_trainer_log(f.values)]


def test_only_a_trainer_that_generates_counts() -> None:
    assert generates(only(v4(metrics(1), 0.1)))
    assert generates({"completion_length": 200.0})
    assert generates({"eval_completions/mean_length": 1.0})
    sft = only(
        "{'loss': 1.5, 'grad_norm': 0.3, 'learning_rate': 1e-05, 'mean_token_accuracy': 0.6, 'epoch': 0.1}"
    )
    assert is_trainer_log(sft)
    assert not generates(sft)
    dpo = only(
        "{'loss': 0.69, 'rewards/chosen': 0.1, 'rewards/margins': 0.0, 'logps/chosen': -9.0, 'epoch': 0.1}"
    )
    assert is_trainer_log(dpo)
    assert not generates(dpo)


def test_a_beheaded_dict_is_told_from_other_text() -> None:
    whole = v4(metrics(1), 0.1)
    assert headless(whole[1:])
    assert not headless(whole)
    assert not headless("'a': 1, 'b': 2}")
    assert not headless("'loss': 1.0, 'learning_rate': 1e-5, 'epoch': 0.1}")  # SFT


@given(st.text(alphabet="{}'\":,.0123456789abe/ \n-", max_size=200))
def test_no_text_raises(text: str) -> None:
    for found in find_dicts(text):
        assert 0 <= found.start < found.end <= len(text)
        headless(text)


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,8}(/[a-z_]{1,8})?", fullmatch=True), st.floats(allow_nan=False))
)
def test_what_python_prints_is_read_back(values: dict[str, float]) -> None:
    found = list(find_dicts(repr(values)))
    if values:
        assert [dict(f.values) for f in found] == [values]
