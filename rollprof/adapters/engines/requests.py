"""Requests that SGLang writes one by one, as rollouts: `--export-metrics-to-file`, `--log-requests` as
JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollprof.adapters.base import Claim, Dropped, MapperContext, Row
from rollprof.sources.records import SniffedFile

COLUMNS = (
    "prompt_tokens",
    "response_tokens",
    "generated_tokens",
    "finish_reason",
    "started_at",
    "completed_at",
    "queue_s",
    "generate_s",
    "engine",
    "policy_version_first",
    "policy_version_last",
)
FINISHED = "request.finished"
RECEIVED = "request.received"
REASONS = {"stop": "stop", "length": "length", "abort": "abort"}


def claim_requests(file: SniffedFile, adapter: str) -> Claim | None:
    """A claim on a file whose records are requests."""
    if file.kind != "json_lines" or not file.objects:
        return None
    requests = [o for o in file.objects if _meta(o) is not None or o.get("event") == RECEIVED]
    if 2 * len(requests) <= len(file.objects):
        return None
    return Claim(adapter, "rollouts", 0.9, "requests that SGLang wrote one by one", series=file.name)


class RequestMapper:
    """One finished request -> one row. The step that a request was made for is not known to an engine."""

    columns = COLUMNS

    def __init__(self, context: MapperContext) -> None:
        self._name = context.name

    def __call__(self, record: dict[str, Any]) -> Row | Dropped:
        meta = _meta(record)
        if meta is None:
            return Dropped("a request when it came in, not when it ended")
        tokens = meta.get("completion_tokens")
        if not isinstance(tokens, int):
            raise ValueError("no completion_tokens")  # noqa: TRY004 - the mapper's contract
        start, end = _times(meta)
        versions = _versions(meta)
        reason = meta.get("finish_reason")
        kind = reason.get("type") if isinstance(reason, Mapping) else reason
        replica = meta.get("dp_rank")
        return (
            meta.get("prompt_tokens"),
            tokens,
            tokens,
            REASONS.get(str(kind), "unknown"),
            start,
            end,
            _seconds(meta.get("queue_time")),
            _seconds(meta.get("e2e_latency")),
            None if replica is None else f"DP{replica}",
            *versions,
        )


def _meta(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What SGLang knows of a finished request; None for any other record."""
    out = record.get("out")
    inner = out.get("meta_info") if isinstance(out, Mapping) else None
    if isinstance(inner, Mapping) and record.get("event") == FINISHED:
        return inner
    return record if "request_parameters" in record and "completion_tokens" in record else None


def _times(meta: Mapping[str, Any]) -> tuple[float | None, float | None]:
    start = _seconds(meta.get("request_received_ts"))
    ends = (meta.get(k) for k in ("request_finished_ts", "decode_finished_ts", "response_sent_to_client_ts"))
    end = next((s for e in ends if (s := _seconds(e)) is not None), None)
    took = _seconds(meta.get("e2e_latency"))
    if end is None and start is not None and took is not None:
        end = start + took
    return start, end


def _versions(meta: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Versions of the weights that produced the first and the last token: spans since 0.5.23, else one."""
    spans = meta.get("weight_versions")
    if isinstance(spans, list) and spans and all(isinstance(s, Mapping) for s in spans):
        return _version(spans[0].get("version")), _version(spans[-1].get("version"))
    own = _version(meta.get("weight_version"))
    return own, own


def _version(value: Any) -> int | None:
    text = str(value)
    return int(text) if text.isdigit() else None


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return float(value)
