from __future__ import annotations

import pytest

from rollprof.adapters.openrlhf.releases import release_range


@pytest.mark.parametrize(
    ("hints", "keys", "expected"),
    [
        ({"mark.args_nested"}, (), ">=0.10.2"),
        ({"mark.args_flat", "mark.args.prompt_max_len", "mark.bar.groups"}, ("truncated",), ">=0.9.2,<0.9.8"),
        ({"mark.args_flat", "mark.args.max_new_tokens"}, (), ">=0.9.8,<0.10.2"),
        ({"mark.bar.requests", "mark.sparkles"}, ("response_clip_ratio",), ">=0.8.3,<0.9.1"),
        ({"mark.episode_bar"}, (), "<0.8.1"),
        ((), ("timing/generation",), ">=0.9.6"),
        ({"mark.sample"}, (), ">=0.9.9"),
        ({"mark.actor.TrainingActor", "mark.no_sparkles"}, (), ">=0.9.7"),
        ((), (), ""),
    ],
)
def test_traces_bound_the_release(hints: set[str], keys: tuple[str, ...], expected: str) -> None:
    assert str(release_range(dict.fromkeys(hints, "1"), keys)) == expected


def test_traces_that_contradict_each_other_leave_none() -> None:
    found = release_range({"mark.bar.requests": "1", "mark.args_nested": "1"}, ())
    assert not found.known
    assert not found.at_least("0.5")
    assert not found.before("1.0")


def test_releases_compare_as_numbers() -> None:
    found = release_range({"mark.args_nested": "1"}, ())
    assert found.at_least("0.9.10")
    assert not found.at_least("0.11.1")
