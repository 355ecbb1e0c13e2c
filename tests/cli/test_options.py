"""What the shared options amount to."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollprof.cli import options
from rollprof.errors import UsageProblem


@pytest.fixture(autouse=True)
def _empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("10:20", (10, 20)),
        ("10:", (10, None)),
        (":20", (None, 20)),
        ("7", (7, 7)),
        ("0:0", (0, 0)),
        (None, None),
    ],
)
def test_step_range(text: str | None, wanted: object) -> None:
    assert options.step_range(text) == wanted


@pytest.mark.parametrize("text", ["", ":", "a:b", "1:2:3", "5:2", "1.5"])
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(UsageProblem, match="--steps"):
        options.step_range(text)


def test_pairs() -> None:
    assert options.pairs(["a=1", "b = x=y"], "config") == {"a": "1", "b": "x=y"}


@pytest.mark.parametrize("item", ["a", "=1", "a=", " = "])
def test_what_is_no_pair(item: str) -> None:
    with pytest.raises(UsageProblem, match=r"--map .*not of the form COLUMN=KEY"):
        options.pairs([item], "map")


def test_everything_arrives_where_it_acts() -> None:
    got = options.gather(
        framework="verl",
        config=["gpus=8"],
        map=["reward=score"],
        tokenizer="t.json",
        keep_text=True,
        run="2",
        tz="UTC",
        output="ds",
        force=True,
        steps="3:",
        split="eval",
        reward="acc",
        idle_figure="slot_idle",
        allow_modelled=True,
        gpu_hour_cost=2.5,
    )
    opening, settings = got.opening(), got.settings()
    assert (opening.framework, opening.config, opening.columns) == (
        "verl",
        {"gpus": "8"},
        {"reward": "score"},
    )
    assert (opening.tokenizer, opening.keep_text, opening.run, opening.tz) == ("t.json", True, "2", "UTC")
    assert (opening.output, opening.force, opening.reuse) == ("ds", True, True)
    assert (settings.steps, settings.split, settings.reward) == ((3, None), "eval", "acc")
    assert (settings.idle_figure, settings.allow_modelled, settings.gpu_hour_cost) == ("slot_idle", True, 2.5)
    assert got.flags >= {"from", "config", "output", "gpu_hour_cost"}
    assert not options.gather().opening(reuse=False).reuse


def test_defaults() -> None:
    got = options.gather()
    assert (got.quiet, got.verbose, got.output, got.flags) == (False, False, None, frozenset())
    assert got.settings().split == "train"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"split": "test"}, "--split test"),
        ({"by": "prompt"}, "--by prompt"),
        ({"gpu_hour_cost": -1.0}, "--gpu-hour-cost -1"),
        ({"gpu_hour_cost": float("nan")}, "--gpu-hour-cost nan"),
        ({"config": ["gpus"]}, "--config gpus"),
    ],
)
def test_wrong_flags(flags: dict[str, object], words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        options.gather(**flags)


def test_idle_figure_must_exist() -> None:
    with pytest.raises(UsageProblem) as caught:
        options.gather(idle_figure="slot_idel").settings()
    assert "slot_idle" in (caught.value.hint or "")
