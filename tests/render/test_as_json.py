"""The JSON document: its promised form, its schema, and nothing that JSON does not have."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from rollprof import __version__
from rollprof.analyzers.results import Analysis, Figure, Finding, StepFigure, StepResult
from rollprof.render.as_json import document, dumps
from rollprof.render.json_schema import SCHEMA, described_tables
from rollprof.schema.tables import TABLES

Maker = Callable[..., Analysis]
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
KINDS = (
    "calibrated",
    "difficulty",
    "logged",
    "bracket",
    "straggler_512",
    "nothing_known",
    "asynchronous",
)
TOP = [
    "difficulty",
    "engines",
    "eval_steps",
    "figures",
    "findings",
    "format",
    "ledger",
    "lengths",
    "missing",
    "phases",
    "rollprof",
    "run",
    "samples",
    "steps",
    "whatif",
]


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_valid(make: Maker, kind: str) -> None:
    VALIDATOR.validate(strict(dumps(make(kind))))


@pytest.mark.parametrize("kind", KINDS)
def test_top_level_and_order(make: Maker, kind: str) -> None:
    text = dumps(make(kind))
    found = strict(text)
    assert list(found) == TOP
    assert found["format"] == 1
    assert found["rollprof"] == __version__
    assert found["whatif"] is None
    assert text.endswith("}\n")
    assert text == json.dumps(found, sort_keys=True, indent=2) + "\n"


def test_figures_carry_everything(make: Maker) -> None:
    found = document(make("calibrated"))["figures"]["step_idle"]
    assert found == {
        "value": 0.412,
        "unit": "fraction",
        "basis": "calibrated",
        "bound": None,
        "n": 20,
        "interval": [0.385, 0.434],
        "others": {},
        "note": "",
    }


def test_others_may_be_values_or_brackets(make: Maker) -> None:
    run = make("calibrated")
    figure = Figure("slot_idle", 0.4, "fraction", "logged", others={"modelled": (0.3, 0.8), "measured": 0.5})
    found = document(replace(run, figures={"slot_idle": figure}))
    assert found["figures"]["slot_idle"]["others"] == {"modelled": [0.3, 0.8], "measured": 0.5}
    VALIDATOR.validate(found)


def test_run(make: Maker) -> None:
    found = document(make("calibrated"))["run"]
    assert {
        k: found[k] for k in ("framework", "framework_version", "steps", "rollouts", "prompts", "gpus")
    } == {
        "framework": "verl",
        "framework_version": "0.8",
        "steps": 20,
        "rollouts": 5120,
        "prompts": 640,
        "gpus": 8,
    }
    assert found["headline"] == "step_idle"
    assert found["sources"][0]["name"] == "rollouts/1.jsonl"


def test_steps_have_columns_figures_and_how_each_is_known(make: Maker) -> None:
    run = make("calibrated")
    step = document(run)["steps"][2]
    assert step["step"] == 3
    assert step["rollouts"] == 256
    assert isinstance(step["rollouts"], int)
    assert step["generate_s"] == run.steps[2].columns["generate_s"]
    assert step["slot_idle"] == run.steps[2].figures["slot_idle"].value
    assert step["basis"] == {
        "slot_idle": "measured",
        "straggler_wait_mean_s": "measured",
        "generation_idle": "calibrated",
    }
    assert step["generation_idle"] is None
    assert step["interval"] == {"generation_idle": [0.2, 0.4]}
    assert "engine_idle" not in step  # neither value nor bracket: not in this log
    assert "bound" not in step


def test_figures_win_over_columns_of_the_same_name(make: Maker) -> None:
    step = StepResult(
        4, {"trainer_idle": 0.1, "wait_s": 3.0}, {"trainer_idle": StepFigure(0.2, "logged", bound="lower")}
    )
    found = document(replace(make("asynchronous"), steps=[step]))["steps"][0]
    assert found["trainer_idle"] == 0.2
    assert found["wait_s"] == 3.0
    assert found["bound"] == {"trainer_idle": "lower"}


def test_inferred_steps_say_so(make: Maker) -> None:
    run = replace(make("asynchronous"), steps=[StepResult(1, {"inferred": 1.0}, {})])
    found = document(run)
    assert found["steps"][0]["inferred"] is True
    VALIDATOR.validate(found)


def test_prompt_ids_survive_readers_with_doubles(make: Maker) -> None:
    assert document(make("calibrated"))["steps"][0]["straggler"]["prompt_id"] == "12345678901234567890"


def test_lengths(make: Maker) -> None:
    run = make("calibrated")
    found = document(run)["lengths"]
    assert len(found["bins"]) == len(found["counts"]) + 1
    assert sum(found["counts"]) == sum(found["log"]["counts"]) == 5120
    assert found["cap"] == 8192
    empty = document(make("logged"))["lengths"]
    assert (empty["bins"], empty["counts"], empty["log"]) == ([], [], None)


def test_nan_and_infinity_are_null(make: Maker) -> None:
    run = make("calibrated")
    figure = Figure("x", math.nan, "s", "logged", interval=(-math.inf, 1.0))
    finding = Finding("c", "info", "t", {"value": math.inf, "deep": [{"x": math.nan}]}, "")
    found = strict(dumps(replace(run, figures={"x": figure}, findings=[finding])))
    assert found["figures"]["x"]["value"] is None
    assert found["figures"]["x"]["interval"] == [None, 1.0]
    assert found["findings"][0]["evidence"] == {"value": None, "deep": [{"x": None}]}
    VALIDATOR.validate(found)


def test_odd_values_in_free_fields_become_text(make: Maker) -> None:
    finding = Finding("c", "info", "t", {"path": object, "set": {3, 1}, 5: "key", "b": b"x"}, "")
    found = strict(dumps(replace(make("calibrated"), findings=[finding])))["findings"][0]["evidence"]
    assert found["set"] == [1, 3]
    assert found["5"] == "key"
    assert isinstance(found["path"], str)


def test_text_is_ascii_so_that_no_terminal_is_commanded(make: Maker) -> None:
    finding = Finding("c", "info", "\x1b[31m \x9b \u202e \ud800 é", {}, "")
    text = dumps(replace(make("calibrated"), findings=[finding]))
    assert text.isascii()
    assert "\x1b" not in text


def test_the_same_analysis_gives_the_same_bytes(make: Maker) -> None:
    assert dumps(make("difficulty")) == dumps(make("difficulty"))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("format",), 2),
        (("figures", "slot_idle", "basis"), "guessed"),
        (("figures", "slot_idle", "extra"), 1),
        (("run", "steps"), -1),
        (("steps", 0, "step"), "one"),
        (("steps", 0, "slot_idle"), "much"),
        (("findings", 0, "severity"), "dire"),
        (("ledger", "read"), None),
        (("whatif",), 3),
    ],
)
def test_the_schema_refuses_what_is_wrong(make: Maker, path: tuple[Any, ...], value: Any) -> None:
    found = document(make("calibrated"))
    VALIDATOR.validate(found)
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(found)


def test_tables_are_described_column_by_column() -> None:
    found = described_tables()
    assert [t["name"] for t in found["tables"]] == [t.name for t in TABLES]
    reward = next(c for c in found["tables"][0]["columns"] if c["name"] == "finish_reason")
    assert reward["values"] == ["stop", "length", "abort", "tool", "unknown"]
