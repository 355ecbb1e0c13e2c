"""What is printed: the command line, the table, the JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from test_run import asked, lengths_run, timed_run

from rollprof.cli.app import main
from rollprof.render.whatif_json import document, dumps
from rollprof.render.whatif_terminal import render
from rollprof.render.whatif_words import label, switch
from rollprof.whatif.enable import ENABLE, FORK, enable
from rollprof.whatif.policies.catalog import POLICIES
from rollprof.whatif.results import Advice, PolicyResult

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


@pytest.mark.parametrize("width", [60, 80, 120, 140])
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


def test_nothing_in_the_table_is_cut(found):
    for width, full in ((60, False), (80, False), (80, True), (140, True)):
        table = render(found, width=width, full=full).split("Policies", 1)[1].split("What would fix", 1)[0]
        assert "…" not in table
        assert "factor=1.25" in table


def test_a_wide_table_says_more_and_keeps_names_near_their_figures(found):
    narrow, wide = render(found, width=80), render(found, width=140)
    assert "eff. idle" in wide
    assert "eff. idle" not in narrow
    row = next(line for line in wide.splitlines() if " baseline " in line)
    assert row.index("1.00x") < 50


def test_short_names_leave_out_defaults():
    def name(policy, **given):
        return label(PolicyResult(policy, given), short=True)

    assert name("rollpacker", eta_p=1.25, eta_r=1.0) == "rollpacker eta_p=1.25"
    assert name("rollpacker", eta_p=1.25, eta_r=1.25) == "rollpacker eta_r=1.25"
    assert name("rollpacker", eta_p=1.0, eta_r=1.25) == "rollpacker eta_p=1 eta_r=1.25"
    assert name("truncate+partial", **{"truncate.cap": "p95"}) == "truncate+partial truncate.cap=p95"
    assert label(PolicyResult("rollpacker", {"eta_p": 1.25, "eta_r": 1.0})) == "rollpacker eta_p=1.25 eta_r=1"


def test_who_has_an_option_is_said_where_the_users_framework_has_none():
    def lines(policy, framework):
        return switch(Advice(policy, "", enable=enable(policy)), framework)

    assert lines("truncate", "verl") == ["verl: data.max_response_length=N"]
    assert lines("april", "trl") == ["trl: no option; an option in verl, slime (-v says which)"]
    assert lines("partial", "generic") == ["an option in verl, openrlhf, slime (-v says which)"]
    own, fork = lines("rollpacker", "verl")
    assert own == "verl: no option"
    assert fork.startswith("fork: RollPacker")
    assert lines("length-aware", "generic") == []
    for options in ENABLE.values():
        assert set(options) - {FORK} == {"verl", "openrlhf", "trl", "slime"}
