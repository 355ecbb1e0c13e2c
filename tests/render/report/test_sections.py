"""What the sections say, against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rollprof.analyzers.results import Analysis, Figure, InFlight, StepFigure, StepResult, Straggler
from rollprof.render.report import headline, in_flight, waiting
from rollprof.render.report.content import content
from rollprof.render.report.lengths import bands
from rollprof.render.report.model import Plot, Quote, Section, Table

Make = Callable[..., Analysis]


def plot_of(section: Section | None) -> Plot:
    assert section is not None
    return next(b for b in section.blocks if isinstance(b, Plot))


def table_of(section: Section | None, caption: str) -> Table:
    assert section is not None
    return next(b for b in section.blocks if isinstance(b, Table) and b.caption.startswith(caption))


def rows(table: Table) -> list[list[str]]:
    return [[c.text for c in row] for row in table.rows]


def test_sections_come_in_the_order_of_reading(make: Make) -> None:
    analysis = make("difficulty")
    curve = InFlight(1, "typical", (0.0, 2.0), (512.0, 12.0), 512.0, 2.0, 30.0, "measured")
    sampling = {"unit": "tokens", "groups": {"kept": {"groups": 3, "rollouts": 24, "tokens": 100.0}}}
    stale = Figure("staleness_mean", 0.5, "versions", "measured")
    analysis = replace(
        analysis,
        in_flight=[curve],
        sampling=sampling,
        staleness={"unit": "versions", "token_share": {"0": 0.5, "1": 0.5}},
        figures={**analysis.figures, stale.name: stale},
        steps=[
            replace(s, figures={**s.figures, "response_tokens_p50": StepFigure(500.0, "logged")})
            for s in analysis.steps
        ],
    )
    assert [s.name for s in content(analysis).sections] == [
        "in-flight",
        "lengths",
        "length-bands",
        "waiting",
        "phases",
        "difficulty",
        "sampling",
        "staleness",
        "findings",
        "quality",
    ]


def test_a_drift_without_medians_of_steps_still_has_words(make: Make) -> None:
    analysis = make("calibrated")
    drift = Figure("length_drift_p50", 2.0, "tokens per step", "logged", interval=(1.0, 3.0))
    steps = [replace(s, columns={"response_tokens_max": 90.0 + s.step}) for s in analysis.steps]
    section = bands(replace(analysis, steps=steps, figures={**analysis.figures, drift.name: drift}))
    assert section is not None
    (plot,) = section.blocks
    assert isinstance(plot, Plot)
    assert plot.text.strip() == "The median response grows by 2 a step."


def test_absent_sections_are_not_there(make: Make) -> None:
    names = [s.name for s in content(make("nothing_known")).sections]
    assert names == ["findings", "missing", "quality"]


def test_the_split_nests_only_where_it_does(make: Make) -> None:
    analysis = make("calibrated")
    share = Figure("generation_share", 0.714, "fraction", "logged")
    with_share = replace(analysis, figures={**analysis.figures, share.name: share})
    split = headline.headline(with_share).split
    assert split is not None
    assert [(label, value) for label, value, _ in split.parts] == [
        ("generating", 0.714),
        ("waiting for stragglers", 0.412),
    ]
    assert "71 % is spent generating; 41 %" in split.text
    assert "update" in split.text
    beside = {
        n: replace(f, note="beside the step") if n == "generate" else f for n, f in analysis.phases.items()
    }
    assert headline.headline(replace(with_share, phases=beside)).split is None
    assert headline.headline(replace(with_share, headline="generation_idle")).split is None
    assert headline.headline(analysis).split is None


def test_the_worked_example_in_flight(make: Make) -> None:
    """500 of 512 responses done at 2 s, the others at 30 s."""
    curve = InFlight(7, "worst", (0.0, 2.0), (512.0, 12.0), 512.0, 2.0, 30.0, "measured")
    step = StepResult(7, {}, {"slot_idle": StepFigure(0.9115, "measured")})
    plot = plot_of(in_flight.in_flight(replace(make("straggler_512"), in_flight=[curve], steps=[step])))
    assert plot.text == (
        "Step 7: 90 % of its rollouts were done after 2.00 s, the last one after 30.0 s. 91 % of its decode "
        "slots were empty (slot_idle)."
    )
    lower, upper, line, *marks = in_flight.spec(curve)["data"]
    assert (lower["x"], lower["y"]) == ([0.0, 2.0, 30.0], [512.0, 12.0, 0.0])
    assert (upper["x"], upper["y"], upper["fill"]) == ([0.0, 30.0], [512.0, 512.0], "tonexty")
    assert line["y"] == [512.0, 12.0, 0.0]
    assert [(m["x"][0], m["text"][1].strip()) for m in marks] == [
        (2.0, "90 % done here"),
        (30.0, "last one here"),
    ]


def test_a_queue_does_not_shade_above_the_slots() -> None:
    curve = InFlight(1, "worst", (0.0, 5.0), (128.0, 20.0), 32.0, 6.0, 9.0, "measured")
    lower = in_flight.spec(curve)["data"][0]
    assert lower["y"] == [32.0, 20.0, 0.0], "what waits in a queue takes no slot"


def test_worst_steps_first_with_who_was_last(make: Make) -> None:
    base = make("straggler_512")

    def step(number: int, wait: float) -> StepResult:
        figures = {
            "straggler_wait_mean_s": StepFigure(wait, "measured"),
            "slot_idle": StepFigure(0.5, "measured"),
        }
        return StepResult(number, {}, figures)

    last = Straggler(2, 77, 900.0, 0.5, "length", 9.0, "truncated")
    analysis = replace(base, steps=[step(1, 3.0), step(2, 9.0), step(3, 4.0)], stragglers=[last])
    section = waiting.waiting(analysis, {2: ("the prompt", None)})
    table = table_of(section, "The steps that waited longest")
    assert rows(table)[0] == ["2", "9.00 s", "50.0 %", "900", "0.5", "length", "77", "truncated"]
    assert [r[0] for r in rows(table)] == ["2", "3", "1"]
    assert section is not None
    assert [b.text for b in section.blocks if isinstance(b, Quote)] == ["the prompt"]
    assert plot_of(section).text.startswith("The mean wait of a step lies between 3.00 s and 9.00 s.")


def test_a_bracket_is_drawn_as_bounds(make: Make) -> None:
    plot = plot_of(waiting.waiting(make("bracket"), {}))
    names = [t.get("name") for t in plot.specs[""]["data"]]
    assert "idle, within these bounds" in names
    assert plot.numbers is not None
    assert rows(plot.numbers)[0][-2:] == ["40.0 %", "80.0 %"]


def test_many_steps_are_drawn_in_blocks_with_their_range(make: Make) -> None:
    base = make("calibrated")
    steps = [
        StepResult(i, {}, {"straggler_wait_mean_s": StepFigure(float(i % 10), "measured")})
        for i in range(10_000)
    ]
    plot = plot_of(waiting.waiting(replace(base, steps=steps), {}))
    assert max(len(t["x"]) for t in plot.specs[""]["data"]) <= 400
    low, high, middle = plot.specs[""]["data"]
    assert (low["y"][0], high["y"][0], middle["y"][0]) == (0.0, 9.0, 4.0)
    assert "Each point is the median of 25 steps." in plot.text
    assert plot.numbers is not None
    assert len(plot.numbers.rows) <= 60


def test_bounds_of_many_steps_are_drawn_in_blocks(make: Make) -> None:
    steps = [
        StepResult(i, {}, {"slot_idle": StepFigure(None, "modelled", interval=(0.2 + i % 2 / 10, 0.8))})
        for i in range(10_000)
    ]
    plot = plot_of(waiting.waiting(replace(make("bracket"), steps=steps), {}))
    low, high = plot.specs[""]["data"]
    assert len(low["x"]) == len(high["x"]) == 400
    assert (low["y"][0], high["y"][0]) == (0.2, 0.8)


def test_definitions_are_those_of_the_figures_shown(make: Make) -> None:
    made = content(make("difficulty"))
    names = [d.name for d in made.definitions]
    assert {"step_idle", "engine_idle", "phase_share_update", "response_tokens_p99"} <= set(names)
    assert "staleness_mean" not in names
    assert all(d.formula and d.doc for d in made.definitions)


def test_ledger_and_facts(make: Make) -> None:
    quality: Any = next(s for s in content(make("calibrated")).sections if s.name == "quality")
    assert "12 repaired, 3 skipped" in quality.blocks[0].text.replace("\u00a0", " ")
    assert rows(table_of(quality, "Problems"))[1] == ["skipped", "rollouts/7.jsonl", "18,231", "half a line"]
    assert rows(table_of(quality, "Facts"))[0][:3] == ["gpus", "8", "config"]
