"""From lacks to options, on made-up analyses."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from rollprof.analyzers.missing import option_of, remedy_needs
from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import Figure, Missing
from rollprof.doctor.remedies import remedies
from rollprof.doctor.results import Remedy

BRINGS = {
    "rollouts": {"option": "dump=DIR", "releases": "0.4 and later"},
    "response_tokens": {"option": "dump=DIR", "releases": "0.4 and later"},
    "started_at": {"option": "trace=on", "releases": "0.6 and later"},
    "completed_at": {"option": "trace=on", "releases": "0.6 and later"},
    "policy_version_first": {"option": "no option logs versions", "releases": ""},
    "policy_version_last": {"option": "no option logs versions", "releases": ""},
}


def found(
    missing: list[Missing],
    figures: Mapping[str, Figure] | None = None,
    version: str | None = "0.5",
    **more: Any,
) -> list[Remedy]:
    facts = {"brings": BRINGS, "have": frozenset({"steps.generate_s"}), **more}
    return remedies(SimpleNamespace(missing=missing, figures=figures or {}, **facts), version)  # type: ignore[arg-type]


def test_one_option_for_all_that_it_brings() -> None:
    lacks = [Missing(n, "no lengths", "") for n in ("gini_length", "response_tokens_std")]
    (only,) = found(lacks)
    assert (only.option, only.fits, only.none) == ("dump=DIR", "yes", False)
    assert list(only.brings) == ["gini_length", "response_tokens_std"]


def test_that_there_is_none_is_said_last() -> None:
    lacks = [Missing("off_policy_token_share", "x", ""), Missing("gini_length", "y", "")]
    assert [(r.option, r.none) for r in found(lacks)] == [
        ("dump=DIR", False),
        ("no option logs versions", True),
    ]


def test_a_better_basis_counts_too() -> None:
    weak = {"slot_idle": Figure("slot_idle", 0.5, "fraction", "modelled")}
    (only,) = found([], weak)
    assert (only.option, list(only.improves), list(only.brings), only.fits) == (
        "trace=on",
        ["slot_idle"],
        [],
        "no",
    )
    measured = {"slot_idle": Figure("slot_idle", 0.5, "fraction", "measured")}
    assert found([], measured) == []


def test_options_that_this_release_lacks_come_after_the_others() -> None:
    weak = {n: Figure(n, 0.5, "fraction", "modelled") for n in ("slot_idle", "straggler_wait_p50_s")}
    options = [(r.option, r.fits) for r in found([Missing("gini_length", "y", "")], weak)]
    assert options == [("dump=DIR", "yes"), ("trace=on", "no")]


def test_what_the_reason_names_is_what_is_brought() -> None:
    brings = {"generate_s": {"option": "timers=on"}}
    assert remedy_needs("step_idle", "generate_s is not logged", brings, frozenset()) == ("steps.generate_s",)
    assert remedy_needs("step_idle", "step_s is not logged", brings, frozenset()) == ()


def test_what_the_user_can_say() -> None:
    assert option_of("fact.gpus", {}) == ("--config gpus=N", "")
    assert option_of("fact.gpus", {"gpus": {"option": "config dump"}}) == ("config dump", "")


def test_every_figure_can_be_asked_for() -> None:
    for name in REGISTRY:
        needs = remedy_needs(name, "no reason", BRINGS, frozenset())
        assert all(option_of(need, BRINGS) for need in needs)
