"""Wrapped lines put together again: in mid-key, in mid-number, with prefixes, with others in between."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rollprof.schema.ledger import Ledger
from rollprof.sources import wraps
from rollprof.sources.console import read_console, rejoin
from rollprof.sources.records import SniffedFile, TextLine
from rollprof.sources.wraps import PATIENCE, seam

AsFile = Callable[..., SniffedFile]

PAIRS = [
    "response_length/mean:87.4609375",
    "critic/advantages/min:-1.6201815605163574",
    "timing_s/agent_loop/generate_sequences/max:539.5414212550968",
    "actor/ppo_kl:-8.163164312320433e-06",
    "perf/total_num_tokens:18603",
    "val-core/openai/gsm8k/acc/mean@1:0.508",
]
RECORD = "step:34 - " + " - ".join(PAIRS)


def starts(text: str) -> bool:
    return re.match(r"step:\d+ - ", text) is not None


def continues(text: str) -> bool:
    return "INFO" not in text


def join(text: str, as_file: AsFile) -> tuple[list[TextLine], Ledger]:
    ledger = Ledger()
    file = as_file(text.encode(), "console.log", kind="text")
    lines = list(rejoin(read_console(file, ledger), starts, continues, ledger=ledger, name=file.name))
    return lines, ledger


def chunks(text: str, width: int) -> list[str]:
    return [text[i : i + width] for i in range(0, len(text), width)]


@pytest.mark.parametrize("width", [7, 23, 60, 140, 1000])
@pytest.mark.parametrize("strip", [False, True])
@pytest.mark.parametrize("between", ["", "\n", "(WorkerDict pid=7) INFO saved\n", "INFO from the driver\n"])
def test_every_width(as_file: AsFile, width: int, strip: bool, between: str) -> None:
    parts = chunks(f"(TaskRunner pid=1) {RECORD}", width)
    if len(parts[0]) < len("(TaskRunner pid=1) step:34 - "):
        parts = [f"(TaskRunner pid=1) {RECORD[:12]}", *chunks(RECORD[12:], width)]
    if strip:
        parts = [part.strip() for part in parts]
    text = f"\n{between}".join(parts) + "\n"
    lines, ledger = join(text, as_file)
    (record,) = [line for line in lines if line.text.startswith("step:34")]
    assert record.text == RECORD
    assert (record.actor, record.pid, record.offset, record.lines) == ("TaskRunner", 1, 0, len(parts))
    assert sum(line.lines for line in lines) == ledger.lines == text.count("\n")
    assert ledger.repaired == (len(parts) if len(parts) > 1 else 0)


@settings(max_examples=100, deadline=None)
@given(st.sets(st.integers(11, len(RECORD) - 1), max_size=6), st.booleans(), st.data())
def test_any_cuts(as_file: AsFile, cuts: set[int], prefixed: bool, data: st.DataObject) -> None:
    edges = [0, *sorted(cuts), len(RECORD)]
    parts = [RECORD[a:b] for a, b in itertools.pairwise(edges)]
    assume("-" not in parts)  # no terminal is one column wide
    foreign = st.sampled_from(
        ["(WorkerDict pid=7) INFO step:1 - a:1", "", "(X pid=2) step", "(pid=9) timing_s/gen:1"]
    )
    text = ""
    for i, part in enumerate(parts):
        text += f"(T pid=1) {part}\n" if prefixed or i == 0 else f"{part}\n"
        if i + 1 < len(parts):
            text += "".join(line + "\n" for line in data.draw(st.lists(foreign, max_size=3)))
    lines, ledger = join(text, as_file)
    assert [line.text for line in lines if line.pid == 1 and line.text.strip()] == [RECORD]
    assert sum(line.lines for line in lines) == ledger.lines == text.count("\n")
    assert ledger.read + ledger.repaired == ledger.lines


def test_two_actors_wrap_at_once(as_file: AsFile) -> None:
    other = RECORD.replace("34", "35").replace("mean", "max")
    a, b = chunks(RECORD, 50), chunks(other, 50)
    text = "".join(f"(A pid=1) {x}\n(B pid=2) {y}\n" for x, y in zip(a, b, strict=False))
    text += "".join(f"(B pid=2) {y}\n" for y in b[len(a) :])
    lines, _ = join(text, as_file)
    assert [(line.actor, line.text) for line in lines] == [("A", RECORD), ("B", other)]


def test_records_end_where_their_actor_says_something_else(as_file: AsFile) -> None:
    text = f"(A pid=1) {RECORD}\n(A pid=1) INFO done\n(A pid=1) timing_s/gen:5\n"
    lines, ledger = join(text, as_file)
    assert [line.text for line in lines] == [RECORD, "INFO done", "timing_s/gen:5"]
    assert (ledger.read, ledger.clean) == (3, True)


def test_a_new_record_closes_the_old_one(as_file: AsFile) -> None:
    second = RECORD.replace("34", "35")
    text = "\n".join([*chunks(RECORD, 90), *chunks(second, 90)]) + "\n"
    assert [line.text for line in join(text, as_file)[0]] == [RECORD, second]


def test_a_record_is_not_awaited_for_ever(as_file: AsFile) -> None:
    head, rest = RECORD[:50], RECORD[50:]
    near = "(A pid=1) " + head + "\n" + "(B pid=2) INFO x\n" * (PATIENCE // 2) + "(A pid=1) " + rest + "\n"
    far = "(A pid=1) " + head + "\n" + "(B pid=2) INFO x\n" * (2 * PATIENCE) + "(A pid=1) " + rest + "\n"
    assert RECORD in [line.text for line in join(near, as_file)[0]]
    assert head in [line.text for line in join(far, as_file)[0]]


def test_a_record_does_not_swallow_the_log(as_file: AsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wraps, "MOST_PARTS", 5)
    lines, ledger = join(RECORD + "\n" + "x\n" * 20, as_file)
    assert [line.text for line in lines] == [RECORD + "xxxxx", *["x"] * 15]
    assert (ledger.read, ledger.repaired) == (15, 6)


def test_order_is_that_of_beginnings(as_file: AsFile) -> None:
    text = (
        "(B pid=2) INFO 1\n(A pid=1) "
        + RECORD[:50]
        + "\n(B pid=2) INFO 2\n(A pid=1) "
        + RECORD[50:]
        + "\nINFO 3\n"
    )
    assert [line.text for line in join(text, as_file)[0]] == ["INFO 1", RECORD, "INFO 2", "INFO 3"]


def test_the_cut_tail_shows(as_file: AsFile) -> None:
    (line,) = join(RECORD[:50] + "\n" + RECORD[50:90], as_file)[0]
    assert (line.complete, line.lines, line.text) == (False, 2, RECORD[:90])


def test_lines_that_were_repaired_already_are_not_counted_twice(as_file: AsFile) -> None:
    data = RECORD[:50].encode() + b"\n\0" + RECORD[50:].encode() + b"\n"
    ledger = Ledger()
    file = as_file(data, kind="text")
    (line,) = rejoin(read_console(file, ledger), starts, continues, ledger=ledger, name="x")
    assert line.text == RECORD
    assert (ledger.read, ledger.repaired) == (0, 2)


@pytest.mark.parametrize(
    ("left", "right", "whole"),
    [
        ("a:1 -", "b:2", "a:1 - b:2"),
        ("a:1", "- b:2", "a:1 - b:2"),
        ("a:1 ", "- b:2", "a:1 - b:2"),
        ("a:1 - ", "b:2", "a:1 - b:2"),
        ("a:1 -", " b:2", "a:1 - b:2"),
        ("a:-", "1.5", "a:-1.5"),
        ("a:", "-", "a:-"),
        ("a:1e", "-05", "a:1e-05"),
        ("a:1e-", "05", "a:1e-05"),
        ("val", "-core/x:1", "val-core/x:1"),
        ("a:0.", "5", "a:0.5"),
        ("{'a': 1,", "'b': 2}", "{'a': 1,'b': 2}"),
    ],
)
def test_seams(left: str, right: str, whole: str) -> None:
    assert seam(left, right) == whole


def test_without_predicates_that_match_nothing_changes(as_file: AsFile) -> None:
    text = "a\n\n(B pid=2) b\nc\n"
    ledger = Ledger()
    plain = list(read_console(as_file(text.encode(), kind="text"), ledger))
    assert list(rejoin(plain, lambda _: False, lambda _: True, ledger=ledger)) == plain
    assert ledger.clean
