"""Datasets are written whole or not at all, and read by anybody."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollprof.errors import DatasetProblem, UsageProblem
from rollprof.schema.checks import validate
from rollprof.schema.ledger import Ledger
from rollprof.schema.store import Dataset, DatasetWriter, is_dataset, load
from rollprof.schema.tables import ENGINES, GPUS, METRICS, SEGMENTS, STEPS, TABLES

META = {"framework": "generic", "sources": []}


def batch(n: int = 4, **columns: object) -> pa.RecordBatch:
    base: dict[str, object] = {
        "step": pa.array([1] * n, pa.int64()),
        "split": pa.array(["train"] * n),
        "prompt_id": pa.array([2**64 - 1] * n, pa.uint64()),
        "response_tokens": pa.array(range(n), pa.int32()),
        "finish_reason": pa.array(["stop"] * n),
        "rewards": pa.array([[("acc", 1.0)]] * n, pa.map_(pa.string(), pa.float64())),
    }
    base.update(columns)
    return pa.RecordBatch.from_pydict(base)


def write(target: Path, *batches: pa.RecordBatch, force: bool = False, keep: bool = False) -> Dataset:
    with DatasetWriter(target, force=force, keep_text=keep) as writer:
        writer.spool(batches)
        writer.write_rollouts(META, lambda table: table)
        writer.write_rows(STEPS, META, [{"step": 1, "split": "train", "step_s": 2.5}])
        for table in (METRICS, SEGMENTS, ENGINES, GPUS):
            writer.write_rows(table, META, [])
        ledger = Ledger(read=4)
        ledger.skip("a.jsonl", 17, "half a line")
        return writer.commit(ledger)


def test_round_trip_keeps_rows_metadata_and_ledger(tmp_path: Path) -> None:
    dataset = write(tmp_path / "d", batch(), batch(3))
    assert dataset.meta == META
    assert dataset.ledger.problems[0].offset == 17
    frame = dataset.rollouts.collect()
    assert frame.height == 7
    assert frame["response_tokens"].to_list() == [0, 1, 2, 3, 0, 1, 2]
    assert frame["prompt_id"].to_list() == [2**64 - 1] * 7
    assert dataset.steps.collect()["step_s"].to_list() == [2.5]
    assert dataset.engines.collect().is_empty()
    validate(dataset)
    assert (tmp_path / "d" / ".gitignore").read_text() == "*\n"


def test_every_file_carries_version_and_run(tmp_path: Path) -> None:
    write(tmp_path / "d", batch())
    for table in TABLES:
        metadata = pq.read_schema(tmp_path / "d" / table.filename).metadata
        assert metadata[b"rollprof.schema_version"] == b"1"
        assert json.loads(metadata[b"rollprof.run"]) == META


def test_duckdb_and_pandas_read_it_without_us(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pandas = pytest.importorskip("pandas")
    write(tmp_path / "d", batch())
    file = tmp_path / "d" / "rollouts.parquet"
    row = duckdb.sql(f"select count(*), max(finish_reason) from read_parquet('{file}')").fetchall()
    assert row == [(4, "stop")]
    assert list(pandas.read_parquet(file)["split"]) == ["train"] * 4


def test_nothing_is_left_when_writing_fails(tmp_path: Path) -> None:
    def fails() -> None:
        with DatasetWriter(tmp_path / "d") as writer:
            writer.spool([batch()])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    assert list(tmp_path.iterdir()) == []


def test_replacing_a_dataset_is_one_move(tmp_path: Path) -> None:
    write(tmp_path / "d", batch(2))
    again = write(tmp_path / "d", batch(5))
    assert again.rollouts.collect().height == 5
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


def test_other_directories_are_refused_without_force(tmp_path: Path) -> None:
    target = tmp_path / "d"
    target.mkdir()
    (target / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageProblem, match="something else"):
        write(target, batch())
    assert (target / "thesis.tex").exists()
    write(target, batch(), force=True)
    assert is_dataset(target)


def test_force_does_not_remove_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "precious").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageProblem, match="not replaced"):
        write(Path(), batch(), force=True)
    assert (tmp_path / "precious").exists()


def test_a_newer_schema_says_so(tmp_path: Path) -> None:
    write(tmp_path / "d", batch())
    file = tmp_path / "d" / "steps.parquet"
    table = pq.read_table(file)
    metadata = {**table.schema.metadata, b"rollprof.schema_version": b"9"}
    pq.write_table(table.replace_schema_metadata(metadata), file)
    with pytest.raises(DatasetProblem, match=r"schema version 9.*reads up to 1"):
        load(tmp_path / "d")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda d: (d / "gpus.parquet").unlink(), "lacks gpus.parquet"),
        (lambda d: (d / "steps.parquet").write_bytes(b"PAR1 no"), "cannot be read"),
        (lambda d: pq.write_table(pa.table({"x": [1]}), d / "steps.parquet"), "no rollprof.schema_version"),
    ],
)
def test_a_damaged_dataset_is_one_clear_line(tmp_path: Path, damage: object, says: str) -> None:
    write(tmp_path / "d", batch())
    damage(tmp_path / "d")  # type: ignore[operator]
    with pytest.raises(DatasetProblem, match=says) as caught:
        load(tmp_path / "d")
    assert "\n" not in caught.value.message


def test_no_dataset_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(DatasetProblem, match="not a rollprof dataset"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"finish_reason": pa.array(["stop", "weird", "stop", "stop"])}, "weird"),
        ({"response_tokens": pa.array([1, 2, -3, 4], pa.int32())}, r"negative response_tokens \(row 2\)"),
        (
            {
                "started_at": pa.array([1.0, 2.0, 3.0, None]),
                "completed_at": pa.array([2.0, 1.0, 4.0, 5.0]),
            },
            r"completed before it started \(row 1\)",
        ),
    ],
)
def test_broken_invariants_name_the_row(tmp_path: Path, columns: dict[str, object], says: str) -> None:
    with pytest.raises(DatasetProblem, match=says):
        validate(write(tmp_path / "d", batch(**columns)))


def test_a_step_that_appears_twice_is_an_error(tmp_path: Path) -> None:
    with DatasetWriter(tmp_path / "d") as writer:
        writer.write_rollouts(META, lambda table: table)
        writer.write_rows(STEPS, META, [{"step": 3, "split": "train"}] * 2)
        for table in (METRICS, SEGMENTS, ENGINES, GPUS):
            writer.write_rows(table, META, [])
        dataset = writer.commit(Ledger())
    with pytest.raises(DatasetProblem, match=r"step 3 \(train\) appears twice"):
        validate(dataset)


def test_text_is_kept_only_when_asked(tmp_path: Path) -> None:
    texts = {"prompt": pa.array(["p"] * 4), "response": pa.array(["r"] * 4)}
    assert "prompt" not in write(tmp_path / "a", batch(**texts)).rollouts.collect_schema().names()
    kept = write(tmp_path / "b", batch(**texts), keep=True)
    assert kept.rollouts.collect()["response"].to_list() == ["r"] * 4
