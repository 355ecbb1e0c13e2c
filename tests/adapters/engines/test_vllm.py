"""Every era of vLLM's line of statistics, and logs that are not as they should be."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from engine_logs import read, stats, write

from rollprof.adapters import registry

T0 = datetime(2026, 5, 21, 21, 11, 56, tzinfo=UTC).timestamp()
HEAD = "Avg prompt throughput: 13.0 tokens/s, Avg generation throughput: 52.1 tokens/s, Running: 3 reqs, "

ERAS = {
    "V0 0.3": f"INFO 05-21 21:11:56 llm_engine.py:706] {HEAD}Swapped: 1 reqs, Pending: 4 reqs, "
    "GPU KV cache usage: 20.0%, CPU KV cache usage: 0.0%",
    "V0 0.8": f"INFO 05-21 21:11:56 [metrics.py:486] {HEAD}Swapped: 0 reqs, Pending: 5 reqs, "
    "GPU KV cache usage: 20.0%, CPU KV cache usage: 0.0%.",
    "V1 0.8": f"INFO 05-21 21:11:56 [loggers.py:80] {HEAD}Waiting: 5 reqs, GPU KV cache usage: 20.0%, "
    "Prefix cache hit rate: 80.0%",
    "V1": f"INFO 05-21 21:11:56 [loggers.py:127] Engine 000: {HEAD}Waiting: 5 reqs, KV cache usage: 20.0%",
    "now": f"(APIServer pid=1) INFO 05-21 21:11:56 [loggers.py:271] Engine 000: {HEAD}Waiting: 2 reqs, "
    "Deferred: 3 reqs, KV fetch: 1.2 ms, Preemptions: 2, GPU KV cache usage: 20.0%, "
    "Prefix cache hit rate: 80.0%, External prefix cache hit rate: 1.0%",
    "coloured": f"\x1b[36m(EngineCore pid=7)\x1b[0;0m INFO 05-21 21:11:56 [loggers.py:271] Engine 000: {HEAD}"
    "Waiting: 5 reqs, CPU KV cache usage: 20.0%",
    "Ray": "(vLLMHttpServer pid=9, ip=10.0.0.2) (APIServer pid=1) INFO 05-21 21:11:56 "
    f"[loggers.py:271] {HEAD}"
    "Waiting: 5 reqs, GPU KV cache usage: 20.0%",
}


@pytest.mark.parametrize("era", ERAS)
def test_every_era_gives_the_same_sample(tmp_path: Path, era: str) -> None:
    part, ledger = read(write(tmp_path / "s.log", [ERAS[era]], written=T0 + 5), "vllm")
    (sample,) = part.engines
    assert sample == (T0, "000", 3.0, 5.0, 13.0, 52.1, pytest.approx(0.2))
    assert (ledger.read, ledger.skipped) == (1, 0)


def test_what_has_no_column_is_a_metric(tmp_path: Path) -> None:
    part, _ = read(write(tmp_path / "s.log", [ERAS["now"]], written=T0), "vllm")
    assert {r.key: r.value for r in part.metrics} == {
        "vllm/preemptions": 2.0,
        "vllm/deferred": 3.0,
        "vllm/prefix_cache_hit_rate": pytest.approx(0.8),
    }


def test_the_year_turns_inside_the_log(tmp_path: Path) -> None:
    eve = datetime(2025, 12, 31, 23, 59, 55, tzinfo=UTC).timestamp()
    lines = [stats(eve + 10 * k, 5) for k in range(3)]
    part, _ = read(write(tmp_path / "s.log", lines, written=eve + 60), "vllm")
    assert [s.time - eve for s in part.engines] == [0, 10, 20]


def test_a_leap_day_is_a_day_of_a_leap_year(tmp_path: Path) -> None:
    line = "INFO 02-29 10:00:00 [loggers.py:80] " + HEAD + "Waiting: 5 reqs, GPU KV cache usage: 20.0%"
    part, _ = read(write(tmp_path / "s.log", [line], written=T0), "vllm")
    assert datetime.fromtimestamp(part.engines[0].time, UTC).year == 2024


def test_a_damaged_line_is_skipped_with_its_place(tmp_path: Path) -> None:
    good = stats(T0, 5)
    part, ledger = read(write(tmp_path / "s.log", [good, good[:120], "noise"], written=T0), "vllm")
    assert len(part.engines) == 1
    assert (ledger.read, ledger.skipped) == (2, 1)
    assert ledger.problems[0].offset == len(good) + 1


def test_two_servers_in_one_log_are_two_engines(tmp_path: Path) -> None:
    lines = [stats(T0 + 10 * k, k, prefix=f"(APIServer pid={p}) ") for k in range(3) for p in (11, 12)]
    part, _ = read(write(tmp_path / "s.log", lines, written=T0 + 60), "vllm")
    assert {s.engine for s in part.engines} == {"APIServer:11/000", "APIServer:12/000"}


def test_two_servers_under_one_name_are_said_not_added(tmp_path: Path) -> None:
    lines = [stats(T0 + 10 * k + d, k) for k in range(10) for d in (0, 3)]
    part, _ = read(write(tmp_path / "s.log", lines, written=T0 + 200), "vllm")
    assert part.hints["engine.names_shared"] == "000"


def test_steady_samples_of_one_server_are_not_two(tmp_path: Path) -> None:
    lines = [stats(T0 + int(10.3 * k), k) for k in range(30)]
    part, _ = read(write(tmp_path / "s.log", lines, written=T0 + 400), "vllm")
    assert "engine.names_shared" not in part.hints


def test_lines_that_ray_left_out_are_counted_and_stated(tmp_path: Path) -> None:
    lines = [
        stats(T0, 5, prefix="(Server pid=1) ") + " [repeated 7x across cluster]",
        stats(T0 + 5, 4, prefix="(Server pid=2) "),
    ]
    part, ledger = read(write(tmp_path / "s.log", lines, written=T0 + 60), "vllm")
    assert part.hints["engine.deduplicated"] == "7"
    assert {s.engine for s in part.engines} == {"any"}
    assert "RAY_DEDUP_LOGS=0" in ledger.problems[0].reason


def test_aggregated_lines_are_not_added_to_those_of_engines(tmp_path: Path) -> None:
    own = [stats(T0, n, engine=f"Engine {n:03d}: ") for n in (1, 2)]
    both = stats(T0, 3, engine="2 Engines Aggregated: ")
    part, _ = read(write(tmp_path / "a.log", [*own, both], written=T0), "vllm")
    assert [(s.engine, s.running) for s in part.engines] == [("001", 1.0), ("002", 2.0)]
    part, _ = read(write(tmp_path / "b.log", [both], written=T0), "vllm")
    assert [(s.engine, s.running) for s in part.engines] == [("all 2", 3.0)]
    assert part.config["engines"] == 2


def test_a_clock_that_is_set_back(tmp_path: Path) -> None:
    lines = [stats(T0 + t, 1) for t in (0, 10, 20, 5, 15, 25)]
    part, ledger = read(write(tmp_path / "s.log", lines, written=T0 + 60), "vllm")
    assert [s.time - T0 for s in part.engines] == [0, 10, 20, 25]
    assert "set back" in ledger.problems[0].reason
    assert "2 samples" in ledger.problems[0].reason


def test_stretches_in_the_wrong_order_lose_nothing(tmp_path: Path) -> None:
    lines = [stats(T0 + t, 1) for t in (100, 110, 0, 10)]
    part, _ = read(write(tmp_path / "s.log", lines, written=T0 + 200), "vllm")
    assert [s.time - T0 for s in part.engines] == [0, 10, 100, 110]


@pytest.mark.parametrize(
    "record",
    [
        {"timestamp": "2026-05-21T21:11:56.250Z", "level": "INFO", "message": None},
        {"ts": T0 + 0.25, "msg": None},
        {"log": None, "stream": "stdout", "time": "2026-05-21T23:11:56.250+02:00"},
        {"created": (T0 + 0.25) * 1000, "message": None},
    ],
)
def test_records_of_json_loggers(tmp_path: Path, record: dict[str, object]) -> None:
    key = next(k for k, v in record.items() if v is None)
    lines = [json.dumps({**record, key: f"Engine 000: {HEAD}Waiting: 5 reqs, GPU KV cache usage: 20.0%"})] * 2
    part, ledger = read(write(tmp_path / "s.jsonl", lines, written=T0), "vllm")
    assert part.engines[0].time == pytest.approx(T0 + 0.25, abs=1e-3)
    assert "engine.local_clock" not in part.hints
    assert ledger.skipped == 0


def test_iterations_of_a_second_are_one_sample_weighted_by_time(tmp_path: Path) -> None:
    def line(second: int, running: int, ms: float) -> str:
        return (
            f"INFO 05-21 21:11:{second} [loggers.py:300] Engine 000: Iteration(7): 0 context requests, "
            f"0 context tokens, {running} generation requests, {running} generation tokens, "
            f"iteration elapsed time: {ms:.2f} ms, GPU KV cache usage: 12.5%"
        )

    lines = [line(56, 10, 400), line(56, 4, 100), line(57, 4, 1000)]
    part, _ = read(write(tmp_path / "s.log", lines, written=T0), "vllm")
    # .4 s with 10 requests, .1 s with 4, half a second of nothing
    assert [s.running for s in part.engines] == [pytest.approx(4.4), pytest.approx(4.0)]
    assert [s.generation_tokens_s for s in part.engines] == [pytest.approx(14.0), pytest.approx(4.0)]


def test_facts_of_the_engine_itself(tmp_path: Path) -> None:
    lines = [
        "(EngineCore pid=3) INFO 05-21 21:11:00 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with "
        "config: model='m', tensor_parallel_size=2, pipeline_parallel_size=1",
        "(APIServer pid=1) INFO 05-21 21:10:59 [utils.py:1] non-default args: {'max_num_seqs': 32}",
        stats(T0, 1, prefix="(APIServer pid=1) "),
    ]
    part, _ = read(write(tmp_path / "s.log", lines, written=T0), "vllm")
    assert part.config == {"tensor_parallel_size": 2, "pipeline_parallel_size": 1, "max_num_seqs": 32}
    assert part.hints["engine.version"] == "0.32.0"


def test_prose_about_vllm_is_not_its_log(tmp_path: Path) -> None:
    file = write(tmp_path / "README.md", ["Look for `Avg prompt throughput: ` in the log."])
    assert registry.load("vllm").claim(file) is None


@pytest.mark.parametrize(
    ("name", "samples"),
    [
        ("vllm_v0_formats.log", 4),
        ("vllm_v1_dp2_nopidprefix.log", 2),
        ("vllm_v1_early_noengine_requestlog.log", 2),
        ("vllm_v1_idle_gap_specdec.log", 11),
    ],
)
def test_logs_found_in_public(corpus: Path, name: str, samples: int) -> None:
    from rollprof.sources.sniffing import sniff

    part, ledger = read(sniff(str(corpus / "other" / name), name), "vllm")
    assert len(part.engines) == samples
    assert ledger.skipped == 0


def test_values_without_a_column_name_their_engine_where_there_are_several(tmp_path: Path) -> None:
    lines = [
        stats(T0, 3, engine="Engine 000: ", more=", Preemptions: 2"),
        stats(T0, 3, engine="Engine 001: ", more=", Preemptions: 5"),
    ]
    part, _ = read(write(tmp_path / "s.log", lines, written=T0), "vllm")
    counts = {r.key: r.value for r in part.metrics if "preemptions" in r.key}
    assert counts == {"vllm/preemptions@000": 2.0, "vllm/preemptions@001": 5.0}


def test_files_of_rays_workers_name_their_actor_in_lines_of_their_own(tmp_path: Path) -> None:
    lines = [":job_id:01000000", ":actor_name:vLLMHttpServer", stats(T0, 3), stats(T0 + 10, 0)]
    part, ledger = read(write(tmp_path / "worker-ab12-01000000-77.out", lines, written=T0 + 60), "vllm")
    assert [(s.engine, s.running) for s in part.engines] == [("000", 3.0), ("000", 0.0)]
    assert (ledger.read, ledger.skipped) == (4, 0)
