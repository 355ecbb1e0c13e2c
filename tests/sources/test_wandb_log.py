"""wandb's and SwanLab's own logs, written byte by byte."""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import tracker_files as write

from rollprof.schema.ledger import Ledger
from rollprof.sources.console import read_console
from rollprof.sources.records import GpuSample
from rollprof.sources.sinks import ScalarRun, read_sink, sink_of
from rollprof.sources.sniffing import sniff

T = 1_790_000_000.0


def read(path: Path, ledger: Ledger | None = None) -> ScalarRun:
    (run,) = read_sink(sniff(str(path), path.name), ledger or Ledger())
    return run


def test_rows_of_history_keep_wandb_s_step_their_time_and_nested_keys(tmp_path: Path) -> None:
    path = write.wandb_log(
        tmp_path / "run-x1.wandb",
        write.run_record("x1", {"lr": 1e-6, "nested": {"a": 1}}),
        write.history(
            {"train/loss": 0.5, "a>b": 2, "flag": True, "_step": 0, "_timestamp": T, "_runtime": 1}
        ),
        write.history({"train/loss": b'"NaN"', "up": b"Infinity", "text": "hello", "_step": 1}),
    )
    ledger = Ledger()
    run = read(path, ledger)
    assert (run.run_id, run.name, run.own_steps, run.digits) == ("wandb:x1", "x1", True, "float64")
    assert run.config == {"lr": 1e-6, "nested": {"a": 1}}
    seen = [(r.step, r.key, r.value, r.time) for r in run.records]
    assert seen[:3] == [(0, "train/loss", 0.5, T), (0, "a.b", 2.0, T), (0, "flag", 1.0, T)]
    assert seen[3][:2] == (1, "train/loss")
    assert math.isnan(seen[3][2])
    assert seen[4] == (1, "up", math.inf, None)
    assert len(seen) == 5
    assert "1 values that are no numbers" in ledger.problems[0].reason


def test_the_parts_of_a_table_are_no_scalars(tmp_path: Path) -> None:
    table = {"t>_type": "table-file", "t>nrows": 8, "t>path": "media/x", "_step": 3}
    path = write.wandb_log(tmp_path / "w", write.history({**table, "train/global_step": 1, "tt": 2}))
    assert [r.key for r in read(path).records] == ["train/global_step", "tt"]


def test_secrets_of_the_settings_do_not_get_in(tmp_path: Path) -> None:
    config = {
        "hub_token": "abcdef",
        "use_wandb": "0123456789abcdef0123456789abcdef01234567",
        "n": 8,
        "hub": None,
    }
    run = read(write.wandb_log(tmp_path / "w", write.run_record("x", config)))
    assert run.config == {"n": 8, "hub": None}


def test_statistics_are_gpu_samples(tmp_path: Path) -> None:
    values = {"gpu.0.gpu": 87.5, "gpu.0.memoryAllocatedBytes": 2e9, "gpu.0.powerWatts": 300, "gpu.1.gpu": 0}
    path = write.wandb_log(
        tmp_path / "w",
        write.run_record("x", {}),
        write.stats(T + 0.5, {**values, "cpu": 3, "gpu.0.temp": 50}),
    )
    assert read(path).gpus == [
        GpuSample(T + 0.5, "node7", "0", 0.875, 2000.0, 300.0),
        GpuSample(T + 0.5, "node7", "1", 0.0, None, None),
    ]


def test_console_lines_are_put_together_and_have_times(tmp_path: Path) -> None:
    pieces = [
        (T, "first "),
        (T + 1, "line"),
        (T + 2, "\n"),
        (T + 3, "\x1b[36msecond\x1b[0m\nthird"),
        (T + 9, ""),
    ]
    path = write.wandb_log(tmp_path / "w", *(write.output_raw(t, p) for t, p in pieces))
    lines = list(read_console(sniff(str(path), "w"), Ledger()))
    assert [(line.text, line.time, line.complete) for line in lines] == [
        ("first line", T + 1, True),
        ("second", T + 3, True),
        ("third", T + 3, False),
    ]


def test_a_record_over_several_blocks_and_one_at_a_block_s_end(tmp_path: Path) -> None:
    long = write.history({"a": 1.0, "_step": 0, "text": "x" * 100_000})
    fill = [write.history({"b": float(i), "_step": i + 1}) for i in range(3000)]
    run = read(write.wandb_log(tmp_path / "w", long, *fill))
    assert [r.value for r in run.records] == [1.0, *map(float, range(3000))]


def test_a_torn_tail_loses_the_torn_row_alone(tmp_path: Path) -> None:
    rows = [write.history({"a": 1.0, "_step": 0}), write.history({"a": 2.0, "_step": 1, "t": "x" * 40_000})]
    whole = write.framed(rows)
    path = tmp_path / "w"
    for cut in (1, 5, 6000, 20_000, 40_000):
        path.write_bytes(whole[:-cut])
        ledger = Ledger()
        assert [r.step for r in read(path, ledger).records] == [0]
        assert ledger.skipped == 1


def test_a_wrong_checksum_skips_that_record(tmp_path: Path) -> None:
    data = bytearray(write.framed([write.history({"a": float(i), "_step": i}) for i in range(3)]))
    data[data.index(b"1.0")] = ord("7")
    (tmp_path / "w").write_bytes(data)
    ledger = Ledger()
    assert [r.step for r in read(tmp_path / "w", ledger).records] == [0, 2]
    assert "checksum" in ledger.problems[0].reason


def test_the_kind_and_the_keys_are_known_from_the_content(tmp_path: Path) -> None:
    path = write.wandb_log(tmp_path / "x.log", write.history({"critic/score/mean": 1.0, "_step": 0}))
    file = sniff(str(path), "x.log")
    assert (sink_of(file), file.columns) == ("wandb", ("critic/score/mean",))


def test_swanlab_has_other_messages_in_the_same_frame(tmp_path: Path) -> None:
    def scalar(step: int, value: float) -> bytes:
        inner = write.blob(1, "loss") + write.number(2, step) + write.number(3, 1)
        return write.blob(
            13, inner + write.blob(4, write.stamp(T + step)) + write.blob(5, write.double(1, value))
        )

    picture = write.blob(13, write.blob(1, "loss") + write.number(3, 4) + write.blob(5, b""))
    line = write.blob(16, write.blob(1, "hello") + write.blob(3, write.stamp(T)))
    identity = write.blob(10, write.blob(1, "project") + write.blob(10, "r9"))
    path = tmp_path / "run-r9.swanlab"
    path.write_bytes(
        write.framed([identity, scalar(1, 0.5), picture, line, scalar(2, 0.25)], b":SWL", 0xE1D6)
    )
    run = read(path)
    assert run.run_id == "swanlab:r9"
    assert [(r.step, r.key, r.value, r.time) for r in run.records] == [
        (1, "loss", 0.5, T + 1),
        (2, "loss", 0.25, T + 2),
    ]
    assert [x.text for x in read_console(sniff(str(path), "s"), Ledger())] == ["hello"]
