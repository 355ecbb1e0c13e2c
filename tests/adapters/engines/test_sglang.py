"""Every variant of SGLang's lines, and requests that it writes one by one."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from engine_logs import read, write

from rollprof.adapters import registry
from rollprof.adapters.base import Dropped, MapperContext

T0 = datetime(2026, 3, 2, 14, 44, 10, tzinfo=UTC).timestamp()
TAIL = "cuda graph: True, gen throughput (token/s): 78.20, #queue-req: 3"

VARIANTS = {
    "2024": f"[2026-03-02 14:44:10 TP0] Decode batch. #running-req: 8, #token: 62, token usage: 0.12, {TAIL}",
    "time only": f"[14:44:10 TP0] Decode batch. #running-req: 8, #token: 62, token usage: 0.12, {TAIL}",
    "numbered": "[2026-03-02 14:44:10] Decode batch [51341], #running-req: 8, #token: 1, token usage: 0.12, "
    f"{TAIL},",
    "speculative": "[2026-03-02 14:44:10 TP0] Decode batch. #running-req: 8, #token: 7, token usage: 0.12, "
    f"accept len: 2.54, {TAIL}, ",
    "disaggregated": "[2026-03-02 14:44:10 TP0] Decode batch, #running-req: 8, #token: 33, "
    f"token usage: 0.12, pre-allocated usage: 0.00, #prealloc-req: 0, #transfer-req: 0, "
    f"#retracted-req: 0, {TAIL}",
    "hybrid": "[2026-03-02 14:44:10] Decode batch, #running-req: 8, #full token: 1112, "
    f"full token usage: 0.12, mamba num: 4, mamba usage: 0.11, {TAIL}",
    "Ray": "(SGLangEngine pid=11, ip=10.0.0.4) [2026-03-02 14:44:10 TP0] Decode batch [3], #running-req: 8, "
    f"#token: 43, token usage: 0.12, {TAIL},",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_gives_the_same_sample(tmp_path: Path, variant: str) -> None:
    part, ledger = read(write(tmp_path / "s.log", [VARIANTS[variant]], written=T0 + 5), "sglang")
    assert part.engines == [(T0, "0", 8.0, 3.0, None, 78.2, 0.12)]
    assert part.hints["engine.silent_when_idle"] == "1"
    assert ledger.skipped == 0


def test_replicas_are_engines_and_a_prefill_is_a_sample(tmp_path: Path) -> None:
    lines = [
        "[2026-03-02 14:44:10 DP6 TP6 EP6] Decode batch, #running-req: 8, #token: 1, token usage: 1.00, "
        f"{TAIL},",
        "[2026-03-02 14:44:11 DP1] Prefill batch, #new-seq: 2, #new-token: 2, #cached-token: 8027, "
        "token usage: 0.26, #running-req: 28, #queue-req: 1, #pending-token: 0, cuda graph: False, "
        "input throughput (token/s): 0.03",
    ]
    part, _ = read(write(tmp_path / "s.log", lines, written=T0 + 5), "sglang")
    assert [(s.engine, s.running, s.waiting, s.prompt_tokens_s) for s in part.engines] == [
        ("DP6", 8.0, 3.0, None),
        ("DP1", 30.0, 1.0, 0.03),
    ]


def test_a_log_of_times_alone_runs_on_past_midnight(tmp_path: Path) -> None:
    line = "[{} TP0] Decode batch. #running-req: 8, #token: 62, token usage: 0.12, " + TAIL
    midnight = datetime(2026, 3, 3, tzinfo=UTC).timestamp()
    lines = [line.format("23:59:58"), line.format("00:00:03")]
    part, _ = read(write(tmp_path / "s.log", lines, written=midnight + 10), "sglang")
    assert [s.time - midnight for s in part.engines] == [-2, 3]


def test_a_line_cut_short_is_skipped(tmp_path: Path) -> None:
    lines = [VARIANTS["2024"], VARIANTS["2024"][:90]]
    part, ledger = read(write(tmp_path / "s.log", lines, written=T0), "sglang")
    assert (len(part.engines), ledger.skipped) == (1, 1)


def test_the_public_lines(corpus: Path) -> None:
    from rollprof.sources.sniffing import sniff

    part, ledger = read(sniff(str(corpus / "other" / "sglang_variants.log"), "s.log"), "sglang")
    assert (len(part.engines), ledger.skipped) == (13, 0)


META = {
    "prompt_tokens": 5,
    "completion_tokens": 9,
    "finish_reason": {"type": "length", "length": 9},
    "e2e_latency": 2.5,
    "request_received_ts": T0,
    "queue_time": 0.5,
    "dp_rank": 1,
    "weight_versions": [{"version": "3", "start": 0, "end": 4}, {"version": "4", "start": 4, "end": 9}],
}


@pytest.mark.parametrize(
    "record",
    [
        {"request_parameters": "{}", **META},
        {"timestamp": "x", "event": "request.finished", "rid": "a", "obj": {}, "out": {"meta_info": META}},
    ],
)
def test_requests_become_rollouts(tmp_path: Path, record: dict[str, object]) -> None:
    file = write(tmp_path / "r.log", [json.dumps(record)] * 3)
    adapter = registry.load("sglang")
    claim = adapter.claim(file)
    assert claim is not None
    assert claim.role == "rollouts"
    mapper = adapter.mapper(MapperContext("r.log", "r", "train"))
    row = mapper(record)
    assert not isinstance(row, Dropped)
    found = dict(zip(mapper.columns, row, strict=True))
    assert found["finish_reason"] == "length"
    assert (found["started_at"], found["completed_at"], found["queue_s"]) == (T0, T0 + 2.5, 0.5)
    assert (found["policy_version_first"], found["policy_version_last"], found["engine"]) == (3, 4, "DP1")


REQUEST_LINES = {
    "Req Time Stats(rid=a, input len=5, output len=9, type=unified): queue_duration=250.00ms, "
    "forward_duration=1500.00ms, start_time=1772462650.123": {
        "sglang/request_prompt_tokens": 5.0,
        "sglang/request_output_tokens": 9.0,
        "sglang/request_queue_s": 0.25,
        "sglang/request_forward_s": 1.5,
    },
    "ReqTimeStats(rid=a, input_len=5, cached_input_len=2, output_len=9, attempts=1, type=unified): "
    "queue_duration=250.00ms, forward_duration=1500.00ms, entry_time=1772462650.123": {
        "sglang/request_prompt_tokens": 5.0,
        "sglang/request_output_tokens": 9.0,
        "sglang/request_queue_s": 0.25,
        "sglang/request_forward_s": 1.5,
    },
    "Finish: obj=GenerateReqInput(rid='a', text='completion_tokens: 77'), out={'text': 'Decode batch', "
    "'meta_info': {'id': 'a', 'prompt_tokens': 5, 'completion_tokens': 9, 'e2e_latency': 2.5}}": {
        "sglang/request_prompt_tokens": 5.0,
        "sglang/request_output_tokens": 9.0,
        "sglang/request_e2e_s": 2.5,
    },
}


@pytest.mark.parametrize("text", REQUEST_LINES)
def test_lines_of_single_requests_are_values_with_a_time(tmp_path: Path, text: str) -> None:
    lines = [VARIANTS["2024"], f"[2026-03-02 14:44:12 TP0] {text}", VARIANTS["2024"]]
    part, ledger = read(write(tmp_path / "s.log", lines, written=T0 + 60), "sglang")
    assert {r.key: r.value for r in part.metrics} == REQUEST_LINES[text]
    assert {r.time for r in part.metrics} == {T0 + 2}
    assert (len(part.engines), ledger.read, ledger.skipped) == (2, 3, 0)


def test_a_line_of_a_request_that_says_nothing_is_skipped_and_counted(tmp_path: Path) -> None:
    lines = [VARIANTS["2024"], "[2026-03-02 14:44:12] Finish: obj=GenerateReqInput(rid='a'"]
    part, ledger = read(write(tmp_path / "s.log", lines, written=T0 + 60), "sglang")
    assert (len(part.engines), ledger.read, ledger.skipped) == (1, 1, 1)
