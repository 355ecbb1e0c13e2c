from __future__ import annotations

import pytest

from rollprof.adapters.openrlhf.bars import Bar, parse_bars


def one(text: str) -> Bar:
    (bar,) = parse_bars(text)
    return bar


def test_group_bar() -> None:
    bar = one("Generate samples:  62%|██████▎   | 5/8 [00:03<00:02,  1.47it/s, prompts_consumed=17]")
    assert (bar.what, bar.done, bar.total, bar.elapsed) == ("Generate samples", 5, 8, 3)
    assert bar.extra == {"prompts_consumed": 17.0}
    assert bar.seconds == pytest.approx(5 / 1.47)


def test_engine_bar_with_token_rates() -> None:
    bar = one(
        "Processed prompts: 100%|##########| 16/16 [00:12<00:00,  1.25it/s, est. speed input: 105.19 toks/s, "
        "output: 2726.82 toks/s]"
    )
    assert (bar.what, bar.done, bar.total, bar.elapsed) == ("Processed prompts", 16, 16, 12)
    assert bar.seconds == pytest.approx(12.8)


def test_rate_below_one_a_second() -> None:
    assert one("Generate samples: 100%|##########| 8/8 [00:09<00:00,  1.20s/it]").seconds == pytest.approx(
        9.6
    )


def test_smoothed_rate_that_contradicts_the_clock_is_no_time() -> None:
    assert one("Generate samples:  62%|######    | 5/8 [00:03<00:01,  4.74it/s]").seconds is None
    assert one("Generate samples:   0%|          | 0/8 [00:00<?, ?it/s]").seconds is None


def test_hours() -> None:
    assert one("Generate samples:  50%|#####     | 4/8 [1:02:03<1:02:03, 930.75s/it]").elapsed == 3723


def test_episode_with_the_status_of_a_step() -> None:
    bar = one(
        "Episode [2/3]:  33%|###3      | 8/24 [00:02<00:05, policy_loss=-0.01, reward=0.5, actor_lr=1e-6]"
    )
    assert (bar.what, bar.part, bar.parts, bar.done, bar.total) == ("Episode", 2, 3, 8, 24)
    assert bar.extra == {"policy_loss": -0.01, "reward": 0.5, "actor_lr": 1e-6}


def test_bar_that_overran_its_total() -> None:
    bar = one("Episode [1/1]: 4it [00:26,  8.79s/it]")
    assert (bar.done, bar.total, bar.elapsed) == (4, None, 26)


def test_several_states_without_a_break() -> None:
    states = [f"Generate samples:  12%|#   | {n}/8 [00:0{n}<00:05, 1.0it/s]" for n in (1, 2)]
    assert [b.done for b in parse_bars("".join(states))] == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "Sample: ['Generate samples:  62%|######| 5/8 [00:03<00:02,  1.47it/s]', 1.0]",
        "2026-11-30 21:04:00,465\tINFO worker.py:2012 -- Started a local Ray instance.",
        "",
    ],
)
def test_lines_that_are_no_bar(text: str) -> None:
    assert list(parse_bars(text)) == []
