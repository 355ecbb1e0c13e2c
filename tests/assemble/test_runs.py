"""Parts join on evidence, never on standing in the same folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from parts import part, series

from rollprof.adapters.base import MetricPart, RolloutSummary
from rollprof.assemble.runs import Candidate, candidates, choose
from rollprof.assemble.series import Series, StepKey
from rollprof.errors import InputProblem, UsageProblem

VALUES = {1: {"a": 1.5, "b": 2.25, "c": 3.125}, 2: {"a": 2.5, "b": 0.5, "c": 7.0}}


def summary(**known: float) -> RolloutSummary:
    base: dict[str, object] = {
        "rollouts": 64,
        "prompts": 8,
        "chars_mean": None,
        "chars_max": None,
        "tokens_mean": None,
        "reward_mean": None,
    }
    return RolloutSummary(**{**base, **known})  # type: ignore[arg-type]


def group(
    parts: list[MetricPart],
    dumps: list[Series],
    rows: Mapping[str, list[dict[str, object]]] | None = None,
    seen: Mapping[str, Mapping[StepKey, RolloutSummary]] | None = None,
) -> list[Candidate]:
    return candidates(
        parts,
        dumps,
        rows=lambda p: (rows or {}).get(p.file.name, []),
        peek=lambda s, steps, own: (seen or {}).get(s.name, {}),
    )


def test_two_sinks_of_one_run_are_one_run() -> None:
    rounded = {s: {k: round(v, 3) for k, v in at.items()} for s, at in VALUES.items()}
    found = group([part("console.log", rounded), part("m.jsonl", VALUES, role="metrics")], [])
    assert len(found) == 1
    assert len(found[0].parts) == 2


def test_other_values_are_another_run() -> None:
    other = {s: {k: v * 1.1 for k, v in at.items()} for s, at in VALUES.items()}
    found = group([part("a.log", VALUES), part("b.log", other)], [])
    assert [c.name for c in found] == ["a.log", "b.log"]


def test_no_shared_step_is_no_evidence() -> None:
    later = {s + 10: at for s, at in VALUES.items()}
    assert len(group([part("a.log", VALUES), part("b.log", later)], [])) == 2


def test_one_run_id_joins_what_values_cannot() -> None:
    later = {s + 10: at for s, at in VALUES.items()}
    parts = [part("a.log", VALUES, run_id="r7"), part("b.log", later, run_id="r7")]
    found = group(parts, [])
    assert [c.name for c in found] == ["r7"]


@pytest.mark.parametrize(
    ("row", "seen", "joined"),
    [
        ({"reward_mean": 0.25}, {"reward_mean": 0.2503}, True),
        ({"reward_mean": 0.25}, {"reward_mean": 0.31}, False),
        ({"reward_mean": 0.25, "rollouts": 64.0}, {"reward_mean": 0.31}, True),  # score was overwritten
        ({"rollouts": 128.0}, {}, False),
        ({"response_tokens_mean": 100.0}, {"chars_mean": 420.0}, True),
        ({"response_tokens_mean": 100.0}, {"chars_mean": 9000.0}, False),
        ({"response_tokens_mean": 100.0}, {"tokens_mean": 100.0}, True),
        (
            {"reward_mean": 0.25, "response_tokens_mean": 100.0, "generations": 10.0},
            {"reward_mean": 0.31, "chars_mean": 420.0},
            True,
        ),  # the mean of ten generations, of which the dump holds one
        ({}, {}, False),
    ],
)
def test_a_dump_joins_its_metrics_on_agreeing_values(
    row: dict[str, float], seen: dict[str, float], joined: bool
) -> None:
    found = group(
        [part("c.log", VALUES)],
        [series("dump")],
        rows={"c.log": [{"step": 1, "split": "train", **row}]},
        seen={"dump": {(1, "train"): summary(**seen)}},
    )
    assert len(found) == (1 if joined else 2)


def test_four_printed_digits_are_enough() -> None:
    values = {s: {"a": 1.0005 * s, "b": 12345.0 * s, "c": 56.255, "d": 0.0031415 * s} for s in range(1, 9)}
    printed = {s: {k: float(f"{v:.4g}") for k, v in at.items()} for s, at in values.items()}
    assert len(group([part("c.log", printed), part("m.json", values, role="metrics")], [])) == 1


def test_a_log_without_steps_takes_them_from_one_that_has_them() -> None:
    values = {10 * s: {"a": 1.5 * s, "b": 2.25 + s, "c": 3.125} for s in range(1, 6)}
    counted = {i: values[10 * (i + 1)] for i in range(1, 5)}  # from the second entry on
    counted[5] = {"a": 99.0, "b": 98.0, "c": 97.0}
    console = part("c.log", counted)
    console.hints["steps"] = "counted"
    found = group([console, part("m.json", values, role="metrics")], [])
    assert len(found) == 1
    (mine,) = (p for p in found[0].parts if p.file.name == "c.log")
    assert sorted({r.step for r in mine.metrics}) == [20, 30, 40, 50, 60]
    assert "steps" not in mine.hints
    alone = part("c.log", counted)
    alone.hints["steps"] = "counted"
    assert sorted({r.step for r in group([alone], [])[0].parts[0].metrics}) == [1, 2, 3, 4, 5]


def test_a_configuration_goes_with_the_run_in_its_folder() -> None:
    other = {s: {k: v * 1.1 for k, v in at.items()} for s, at in VALUES.items()}
    parts = [part("a/x.log", VALUES), part("b/x.log", other), part("b/out/args.bin", {}, role="config")]
    found = group(parts, [])
    assert [[p.file.name for p in c.parts] for c in found] == [["a/x.log"], ["b/x.log", "b/out/args.bin"]]
    parts[-1] = part("args.bin", {}, role="config")
    assert [len(c.parts) for c in group(parts, [])] == [1, 1]


def test_two_dumps_of_one_run_leave_the_choice_to_the_user() -> None:
    found = group(
        [part("c.log", VALUES)],
        [series("old"), series("new")],
        rows={"c.log": [{"step": 1, "split": "train", "rollouts": 64.0}]},
        seen={name: {(1, "train"): summary()} for name in ("old", "new")},
    )
    assert [c.name for c in found] == ["old", "new"]
    with pytest.raises(InputProblem, match="2 runs there") as caught:
        choose(found, None, "dir")
    assert "--run" in (caught.value.hint or "")
    assert choose(found, "new", "dir").series[0].name == "new"
    assert choose(found, "1", "dir").series[0].name == "old"
    with pytest.raises(UsageProblem, match="no run 'x'"):
        choose(found, "x", "dir")


def test_evaluation_goes_with_its_neighbour_and_is_never_a_run_of_its_own() -> None:
    dumps = [series("a/train"), series("b/train"), series("b/val", split="eval")]
    found = group([], dumps)
    assert [[s.name for s in c.series] for c in found] == [["a/train"], ["b/train", "b/val"]]


def test_of_several_runs_in_a_file_the_last_is_meant() -> None:
    other = {s: {k: v + 1 for k, v in at.items()} for s, at in VALUES.items()}
    parts = [part("c.log", VALUES, label="1"), part("c.log", other, label="2")]
    found = group(parts, [])
    assert [c.name for c in found] == ["c.log#1", "c.log"]
    assert choose(found, None, "c.log").parts[0].label == "2"
    assert choose(found, "1", "c.log").parts[0].label == "1"


def test_a_dump_does_not_join_metrics_of_another_framework() -> None:
    from dataclasses import replace

    metrics = part("train.log", VALUES)
    rows = {"train.log": [{"step": 1, "split": "train", "rollouts": 64}]}
    seen = {"dump": {(1, "train"): summary()}}
    assert len(group([metrics], [series("dump")], rows, seen)) == 1
    assert len(group([metrics], [replace(series("dump"), adapter="trl")], rows, seen)) == 2
    assert len(group([metrics], [replace(series("dump"), adapter="generic")], rows, seen)) == 1
