"""The summary in the terminal: gold files, one screen, and what somebody new must be able to read from it.

`ROLLPROF_REGENERATE_GOLD=1 pytest tests/render/test_terminal.py` writes the gold files anew; look at the
difference before you commit it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from rollprof.analyzers.results import Analysis, Figure, Finding, Missing
from rollprof.render.terminal import render

Maker = Callable[..., Analysis]
GOLD = Path(__file__).parent / "gold"
KINDS = (
    "calibrated",
    "difficulty",
    "logged",
    "bracket",
    "straggler_512",
    "nothing_known",
    "asynchronous",
)
HOSTILE = "\x1b[31m[red]\x1b]0;pwned\x07\u202e\nnew line \x9b2J\x00"


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("kind", KINDS)
def test_gold(make: Maker, kind: str, width: int) -> None:
    gold = GOLD / f"{kind}_{width}.txt"
    text = render(make(kind), width=width)
    if os.environ.get("ROLLPROF_REGENERATE_GOLD"):
        gold.write_text(text, encoding="utf-8")
    assert text == gold.read_text(encoding="utf-8")


def test_the_interval_of_a_bound_is_not_its_precision(make: Maker) -> None:
    run = make("logged")
    bound = replace(run.figures["step_idle"], interval=(0.0, 0.2351))
    text = " ".join(render(replace(run, figures={**run.figures, "step_idle": bound})).split())
    assert "GPU-idle fraction ≤ 23.5 %" in text
    assert "90 % interval" not in text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [60, 80, 100, 140, 160])
def test_fits_the_width(make: Maker, kind: str, width: int) -> None:
    assert max(cell_len(line) for line in render(make(kind), width=width).split("\n")) <= width


@pytest.mark.parametrize("kind", KINDS)
def test_one_screen(make: Maker, kind: str) -> None:
    assert render(make(kind), width=80).count("\n") <= 39


def test_full_shows_everything(make: Maker) -> None:
    text = render(make("difficulty"), width=80, full=True)
    assert "Responses grow by 1.1 % a step." in text
    assert "rollouts/2.jsonl at byte 4: NaN" in text
    assert "of tail, of wait: share of the longest 5 %" in " ".join(text.split())
    assert "--verbose" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_plain_text_is_plain(make: Maker, kind: str) -> None:
    assert "\x1b" not in render(make(kind))


def test_colour_changes_nothing_but_colour(make: Maker) -> None:
    colored = render(make("difficulty"), color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render(make("difficulty"))


@pytest.mark.parametrize("kind", KINDS)
def test_ascii_where_nothing_else_can_be_shown(make: Maker, kind: str) -> None:
    text = render(make(kind), unicode=False)
    assert text.isascii()
    assert max(map(len, text.split("\n"))) <= 80


# What somebody who has never seen rollprof must find: the share, how sure it is, what to look at next.


def test_share_certainty_and_next_step(make: Maker) -> None:
    text = " ".join(render(make("calibrated")).split())
    assert "GPU-idle fraction 41 %" in text
    assert "41 % of GPU time lost to stragglers (in generation: at least 11 % truly idle, 85 %" in text
    assert "How sure: 90 % interval 38–43 %; calibrated (lengths replayed on a decode cost" in text
    assert "2.14 GPU-hours lost" in text
    assert "What to look at next" in text
    assert "cap responses at the p99" in text


def test_a_bound_reads_as_a_bound(make: Maker) -> None:
    text = " ".join(render(make("logged")).split())
    assert "GPU-idle fraction ≤ 23.5 %" in text
    assert "At most 23.5 % of GPU time lost to stragglers" in text
    assert "an upper bound, the true share may be lower" in text


def test_a_bracket_reads_as_a_range(make: Maker) -> None:
    text = " ".join(render(make("bracket")).split())
    assert "GPU-idle fraction 49–87 %" in text
    assert "Between 49 % and 87 % of GPU time in generation lost to stragglers" in text
    assert "only a range can be given; modelled" in text


def test_what_is_absent_says_what_would_bring_it(make: Maker) -> None:
    text = " ".join(render(make("logged")).split())
    assert "engine_idle not in this log: no time per engine" in text
    assert "to get it: actor_rollout_ref.rollout.disable_log_stats=False" in text
    nothing = " ".join(render(make("nothing_known")).split())
    assert "GPU-idle fraction not in this log neither lengths nor times; to get it: trainer.logger" in nothing


def test_the_first_way_to_get_a_figure_unless_all_are_asked_for(make: Maker) -> None:
    item = Missing("engine_idle", "unknown", "first=1 (since 1.0; not 1.2); second=2 (all)")
    run = replace(make("straggler_512"), missing=[item])
    text = " ".join(render(run).split())
    assert "engine_idle: unknown; to get it: first=1 (since 1.0; not 1.2)" in text
    assert "second" not in text
    assert "second=2 (all)" in render(run, full=True)


def test_the_worked_example(make: Maker) -> None:
    text = render(make("straggler_512"))
    assert re.search(r"slot_idle +█+▏? +91\.15 %  measured", text)
    assert "93.33 % of" in text


def test_trainer_idle_has_its_own_sentence(make: Maker) -> None:
    text = " ".join(render(make("asynchronous")).split())
    assert "31.3 % of the trainer's time spent waiting for rollouts." in text
    assert "GPUs per side unknown" in text


def test_rows_by_data_source_on_demand(make: Maker) -> None:
    run = make("difficulty")
    rows = [*run.difficulty, {"dataset": "aime_2024", "prompts": 7, "rollouts": 56, "length_mean": 900.0}]
    both = replace(run, difficulty=rows)
    assert "aime_2024" not in render(both)
    assert "all wrong" in render(both)
    text = render(both, by="dataset")
    assert re.search(r"Data source +prompts +rollouts +mean\n  aime_2024 +7 +56 +900\n", text)
    assert "all wrong" not in text
    assert "aime_2024" in render(both, full=True)
    assert "Data source  not in this log" in render(run, by="dataset")


def test_every_idle_figure_shows_its_basis(make: Maker) -> None:
    text = render(make("calibrated"))
    for name, basis in (
        ("engine_idle", "measured"),
        ("effective_idle", "calibrated"),
        ("slot_idle", "measured"),
    ):
        line = next(line for line in text.split("\n") if line.strip().startswith(name))
        assert basis in line
        assert "%" in line


def test_ledger_line_only_when_something_was_wrong(make: Maker) -> None:
    assert "5,120 lines, 12 repaired, 3 skipped (rollouts/7.jsonl at byte 18,231" in render(
        make("calibrated")
    )
    assert "repaired" not in render(make("bracket"))


def test_a_healthy_run_is_told_so(make: Maker) -> None:
    assert "Nothing stands out." in render(make("straggler_512"))


def test_cost(make: Maker) -> None:
    run = make("calibrated")
    cost = Figure("cost_lost", 5.3575, "money", "calibrated")
    text = " ".join(render(replace(run, figures={**run.figures, "cost_lost": cost})).split())
    assert "2.14 GPU-hours lost, 5.36 at your price." in text


def test_text_from_logs_is_data(make: Maker) -> None:
    run = make("calibrated")
    hostile = replace(
        run,
        run=replace(
            run.run,
            framework=HOSTILE,
            framework_version=HOSTILE,
            trainer=HOSTILE,
            sources=[{"name": HOSTILE}],
        ),
        findings=[Finding("x", "high", HOSTILE, {}, HOSTILE)],
        missing=[Missing(HOSTILE, HOSTILE, HOSTILE)],
        stragglers=[replace(s, why=HOSTILE, finish_reason=HOSTILE) for s in run.stragglers],
        difficulty=[{"bucket": HOSTILE, "prompts": 1}],
        phases={HOSTILE: Figure(HOSTILE, 0.5, "fraction", "logged", note=HOSTILE)},
        ledger={
            "skipped": 1,
            "problems": [{"file": HOSTILE, "offset": 1, "reason": HOSTILE, "kind": "note"}],
        },
    )
    text = render(hostile, full=True)
    assert "[red]" in text
    assert "pwned" not in text
    assert not set(text) & set("\x1b\x9b\x00\x07\u202e\r")
    assert re.fullmatch(r"[^\x00-\x09\x0b-\x1f]*", text)


def test_odd_numbers_do_not_break_it(make: Maker) -> None:
    run = make("difficulty")
    for value in (0.0, 1.0, 1e-12, 1e12, -0.1):
        figures = {name: replace(f, value=value, interval=None) for name, f in run.figures.items()}
        assert "GPU-idle fraction" in render(replace(run, figures=figures))


def test_a_very_long_run_still_fits(make: Maker) -> None:
    run = make("calibrated")
    many = [replace(step, step=i) for i in range(10_000) for step in run.steps[i % 20 : i % 20 + 1]]
    text = render(replace(run, steps=many))
    assert text.count("\n") <= 39
    assert max(map(cell_len, text.split("\n"))) <= 80
    assert re.search(r"mean wait by step █+  55.5 s to 86.9 s, worst of \d+ each\n", text)
