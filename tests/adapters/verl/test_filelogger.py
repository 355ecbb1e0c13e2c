"""The file logger of both eras."""

from __future__ import annotations

import math
from collections.abc import Callable

from rollprof.adapters.base import MetricPart
from rollprof.schema.ledger import Ledger

Read = Callable[..., tuple[list[MetricPart], Ledger]]


def values(part: MetricPart) -> dict[tuple[int | None, str], float]:
    return {(r.step, r.key): r.value for r in part.metrics}


def test_both_spellings_of_what_is_no_number(read: Read) -> None:
    old = '{"step": 1, "data": {"timing_s/gen": 1.5, "actor/grad_norm": NaN, "x/inf": Infinity}}\n'
    new = '{"step":1,"data":{"timing_s/gen":1.5,"actor/grad_norm":null,"big/tiny":0.00004525859549175948}}\n'
    (part,), ledger = read(old, "exp.jsonl")
    found = values(part)
    assert found[1, "timing_s/gen"] == 1.5
    assert math.isnan(found[1, "actor/grad_norm"])
    assert found[1, "x/inf"] == math.inf
    assert part.hints == {"mark.json_logger": "1"}
    (part,), ledger = read(new, "exp.jsonl")
    found = values(part)
    assert math.isnan(found[1, "actor/grad_norm"])
    assert found[1, "big/tiny"] == 4.525859549175948e-05
    assert ledger.notes == 0


def test_values_that_are_no_scalars_are_counted(read: Read) -> None:
    text = '{"step":1,"data":{"timing_s/gen":1,"note":"x","hist":{"a":1},"flag":true,"list":[1]}}\n'
    (part,), ledger = read(text, "exp.jsonl")
    assert values(part) == {(1, "timing_s/gen"): 1.0, (1, "flag"): 1.0}
    assert [p.reason for p in ledger.problems] == ["3 values that are no numbers left out"]


def test_a_file_of_two_runs(read: Read) -> None:
    def run(gen: float, steps: int) -> str:
        return "".join(
            f'{{"step":{s},"data":{{"timing_s/gen":{gen},"timing_s/step":9}}}}\n' for s in range(1, steps)
        )

    parts, ledger = read(run(1.5, 4) + run(2.5, 3), "exp.jsonl")
    assert [(p.label, len(p.metrics)) for p in parts] == [("1", 6), ("2", 4)]
    assert ledger.notes == 1


def test_strange_records_are_noted(read: Read) -> None:
    text = '{"step":1,"data":{"timing_s/gen":1}}\n' * 60 + '{"step":"x","data":{}}\n{"step":3,"data":[1]}\n'
    (part,), ledger = read(text, "exp.jsonl")
    assert len(part.metrics) == 60
    assert sum(p.reason.startswith("no step and data") for p in ledger.problems) == 2


def test_half_a_line_at_the_end(read: Read) -> None:
    text = '{"step":1,"data":{"timing_s/gen":1}}\n{"step":2,"data":{"timing_s/g'
    (part,), ledger = read(text, "exp.jsonl")
    assert values(part) == {(1, "timing_s/gen"): 1.0}
    assert ledger.skipped == 1
