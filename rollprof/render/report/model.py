"""The parts a report is made of. Plain text and numbers only: escaping is the business of each form.

Text in here may come out of a log. A `Spec` is a plotly figure as plain values, whose colours are roles
(`@accent`) that `palette` turns into colours; no spec holds text from a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rollprof.compare.comparison import Comparison
    from rollprof.whatif.results import WhatIf

Spec = Mapping[str, Any]
"""`{"data": [...], "layout": {...}}`."""
CellKind = Literal["text", "number", "figure", "basis", "code", "quiet"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell. `figure` cells hold the name of a figure, `basis` cells a basis.

    `bar` is a range of 0..1 to draw beside the text: from 0 for a value, from its lower end for a bracket.
    """

    text: str
    kind: CellKind = "text"
    bar: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under `head`; `caption` says what the table holds, `more` what it leaves out.

    A `folded` one is shown on demand.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str
    more: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot, the sentence that says what it shows, and the numbers behind it.

    `specs` by label: where there are several, the reader switches between them, the first is shown first.
    """

    name: str
    title: str
    specs: Mapping[str, Spec]
    text: str
    numbers: Table | None = None
    """None where the table that follows the plot is the same in numbers."""
    half: bool = False
    """Two halves stand side by side where there is room."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; `quiet` for remarks."""

    text: str
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One finding and what to do about it."""

    severity: str
    text: str
    next: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """Findings, most severe first."""

    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """Private text from the log, shown only when it was asked for."""

    title: str
    text: str


Block = Table | Plot | Paragraph | Items | Quote


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with an anchor. `question` is what the reader gets answered."""

    name: str
    title: str
    question: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """The step as nested bars: shares of the whole step, each inside the one before."""

    whole: str
    parts: tuple[tuple[str, float, str], ...]
    """(label, share of the step, its text), outermost first; the last is the time lost."""
    text: str


@dataclass(frozen=True, slots=True)
class Headline:
    """The first thing read: one figure, one sentence, how sure it is."""

    value: str
    figure: str
    basis: str
    sentence: str
    sure: str
    split: Split | None
    ladder: Table


@dataclass(frozen=True, slots=True)
class Extras:
    """What was worked out beside the run's own figures, where it was asked for.

    `whatif`: the replays, or in a sentence why they were refused. `against`: a comparison whose last run is
    this one.
    """

    whatif: WhatIf | str | None = None
    against: Comparison | None = None

    @property
    def replayed(self) -> WhatIf | None:
        """The replays, None where there are none."""
        return None if isinstance(self.whatif, str) else self.whatif


@dataclass(frozen=True, slots=True)
class Definition:
    """What a figure is, from the registry."""

    name: str
    unit: str
    doc: str
    formula: str
    aggregation: str
    basis: tuple[tuple[str, str], ...]
    source: str


@dataclass(frozen=True, slots=True)
class Content:
    """A whole report. `facts` are label and value of what was read."""

    title: str
    facts: tuple[tuple[str, str], ...]
    headline: Headline
    sections: tuple[Section, ...]
    definitions: tuple[Definition, ...]

    def plots(self) -> tuple[Plot, ...]:
        """Every plot, in order."""
        return tuple(b for s in self.sections for b in s.blocks if isinstance(b, Plot))
