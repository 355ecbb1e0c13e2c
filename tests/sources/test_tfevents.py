"""TensorBoard's event files, written byte by byte."""

from __future__ import annotations

import math
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
import tracker_files as write

from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.sinks import ScalarRun, read_sink, sink_of
from rollprof.sources.sniffing import sniff


def read(path: Path, ledger: Ledger | None = None) -> ScalarRun:
    (run,) = read_sink(sniff(str(path), path.name), ledger or Ledger())
    return run


def test_scalars_come_with_step_value_and_time(tmp_path: Path) -> None:
    path = write.events(
        tmp_path / "e",
        write.event(100.25, None, write.scalar("a/b", 1.5)),
        write.event(101.5, 300, write.scalar("a/b", 0.1)),
        write.event(102.5, 301, write.scalar("x", -2.0), write.scalar("y", math.nan)),
    )
    run = read(path)
    assert [(r.step, r.key, r.time) for r in run.records] == [
        (0, "a/b", 100.25),
        (300, "a/b", 101.5),
        (301, "x", 102.5),
        (301, "y", 102.5),
    ]
    assert [r.value for r in run.records[:3]] == [1.5, struct.unpack("<f", struct.pack("<f", 0.1))[0], -2.0]
    assert math.isnan(run.records[3].value)
    assert run.digits == "float32"
    assert run.records[2].offset == run.records[3].offset != run.records[1].offset


def test_a_scalar_in_a_tensor_is_a_scalar_and_other_tensors_are_not(tmp_path: Path) -> None:
    doubles = write.blob(1, "d") + write.blob(8, write.number(1, 2) + write.double(6, 0.1))
    integers = write.blob(1, "i") + write.blob(8, write.number(1, 9) + write.number(10, -3))
    several = write.blob(1, "s") + write.blob(8, write.number(1, 1) + write.blob(5, struct.pack("<2f", 1, 2)))
    histogram = write.blob(1, "h") + write.blob(5, b"\x09" + struct.pack("<d", 1.0))
    path = write.events(
        tmp_path / "e",
        write.event(1e9, 4, write.tensor_scalar("loss", 2.5), doubles, integers, several, histogram),
    )
    assert [(r.step, r.key, r.value) for r in read(path).records] == [
        (4, "loss", 2.5),
        (4, "d", 0.1),
        (4, "i", -3.0),
    ]


def test_a_long_tag_and_a_tag_that_holds_the_mark_of_a_value(tmp_path: Path) -> None:
    tags = ["t" * 200, "a\x15bcdef", "é/µ"]
    path = write.events(tmp_path / "e", *(write.event(1.0, 1, write.scalar(t, 2.0)) for t in tags))
    assert [r.key for r in read(path).records] == tags


def test_text_is_settings_where_it_is_a_json_object_and_holds_no_secrets(tmp_path: Path) -> None:
    path = write.events(
        tmp_path / "e",
        write.event(1.0, 0, write.text("args/text_summary", '{"num_generations": 8, "hub_token": "abc"}')),
        write.event(1.0, 0, write.text("samples/text_summary", "a response of somebody")),
        write.event(1.0, 0, write.text("broken/text_summary", '{"a": ')),
    )
    run = read(path)
    assert run.config == {"args/text_summary": {"num_generations": 8}}
    assert run.records == []


def test_a_torn_tail_loses_the_torn_event_alone_and_is_said(tmp_path: Path) -> None:
    first = write.event(1.0, 1, write.scalar("a", 1.0))
    last = write.event(2.0, 2, write.scalar("a", 2.0))
    whole = write.events(tmp_path / "e", first, last).read_bytes()
    for cut in range(1, len(last) + 1):
        (tmp_path / "e").write_bytes(whole[:-cut])
        ledger = Ledger()
        assert [r.step for r in read(tmp_path / "e", ledger).records] == [1]
        assert ledger.skipped == (cut < len(last))


def test_damage_in_the_middle_ends_the_file_with_a_word(tmp_path: Path) -> None:
    path = write.events(tmp_path / "e", write.event(1.0, 1, write.scalar("a", 1.0)))
    path.write_bytes(path.read_bytes() + b"\xff" * 64 + write.event(2.0, 2, write.scalar("a", 2.0)))
    ledger = Ledger()
    assert len(read(path, ledger).records) == 1
    assert "damaged from here on" in ledger.problems[0].reason


def test_files_of_one_folder_are_one_run_and_its_id_names_no_path(tmp_path: Path) -> None:
    log = {1: {"a": 1.0}}
    one, two = (read(write.event_log(tmp_path / "runs" / n, log)) for n in ("e.0", "e.1"))
    other = read(write.event_log(tmp_path / "more" / "runs" / "e", log))
    assert one.run_id == two.run_id != other.run_id
    assert str(tmp_path) not in one.run_id


def test_the_kind_and_the_keys_are_known_from_the_content(tmp_path: Path) -> None:
    path = write.event_log(tmp_path / "no_telling_name", {s: {"a": 1.0, "b/c": 2.0} for s in (1, 2)})
    file = sniff(str(path), "x")
    assert sink_of(file) == "tfevents"
    assert file.columns == ("a", "b/c")
    assert sink_of(SniffedFile("p", "n", 1, "binary")) is None


@given(st.binary(max_size=300), st.integers(0, 400))
def test_no_bytes_make_it_fail(tmp_path_factory: pytest.TempPathFactory, junk: bytes, cut: int) -> None:
    path = tmp_path_factory.mktemp("x") / "e"
    write.events(path, write.event(1.0, 1, write.scalar("a", 1.0), write.tensor_scalar("b", 2.0)))
    good = path.read_bytes()
    path.write_bytes(good[:40] + write.tf_record(junk) + junk + good[min(cut, len(good)) :])
    file = sniff(str(path), "e")
    if sink_of(file):
        read_sink(file, Ledger())
