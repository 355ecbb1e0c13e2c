"""What `rollprof whatif --json` prints is what the schema says, whatever the run knows."""

from __future__ import annotations

import json
from dataclasses import fields

import jsonschema
import pytest

from rollprof.cli.app import main
from rollprof.render.json_schema import SCHEMA as ANALYSIS
from rollprof.render.whatif_schema import SCHEMA
from rollprof.whatif.results import PolicyResult

VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LOGS = ("verl", "openrlhf", "trl", "straggler_512.jsonl")
"""Times of rollouts, durations of steps, aggregates only, lengths only."""


@pytest.fixture(scope="module")
def printed(root, tmp_path_factory):
    def run(log, *arguments):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path_factory.mktemp("run"))
            out = tmp_path_factory.mktemp("out") / "found.json"
            with out.open("w") as stdout:
                patch.setattr("sys.stdout", stdout)
                assert main(["whatif", str(root / "sample_logs" / log), "--json", "-q", *arguments]) == 0
            return json.loads(out.read_text())

    return run


@pytest.mark.parametrize("log", LOGS)
def test_real_output_is_valid(printed, log):
    found = printed(log, "--policy", "april:over=1.5", "--policy", "truncate+partial", "--sample", "6")
    VALIDATOR.validate(found)
    assert any(p["speedup"] for p in found["policies"])
    assert any(p["needs"] for p in found["policies"]) or log == "verl"


def test_every_field_of_a_policy_is_described():
    described = SCHEMA["properties"]["policies"]["items"]["properties"]
    assert set(described) == {f.name for f in fields(PolicyResult)}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d["policies"][0].pop("speedup"),
        lambda d: d["policies"][0].update(speed=1.0),
        lambda d: d["calibration"].update(source="guessed"),
        lambda d: d["policies"][0].update(off_policy_share=1.5),
        lambda d: d["tail"].update(kind="odd"),
        lambda d: d["run"].pop("of_steps"),
    ],
)
def test_what_is_not_valid_is_refused(printed, spoil):
    found = printed("straggler_512.jsonl", "--policy", "partial")
    spoil(found)
    assert not VALIDATOR.is_valid(found)


def test_it_is_part_of_the_schema_of_a_run():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert ANALYSIS["$defs"]["whatif"] == SCHEMA
    assert {"$ref": "#/$defs/whatif"} in ANALYSIS["properties"]["whatif"]["anyOf"]
