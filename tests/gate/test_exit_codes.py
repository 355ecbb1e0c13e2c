"""Exit codes of `rollprof check` on the sample logs: each from outside, more ways to it in this process."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Rollprof = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def verl(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from rollprof import api

    output = str(tmp_path_factory.mktemp("verl") / "verl.rollprof")
    options = api.OpenOptions(output=output, workers=1)
    return Path(api.convert([str(root / "sample_logs" / "verl")], options=options).path)


@pytest.fixture(scope="module")
def straggler(root: Path) -> Path:
    return root / "sample_logs" / "straggler_512.jsonl"


def test_0_when_a_rule_holds(outside: Rollprof, verl: Path) -> None:
    done = outside("check", verl, "--max-idle", "0.9")
    assert done.returncode == 0, done
    assert done.stdout.startswith("holds     step_idle  run 38.9 % ≤ max 90.0 %")
    assert "12 steps" in done.stdout
    assert "worst step" in done.stdout
    assert "calibrated" in done.stdout
    assert done.stderr == ""


def test_1_when_a_rule_is_broken(outside: Rollprof, verl: Path) -> None:
    done = outside("check", verl, "--max-idle", "30%")
    assert done.returncode == 1, done
    assert done.stdout.startswith("broken    step_idle  run 38.9 % > max 30.0 %")


def test_0_when_undecided_and_1_with_strict(rollprof: Rollprof, outside: Rollprof, verl: Path) -> None:
    done = rollprof("check", verl, "--max-idle", "0.38")
    assert done.returncode == 0, done
    assert done.stdout.startswith("undecided step_idle")
    assert "the limit lies inside what is known of it" in " ".join(done.stdout.split())
    assert outside("check", verl, "--max-idle", "0.38", "--strict").returncode == 1
    assert rollprof("check", verl, "--max-idle", "0.38", "--error-on-warning").returncode == 1
    assert rollprof("check", verl, "--max-idle", "0.38", "--strict", "--exit-zero").returncode == 0


def test_generation_idle_where_there_are_no_step_times(rollprof: Rollprof, straggler: Path) -> None:
    done = rollprof("check", straggler, "--max-idle", "0.95")
    assert done.returncode == 0, done
    assert "generation_idle" in done.stdout
    assert rollprof("check", straggler, "--max", "slot_idle=0.9").returncode == 1


@pytest.mark.parametrize("rule", ["slot_idle=0.9115", "slot_idle=0.91146"])
def test_digits_until_value_and_limit_differ(rollprof: Rollprof, straggler: Path, rule: str) -> None:
    """The worked example: 1 - (500*2 + 12*30)/(512*30) = 0.911458333..."""
    done = rollprof("check", straggler, "--max", rule)
    shown, limit = ("91.146 %", "91.150 %") if rule.endswith("5") else ("91.1458 %", "91.1460 %")
    assert f"run {shown} ≤ max {limit}" in done.stdout.replace("\n", " "), done.stdout


def test_1_only_for_rules_that_are_errors(rollprof: Rollprof, verl: Path, tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text('[check.rules]\nstep_idle = { max = 0.3, level = "warn" }\n')
    done = rollprof("check", verl)
    assert done.returncode == 0, done
    assert done.stdout.startswith("warning ")
    assert rollprof("check", verl, "--error-on-warning").returncode == 1


def test_2_when_a_rule_cannot_be_computed_with_the_option_that_would_bring_it(
    outside: Rollprof, verl: Path
) -> None:
    done = outside("check", verl, "--max", "engine_idle=0.2")
    assert done.returncode == 2, done
    text = " ".join(done.stdout.split())
    assert "no value engine_idle cannot be computed" in text
    assert "would bring it: actor_rollout_ref.rollout" in text
    allowed = outside("check", verl, "--max", "engine_idle=0.2", "--allow-missing")
    assert (allowed.returncode, allowed.stdout.split()[0]) == (0, "skipped")


def test_2_for_a_column_that_the_log_lacks(rollprof: Rollprof, root: Path) -> None:
    done = rollprof("check", root / "sample_logs" / "openrlhf", "--max", "rollout_s_max=10")
    assert done.returncode == 2, done
    assert "cannot be computed" in done.stdout


def test_1_when_one_is_broken_and_another_cannot_be_computed(rollprof: Rollprof, verl: Path) -> None:
    done = rollprof("check", verl, "--max-idle", "0.3", "--max", "engine_idle=0.2")
    assert done.returncode == 1, done
    assert (
        rollprof("check", verl, "--max-idle", "0.3", "--max", "engine_idle=0.2", "--exit-zero").returncode
        == 2
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--max", "step_idel=0.3"], "did you mean step_idle"),
        (["--max", "step_idle"], "FIGURE=VALUE"),
        (["--max", "step_idle=high"], "not a number"),
        (["--max-idle", "30"], "30% or 0.3"),
        (["--max", "generate_s=30%"], "not a share"),
        (["--max-idle", "nan"], "not a number"),
        (["--max-idle", "0.3", "--report", "junitt"], "did you mean junit"),
        (["--max-idle", "0.3", "--report", "json", "--report", "junit"], "junit=FILE"),
        (["--max-idle", "0.3", "--aggregate", "mode"], "median"),
        (["--max-idle", "0.3", "--require-basis", "modelled"], "measured or logged or calibrated"),
        (["--max-idle", "0.3", "--skip-steps", "-1"], "--skip-steps"),
        (["--max-idle", "0.3", "--skip-steps", "12"], "none is left"),
        (["--max-increase", "generate_s=10%"], "--baseline"),
        (["--max-increase", "generate_s=10%", "--baseline", "absent.json"], "no such baseline"),
        ([], "no rule"),
    ],
)
def test_2_for_bad_usage(rollprof: Rollprof, verl: Path, arguments: list[str], words: str) -> None:
    done = rollprof("check", verl, *arguments)
    assert done.returncode == 2, done
    assert (done.stdout, done.stderr.count("\n")) == ("", 1), done
    assert words in done.stderr


def test_2_for_bad_usage_from_outside(outside: Rollprof) -> None:
    done = outside("check", "--max", "step_idel=0.3")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done


def test_2_when_there_is_no_run(outside: Rollprof) -> None:
    done = outside("check", "--max-idle", "0.3")
    assert done.returncode == 2
    assert "no run given" in done.stderr


def test_70_for_an_error_of_ours_never_looks_like_a_broken_rule(outside: Rollprof, verl: Path) -> None:
    patch = (
        "import rollprof.gate.verdict as v\ndef judge(*a, **k): raise ValueError('wrong')\nv.judge = judge"
    )
    done = outside("check", verl, "--max-idle", "0.3", patch=patch)
    assert done.returncode == 70, done
    assert "internal error" in done.stderr


def test_130_for_ctrl_c(outside: Rollprof, verl: Path) -> None:
    patch = "import rollprof.gate.verdict as v\ndef judge(*a, **k): raise KeyboardInterrupt\nv.judge = judge"
    done = outside("check", verl, "--max-idle", "0.3", patch=patch)
    assert (done.returncode, done.stdout) == (130, "")


def test_a_stronger_basis_can_be_demanded(rollprof: Rollprof, verl: Path) -> None:
    rule = ("--max", "step_idle=0.9", "--max", "generate_s=30")
    done = rollprof("check", verl, *rule, "--require-basis", "logged")
    assert done.returncode == 2, done
    assert "known only as calibrated, the rule asks for logged" in " ".join(done.stdout.split())
    assert rollprof("check", verl, *rule, "--require-basis", "calibrated").returncode == 0


def test_too_few_steps_decide_nothing(rollprof: Rollprof, verl: Path) -> None:
    done = rollprof("check", verl, "--max", "generate_s=1", "--min-steps", "13")
    assert done.returncode == 2, done
    assert "12 steps have it, --min-steps asks for 13" in " ".join(done.stdout.split())
    skipped = rollprof("check", verl, "--max", "generate_s=1", "--min-steps", "10", "--skip-steps", "3")
    assert skipped.returncode == 2, skipped
    assert "9 steps have it" in skipped.stdout


def test_modelled_figures_have_their_bracket(rollprof: Rollprof, root: Path, tmp_path: Path) -> None:
    """Five rollouts of 100, 100, 100, 100 and 1000 tokens, and no time: the bracket reaches from Gini, .514,
    to the context-weighted form. In step k there are B rollouts that hold B*k tokens, so
    sum B*k = 5*4950 + 494550 = 519300, sum B*B*k = 25*4950 + 494550 = 618300, 1 - 618300/(5*519300) = .7619.
    """
    log = tmp_path / "lengths.jsonl"
    rows = [f'{{"step": 1, "response_tokens": {n}, "prompt": "p"}}\n' for n in (100, 100, 100, 100, 1000)]
    log.write_text("".join(rows))
    inside = rollprof("check", log, "--max", "slot_idle=0.7", "--config", "engines=1")
    assert inside.returncode == 0, inside
    assert inside.stdout.startswith("undecided")
    assert rollprof("check", log, "--max", "slot_idle=0.95", "--config", "engines=1").stdout.startswith(
        "holds"
    )
    # its upper end stands for the figure where that is asked for
    upper = ("--idle-figure", "slot_idle", "--allow-modelled", "--config", "engines=1")
    done = rollprof("check", log, "--max-idle", "0.7", *upper)
    assert done.returncode == 1, done
    assert "run 76.2 % > max 70.0 %" in " ".join(done.stdout.split())
