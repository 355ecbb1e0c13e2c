"""JSON inside a page: it cannot end its script element, and it stays within bounds."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from rollprof.analyzers.results import Analysis
from rollprof.render import as_json
from rollprof.whatif.results import WhatIf

MOST_BYTES = 3_000_000
"""Of the steps in the embedded document. Above it every n-th step is embedded: the file is for reading in a
browser, `report --json` has them all."""
MOST_PROBLEMS = 1_000
SAMPLED = 100
"""Steps that the size of all is judged by."""

_HARMLESS = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@dataclass(frozen=True, slots=True)
class Embedded:
    """The document of `as_json` as text for a script element, and which of the steps it holds."""

    text: str
    steps: int
    of: int


def script_json(value: Any) -> str:
    """JSON in ASCII that holds neither `<` nor `>` nor `&`; sorted, without blanks."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.translate(_HARMLESS)


def embedded(analysis: Analysis, whatif: WhatIf | None = None) -> Embedded:
    """The analysis as `report --json` prints it, cut where it would make the page heavy."""
    every = _every(analysis)
    steps = analysis.steps[::every]
    kept = {step.step for step in steps}
    last = [s for s in analysis.stragglers if every == 1 or s.step in kept]
    document = as_json.document(replace(analysis, steps=steps, stragglers=last), whatif)
    ledger = document["ledger"]
    problems = ledger.get("problems") or []
    if len(problems) > MOST_PROBLEMS:
        ledger["problems"] = problems[:MOST_PROBLEMS]
        ledger["unlisted"] = int(ledger.get("unlisted") or 0) + len(problems) - MOST_PROBLEMS
    return Embedded(script_json(document), len(steps), len(analysis.steps))


def _every(analysis: Analysis) -> int:
    """Every how many steps one is embedded; judged by the size of some of them, spread over the run."""
    count = len(analysis.steps)
    some = analysis.steps[:: count // SAMPLED + 1]
    if not some:
        return 1
    written = as_json.document(replace(analysis, steps=some, stragglers=(), eval_steps=()))["steps"]
    size = len(script_json(written)) / len(some) * count
    return max(1, -(-int(size) // MOST_BYTES))
