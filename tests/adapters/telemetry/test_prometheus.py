"""Scrapes and answers to query_range: engines and GPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rollprof.adapters import registry
from rollprof.adapters.base import MetricPart
from rollprof.schema.ledger import Ledger
from rollprof.sources.sniffing import sniff

T0 = 1_796_000_000.0


def read(path: Path, text: str) -> tuple[MetricPart, Ledger]:
    path.write_text(text)
    file, adapter, ledger = sniff(str(path), path.name), registry.load("prometheus"), Ledger()
    claim = adapter.claim(file)
    assert claim is not None
    (part,) = adapter.read(file, claim, ledger)
    return part, ledger


def answer(*series: tuple[dict[str, str], list[tuple[float, str]]]) -> str:
    result = [{"metric": labels, "values": [list(v) for v in values]} for labels, values in series]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def test_ranges_of_an_engine_are_samples(tmp_path: Path) -> None:
    labels = {"model_name": "m", "engine": "0", "instance": "a:8000"}
    part, ledger = read(
        tmp_path / "range.json",
        answer(
            ({"__name__": "vllm:num_requests_running", **labels}, [(T0, "8"), (T0 + 15, "3")]),
            ({"__name__": "vllm:num_requests_waiting", **labels}, [(T0, "2"), (T0 + 15, "NaN")]),
            ({"__name__": "vllm:generation_tokens_total", **labels}, [(T0, "100"), (T0 + 15, "1600")]),
            ({"__name__": "vllm:num_preemptions_total", **labels}, [(T0, "1"), (T0 + 15, "4")]),
        ),
    )
    assert part.engines == [
        (T0, "a:8000/0", 8.0, 2.0, None, None, None),
        (T0 + 15, "a:8000/0", 3.0, None, None, 100.0, None),
    ]
    assert ("vllm/preemptions", 3.0) in {(r.key, r.value) for r in part.metrics}
    assert ledger.skipped == 0


def test_a_counter_that_starts_again_gives_no_rate(tmp_path: Path) -> None:
    labels = {"engine": "0"}
    part, _ = read(
        tmp_path / "range.json",
        answer(
            (
                {"__name__": "vllm:num_requests_running", **labels},
                [(T0, "1"), (T0 + 15, "1"), (T0 + 30, "1")],
            ),
            (
                {"__name__": "vllm:generation_tokens_total", **labels},
                [(T0, "900"), (T0 + 15, "10"), (T0 + 30, "160")],
            ),
        ),
    )
    assert [s.generation_tokens_s for s in part.engines] == [None, None, 10.0]


def test_ranges_of_gpus_are_samples(tmp_path: Path) -> None:
    labels = {"gpu": "1", "Hostname": "n1", "UUID": "GPU-1"}
    part, _ = read(
        tmp_path / "range.json",
        answer(
            ({"__name__": "DCGM_FI_DEV_GPU_UTIL", **labels}, [(T0, "99")]),
            ({"__name__": "DCGM_FI_PROF_GR_ENGINE_ACTIVE", **labels}, [(T0, "0.5")]),
            ({"__name__": "DCGM_FI_DEV_POWER_USAGE", **labels}, [(T0, "300")]),
        ),
    )
    assert part.gpus == [(T0, "n1", "1", 0.5, None, 300.0)]


def test_a_scrape_with_times_gives_samples_and_one_without_says_so(tmp_path: Path) -> None:
    text = '# TYPE sglang_num_running_reqs gauge\nsglang_num_running_reqs{worker_addr="http://a:1"} 42.0'
    part, ledger = read(tmp_path / "a.txt", f"{text} {int(T0 * 1000)}\n")
    assert [(s.time, s.engine, s.running) for s in part.engines] == [(T0, "http://a:1", 42.0)]
    part, ledger = read(tmp_path / "b.txt", f"{text}\n")
    assert part.engines == []
    assert [r.value for r in part.metrics] == [42.0]
    assert "without times" in ledger.problems[0].reason


def test_labels_may_hold_anything(tmp_path: Path) -> None:
    text = "# TYPE sglang:num_running_reqs gauge\n"
    text += 'sglang:num_running_reqs{worker_addr="a\\"},{b"} 1 1796000000000\nx y z\n'
    part, ledger = read(tmp_path / "a.txt", text)
    assert part.engines[0].engine == 'a"},{b'
    assert ledger.skipped == 1


@pytest.mark.parametrize(
    "name", ["dcgm_exporter_scrape.txt", "engine_metrics_direct.txt", "engine_metrics_router.txt"]
)
def test_scrapes_found_in_public(corpus: Path, name: str) -> None:
    file, adapter, ledger = sniff(str(corpus / "other" / name), name), registry.load("prometheus"), Ledger()
    claim = adapter.claim(file)
    assert claim is not None
    (part,) = adapter.read(file, claim, ledger)
    assert part.metrics
    assert ledger.skipped == 0
