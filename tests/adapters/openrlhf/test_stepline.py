from __future__ import annotations

import math

import pytest

from rollprof.adapters.openrlhf.stepline import continues, opens, parse_status, parse_step_line


def pairs(text: str) -> dict[str, float]:
    found = parse_step_line(text)
    assert found is not None
    assert found.status is not None
    return dict(found.status.pairs)


def test_values_of_every_kind() -> None:
    text = (
        "INFO 11-30 21:04:55 ppo_trainer.py:551] ✨ Global step 12: {'kl': nan, 'ratio': inf, 'low': -inf, "
        "'dynamic_filtering_pass_rate': None, 'actor_lr': 4.5e-05, 'return': -0.25, 'n': 32, 'on': True, "
        "'np': np.float64(0.5), 'tensor': tensor(1.5, device='cuda:0'), \"it's\": 7.0}"
    )
    found = parse_step_line(text)
    assert found is not None
    assert (found.step, found.sparkles) == (12, True)
    assert found.status is not None
    assert found.status.absent == ("dynamic_filtering_pass_rate",)
    assert (found.status.dropped, found.status.closed) == ((), True)
    values = dict(found.status.pairs)
    assert math.isnan(values.pop("kl"))
    assert values == {
        "ratio": math.inf,
        "low": -math.inf,
        "actor_lr": 4.5e-05,  # the exponent's sign counts
        "return": -0.25,
        "n": 32.0,
        "on": 1.0,
        "np": 0.5,
        "tensor": 1.5,
        "it's": 7.0,
    }


def test_any_key_order_gives_the_same_metrics() -> None:
    a = pairs("Global step 1: {'reward': 0.5, 'kl': 0.1, 'timing/generation': 2.0}")
    b = pairs("Global step 1: {'timing/generation': 2.0, 'reward': 0.5, 'kl': 0.1}")
    assert a == b == {"reward": 0.5, "kl": 0.1, "timing/generation": 2.0}


@pytest.mark.parametrize(
    ("before", "sparkles"),
    [
        ("✨ ", True),
        ("", False),
        ("INFO 11-30 21:09:19 ppo_trainer_async.py:244] ", False),
        ("(PPOTrainer) ppo_trainer.py:547] ✨ ", True),
        ("(PPOTrainer) ✨ ", True),
        ("INFO x] ✨ ", True),
    ],
)
def test_prefixes(before: str, sparkles: bool) -> None:
    found = parse_step_line(f"{before}Global step 3: {{'reward': 0.5}}")
    assert found is not None
    assert (found.step, found.sparkles) == (3, sparkles)


@pytest.mark.parametrize(
    "text",
    [
        "['a response about Global step 4: {'reward': 0.5}', 1.0]",
        "INFO 11-30 21:04:54 ppo_trainer.py:224] Sample: ['text', 'Global step 4: {'reward': 0.5}']",
        "Saved best checkpoint: best_global_step1 (eval_code_pass1=0.6667)",
        "✨ Evaluation completed in 0:00:01, global_step 1, eval_metrics: {'eval_code_pass1': 0.5}",
        "the loss at Global step 4: {'reward': 0.5}",
    ],
)
def test_text_that_only_mentions_a_step(text: str) -> None:
    assert parse_step_line(text) is None


def test_value_cut_off_is_not_believed() -> None:
    found = parse_step_line("✨ Global step 5: {'reward': 0.5, 'timing/generation': 12.5")
    assert found is not None
    assert found.status is not None
    assert dict(found.status.pairs) == {"reward": 0.5}
    assert found.status.dropped == ("timing/generation",)
    assert not found.status.closed


def test_cut_by_hand_keeps_what_is_there() -> None:
    status = parse_status("{'response_length': 40.375, 'actor_lr': 3.25e-06, ...}")
    assert dict(status.pairs) == {"response_length": 40.375, "actor_lr": 3.25e-06}
    assert status.closed


def test_number_broken_by_a_wrap_is_dropped() -> None:
    status = parse_status("{'reward': 0.1367 1875, 'kl': 0.5}")
    assert dict(status.pairs) == {"kl": 0.5}
    assert status.dropped == ("reward",)


def test_text_values_are_dropped_by_name() -> None:
    status = parse_status("{'note': 'Global', 'list': [1, 2], 'reward': 1.0}")
    assert dict(status.pairs) == {"reward": 1.0}
    assert status.dropped == ("note", "list")


def test_reformatted_step_has_no_status() -> None:
    found = parse_step_line("✨ Global step 1:")
    assert found is not None
    assert found.status is None


def test_wrapped_lines_are_recognised() -> None:
    assert opens("Global step 2: {'policy_loss': 0.00033, 'kl': 0.002,")
    assert not opens("Global step 2: {'policy_loss': 0.00033}")
    for rest in (
        "'reward': 0.13, 'x':",
        "4470244, 'return': -0.1,",
        "'rollout/truncated_rate': 1.0, ...}",
        "0.5}",
    ):
        assert continues(rest), rest
    for other in (
        "{'lr': 0.1}",
        "INFO 11-30 21:04:54 x.py:1] 'reward': 1",
        "Traceback (most recent call last):",
    ):
        assert not continues(other), other


def test_a_response_full_of_braces_does_not_take_long() -> None:
    assert parse_step_line("Global step 1: {" + "'" * 50_000) is not None
    assert parse_step_line("[" * 100_000 + "Global step 1: {") is None
