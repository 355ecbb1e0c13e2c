"""What is printed: the command line, the table, the JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from test_run import asked, lengths_run, timed_run

from rollprof.cli.app import main
from rollprof.render.whatif_json import document, dumps
from rollprof.render.whatif_terminal import render
from rollprof.whatif.policies.catalog import POLICIES

KEYS = {
    "name",
    "parameters",
    "speedup",
    "interval",
    "step_s",
    "useful_tokens_per_s",
    "slot_idle",
    "engine_idle",
    "off_policy_share",
    "staleness_max",
    "dropped_share",
    "length_bias",
    "starved_prompts",
    "needs",
}


@pytest.fixture(scope="module")
def found():
    return asked(timed_run(), max_off_policy=0.1)


def test_json_has_the_promised_keys(found):
    doc = json.loads(dumps(found))
    assert doc["format"] == 1
    assert {"k0", "a", "b", "c", "source", "held_out_error", "drift", "steps"} <= set(doc["calibration"])
    assert {"step_s", "slot_idle", "engine_idle", "useful_tokens_per_s"} <= set(doc["baseline"])
    assert {p["name"] for p in doc["policies"]} == set(POLICIES)
    assert all(set(p) >= KEYS for p in doc["policies"])
    assert all({"policy", "text", "why", "enable"} == set(a) for a in doc["advice"])
    lacking = [p for p in doc["policies"] if p["speedup"] is None]
    assert lacking
    assert all(p["needs"] for p in lacking)


def test_numbers_that_are_none_in_json_are_null(found):
    odd = replace(found, baseline=replace(found.baseline, most=float("inf")))
    assert document(odd)["baseline"]["most"] is None
    json.dumps(document(odd), allow_nan=False)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits_and_marks_the_front_and_the_limits(found, width):
    text = render(found, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    rows = text.splitlines()
    assert any(line.startswith("* ") for line in rows)
    assert any(line.startswith("- ") for line in rows)  # beyond --max-off-policy
    assert "No tail remedy gains more than" in " ".join(text.split())
    assert "lengths are taken not to react" in text
    assert render(found, width=width, unicode=False).isascii()


def test_a_rough_replay_says_so():
    text = " ".join(render(asked(lengths_run(), "partial")).split())
    assert "rough: no times to fit the decode cost to" in text
    assert "assumed: b/a = .015" in text


def test_everything_is_shown_when_asked_for(found):
    few, full = render(found), render(found, full=True)
    assert few.count("\n  april") + few.count("\n* april") + few.count("\n- april") == 1
    assert full.count("april over=") >= 3
    assert "slime:" in full


def test_the_command_line(tmp_path, monkeypatch, capsys, root):
    monkeypatch.chdir(tmp_path)
    log = str(root / "sample_logs" / "verl")
    assert main(["whatif", log, "--policy", "april:over=2", "--json", "-q"]) == 0
    doc = json.loads(capsys.readouterr().out)
    april = next(p for p in doc["policies"] if p["name"] == "april")
    assert april["parameters"] == {"over": 2.0}
    assert april["speedup"] > 1
    assert main(["whatif", "--policy", "partial", "--engines", "2", "--max-num-seqs", "16"]) == 0
    assert "2 engines" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--policy", "aprl"], "did you mean april"),
        (["--policy", "april:over=0"], "at least 1"),
        (["--engines", "0"], "at least 1"),
        (["--gpu", "H100"], "go together"),
        (["--max-bias", "-1"], "a fraction"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(arguments, says, tmp_path, monkeypatch, capsys, root):
    monkeypatch.chdir(tmp_path)
    log = str(root / "sample_logs" / "straggler_512.jsonl")
    assert main(["whatif", log, "-q", *arguments]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
