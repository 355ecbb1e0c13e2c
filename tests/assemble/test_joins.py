"""Why files are one run, in words."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from parts import part, series

from rollprof.assemble.joins import reasons
from rollprof.assemble.runs import Candidate

VALUES = {1: {"a": 1.5, "b": 2.25, "c": 3.125}, 2: {"a": 2.5, "b": 0.5, "c": 7.0}}


def said(run: Candidate, candidates: int = 1) -> dict[str, str]:
    return {r.path: r.why for r in reasons(run, candidates)}


def test_equal_values_are_counted() -> None:
    other = {1: VALUES[1], 2: {**VALUES[2], "c": 9.0}}
    run = Candidate("r", [part("a.log", VALUES), part("b.jsonl", other, role="metrics")])
    assert said(run) == {
        "a.log": "5 values of 2 steps are the same as in b.jsonl",
        "b.jsonl": "5 values of 2 steps are the same as in a.log",
    }


def test_a_run_id_is_the_reason_but_never_its_own() -> None:
    one, two = part("a.log", VALUES, run_id="wandb:x"), part("b.log", {9: {"z": 1.0}}, run_id="wandb:x")
    again = part("a.log", VALUES, run_id="wandb:x", label="2")
    assert said(Candidate("r", [one, again, two]))["a.log"] == "the same run id as b.log (wandb:x)"
    assert said(Candidate("r", [one, again])) == {"a.log": "the only run here"}


def test_what_stands_alone() -> None:
    run = Candidate("r", [part("a.log", VALUES)])
    assert said(run) == {"a.log": "the only run here"}
    assert said(run, 3) == {"a.log": "a run of its own"}
    bare = Candidate("r", [part("a.log", VALUES), part("config.yaml", {})])
    assert said(bare)["config.yaml"].startswith("no steps in it: nothing else here")
    assert said(bare, 2)["config.yaml"].startswith("no steps in it: lies beside")


def test_dumps() -> None:
    with_metrics = Candidate("r", [part("a.log", VALUES)], [series("dump"), series("eval", "eval")])
    assert said(with_metrics)["dump"].startswith("agrees with the logged")
    assert said(with_metrics)["eval"].startswith("its evaluation")
    assert said(Candidate("r", [], [series("dump")])) == {"dump": "rollouts without metrics"}
