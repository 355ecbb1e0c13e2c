from __future__ import annotations

import json
import pickle

from rollprof.schema.ledger import MAX_PROBLEMS, Ledger


def test_lines_are_counted_once_and_merge() -> None:
    a, b = Ledger(), Ledger()
    a.ok(3)
    a.repair("x", 10, "BOM")
    b.skip("x", 20, "half a line")
    b.note("y", 0, "not read")
    a.merge(pickle.loads(pickle.dumps(b)))
    assert (a.read, a.repaired, a.skipped, a.lines, a.notes) == (3, 1, 1, 5, 1)
    assert [p.offset for p in a.problems] == [10, 20, 0]
    assert not a.clean
    assert Ledger(read=7).clean


def test_one_rotten_file_does_not_hide_the_next() -> None:
    ledger = Ledger()
    for i in range(MAX_PROBLEMS + 50):
        ledger.skip("rotten", i, "x")
    ledger.skip("good", 1, "one bad line")
    assert ledger.skipped == MAX_PROBLEMS + 51
    assert ledger.unlisted == 50
    assert ledger.problems[-1].file == "good"


def test_json_round_trip_is_sorted() -> None:
    ledger = Ledger(read=2)
    ledger.skip("b", 5, "later")
    ledger.skip("a", 9, "first")
    data = json.loads(json.dumps(ledger.as_dict()))
    assert [p["file"] for p in data["problems"]] == ["a", "b"]
    assert Ledger.from_dict(data).as_dict() == data


def test_how_things_were_read_is_no_blemish() -> None:
    ledger = Ledger(read=3)
    ledger.inform("console.log", 0, "its values stand in metrics.jsonl too")
    assert ledger.clean
    assert [p.kind for p in ledger.problems] == ["info"]
    assert Ledger.from_dict(ledger.as_dict()).clean
