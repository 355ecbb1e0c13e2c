"""Gauges of vLLM, SGLang and DCGM as Prometheus keeps them: samples of engines and of GPUs.

A single scrape has no time: it says what was at one moment, not when. `query_range` has times in UTC.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rollprof.adapters.base import (
    Brings,
    Claim,
    Evidence,
    Fact,
    Interpretation,
    MapperContext,
    MetricPart,
    RowMapper,
)
from rollprof.adapters.engines.collecting import SAMPLES
from rollprof.schema.ledger import Ledger
from rollprof.sources.prometheus import TEXT, Point, form_of, read_range, read_scrapes
from rollprof.sources.records import EngineSample, GpuSample, MetricRecord, SniffedFile

NAME = "prometheus"


class Meaning(NamedTuple):
    """`field` of a sample that a metric is, times `unit`; `rate`: it counts, and its increase per second
    is."""

    field: str
    unit: float = 1.0
    rate: bool = False


ENGINES: Mapping[str, Meaning] = {
    "vllm:num_requests_running": Meaning("running"),
    "vllm:num_requests_waiting": Meaning("waiting"),
    "vllm:kv_cache_usage_perc": Meaning("kv"),
    "vllm:gpu_cache_usage_perc": Meaning("kv"),
    "vllm:generation_tokens_total": Meaning("generation", rate=True),
    "vllm:prompt_tokens_total": Meaning("prompt", rate=True),
    "sglang:num_running_reqs": Meaning("running"),
    "sglang:num_queue_reqs": Meaning("waiting"),
    "sglang:gen_throughput": Meaning("generation"),
    "sglang:token_usage": Meaning("kv"),
}
GPUS: Mapping[str, Meaning] = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": Meaning("active"),
    "DCGM_FI_DEV_GPU_UTIL": Meaning("utilization", 0.01),
    "DCGM_FI_DEV_FB_USED": Meaning("memory", 1.048576),
    "DCGM_FI_DEV_POWER_USAGE": Meaning("power"),
}
PREEMPTIONS = {"vllm:num_preemptions_total": "vllm/preemptions", "vllm:num_preemptions": "vllm/preemptions"}
ENGINE_LABELS = ("worker_addr", "instance", "pod", "engine", "dp_rank")
NODE_LABELS = ("Hostname", "node", "instance")
GPU_LABELS = ("gpu", "device", "UUID")

Key = tuple[str, ...]


class PrometheusAdapter:
    """Prometheus: scrapes, and answers to query_range"""

    name = NAME
    title = "metrics of engines and GPUs from Prometheus"
    brings: Mapping[str, Brings] = {}

    def claim(self, file: SniffedFile) -> Claim | None:
        form = form_of(file)
        if form is None:
            return None
        if not any(name in file.head for name in _MARKS):
            return None
        what = "a scrape" if form == TEXT else "an answer of query_range"
        return Claim(
            NAME, "metrics", 0.85, f"{what} of Prometheus (engines, GPUs)", hints={SAMPLES: "1", "form": form}
        )

    def mapper(self, context: MapperContext) -> RowMapper:
        raise NotImplementedError(f"{context.name}: metrics of Prometheus hold no rollouts")

    def read(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        part = MetricPart(file, claim, hints=dict(claim.hints), precision="exact")
        points = read_scrapes(file, ledger) if claim.hints["form"] == TEXT else read_range(file, ledger)
        _fill(part, points, ledger)
        return [part]

    def interpret(self, evidence: Evidence) -> Interpretation:
        name = evidence.hints.get("engine.name")
        facts = {"engine_name": Fact(name, "logged", f"metrics of {name}")} if name else {}
        return Interpretation(steps=[], facts=facts)


_MARKS = (
    b"vllm:num_requests_",
    b"vllm:generation_tokens",
    b"sglang:",
    b"sglang_",
    b"DCGM_FI_",
    b"vllm:kv_cache",
)


def _fill(part: MetricPart, points: Iterable[Point], ledger: Ledger) -> None:
    """Samples of the points that mean something here; all with a time are kept as metrics."""
    engines: dict[tuple[float, Key], dict[str, float]] = defaultdict(dict)
    gpus: dict[tuple[float, Key], dict[str, float]] = defaultdict(dict)
    counted: dict[tuple[str, Key], tuple[float, float]] = {}
    timeless = 0
    for p in points:
        name = p.name.replace("sglang_", "sglang:", 1) if p.name.startswith("sglang_") else p.name
        meaning = ENGINES.get(name) or GPUS.get(name)
        if p.time is None or not math.isfinite(p.value):
            timeless += meaning is not None
            part.metrics.append(MetricRecord(None, _full(p), p.value, p.time, p.offset))
            continue
        part.metrics.append(MetricRecord(None, _full(p), p.value, p.time, p.offset))
        if name in ENGINES and meaning is not None:
            part.hints["engine.name"] = name.partition(":")[0]
            key = tuple(p.labels[n] for n in ENGINE_LABELS if n in p.labels)
            value = _increase(counted, (name, key), p) if meaning.rate else p.value
            if value is not None:
                engines[p.time, key][meaning.field] = value * meaning.unit
        elif meaning is not None:
            key = (_first(p.labels, NODE_LABELS), _first(p.labels, GPU_LABELS))
            gpus[p.time, key][meaning.field] = p.value * meaning.unit
        elif name in PREEMPTIONS:
            key = tuple(p.labels[n] for n in ENGINE_LABELS if n in p.labels)
            more = _increase(counted, (name, key), p, per_second=False)
            if more:
                part.metrics.append(MetricRecord(None, PREEMPTIONS[name], more, p.time, p.offset))
    if timeless:
        ledger.note(
            part.file.name,
            0,
            f"a scrape without times: {timeless} values of one moment, which no step can be told for "
            "(query_range has times)",
        )
    part.engines = [
        EngineSample(
            time,
            "/".join(key) or "0",
            *(v.get(f) for f in ("running", "waiting", "prompt", "generation", "kv")),
        )
        for (time, key), v in sorted(engines.items())
        if "running" in v
    ]
    part.gpus = [
        GpuSample(time, node, gpu, v.get("active", v.get("utilization")), v.get("memory"), v.get("power"))
        for (time, (node, gpu)), v in sorted(gpus.items())
    ]


def _increase(
    counted: dict[tuple[str, Key], tuple[float, float]],
    series: tuple[str, Key],
    p: Point,
    *,
    per_second: bool = True,
) -> float | None:
    """How much a counter grew since its last point (per second); None for the first one, and at a restart."""
    assert p.time is not None
    before = counted.get(series)
    counted[series] = (p.time, p.value)
    if before is None or p.time <= before[0] or p.value < before[1]:
        return None
    return (p.value - before[1]) / ((p.time - before[0]) if per_second else 1.0)


def _full(p: Point) -> str:
    shown = ",".join(
        f"{k}={v}" for k, v in sorted(p.labels.items()) if k in (*ENGINE_LABELS, *NODE_LABELS, *GPU_LABELS)
    )
    return f"{p.name}{{{shown}}}" if shown else p.name


def _first(labels: Mapping[str, str], names: Iterable[str]) -> str:
    return next((labels[n] for n in names if n in labels), "")


ADAPTER = PrometheusAdapter()
