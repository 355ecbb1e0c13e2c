"""From a server's log alone against the requests' own clock; engines beside each other; runs joined."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from rollprof import api
from rollprof.analyzers.results import Analysis
from rollprof.errors import InputProblem
from rollprof.model.clock import clock_idle
from rollprof.render.terminal import render

WIDE, QUEUE = "wide_256", "queue_32slots"
CLOCK = {WIDE: [0.672, 0.817, 0.570, 0.726, 0.646], QUEUE: [0.194, 0.453, 0.525, 0.395]}


def analysed(tmp_path: Path, *paths: Path, **config: str) -> Analysis:
    options = api.OpenOptions(config=config, output=str(tmp_path / "dataset"), reuse=False)
    return api.analyze(api.open_run([str(p) for p in paths], options=options))


def server_log(corpus: Path, name: str) -> Path:
    return corpus / "engine" / "vllm_0.32_cpu" / f"{name}_server.log"


@pytest.mark.parametrize(
    ("name", "config"),
    [(WIDE, {}), (QUEUE, {"max_num_seqs": "32"}), (QUEUE, {})],
    ids=["wide", "queue", "unknown"],
)
def test_the_log_alone_agrees_with_the_requests(
    corpus: Path, tmp_path: Path, name: str, config: dict[str, str]
) -> None:
    a = analysed(tmp_path, server_log(corpus, name), **config)
    assert [s.step for s in a.steps] == list(range(1, len(CLOCK[name]) + 1))
    for s, truth in zip(a.steps, CLOCK[name], strict=True):
        slot = s.figures["slot_idle"]
        assert slot.value is not None
        assert slot.interval is not None
        assert slot.basis == "measured"
        assert s.columns["inferred"] == 1.0
        assert abs(slot.value - truth) <= max(0.03, 0.5 / s.columns["generate_s"])
        assert slot.interval[0] <= truth <= slot.interval[1]
    assert (a.run.framework, a.run.framework_version, a.run.engines) == ("vllm", "0.32.0", 1.0)
    assert a.samples is not None
    assert len(a.samples.windows) == len(a.steps)


@pytest.mark.parametrize(("name", "config"), [(WIDE, {}), (QUEUE, {"max_num_seqs": "32"})])
def test_windows_begin_and_end_with_the_requests(
    corpus: Path, tmp_path: Path, name: str, config: dict[str, str]
) -> None:
    a = analysed(tmp_path, server_log(corpus, name), **config)
    assert a.samples is not None
    assert a.samples.inferred
    for (start, end, _), truth in zip(a.samples.windows, truths(corpus, name).values(), strict=True):
        assert abs((end - start) - (truth[1] - truth[0])) <= 1.01, "no longer or shorter than a sample"
        assert abs(start - truth[0]) <= 1.01
        assert abs(end - truth[1]) <= 1.01


def test_samples_too_seldom_are_refused_with_the_reason(corpus: Path, tmp_path: Path) -> None:
    log = thinned(server_log(corpus, WIDE), 10, 0, tmp_path / "seldom.log")
    a = analysed(tmp_path, log)
    assert a.samples is not None
    seldom = [step for step, why in a.samples.join.refused.items() if "sampled every 10" in why]
    assert seldom
    for s in a.steps:
        too_few = 0.3 * s.columns.get("generate_s", math.inf) < 10.1
        assert ("slot_idle" in s.figures) == (s.step not in a.samples.join.refused)
        if too_few:
            assert s.step in a.samples.join.refused


def test_where_all_is_refused_the_reason_is_the_first_thing_said(tmp_path: Path) -> None:
    lines = two_engines(tmp_path).read_text().splitlines(keepends=True)
    seldom = tmp_path / "seldom.log"
    seldom.write_text("".join(line for k, line in enumerate(lines) if k // 2 % 26 in (3, 12, 21)))
    a = analysed(tmp_path, seldom)
    assert a.figures["slot_idle"].value is None
    assert a.samples is not None
    why = next(iter(a.samples.join.refused.values()))
    assert a.figures[a.headline].note.startswith(why)
    shown = " ".join(render(a, width=140).split())
    top = shown[: shown.index("Response length")]
    assert why in top
    assert "step_s" not in top


def test_engines_that_did_nothing_are_no_run_and_it_is_said(tmp_path: Path) -> None:
    lines = two_engines(tmp_path).read_text().splitlines(keepends=True)
    idle = tmp_path / "idle.log"
    idle.write_text(
        "".join(line for line in lines if "Running: 0" in line and "throughput: 0.0 tokens/s, R" in line)
    )
    with pytest.raises(InputProblem) as problem:
        analysed(tmp_path, idle)
    assert problem.value.hint == "the engines' samples hold no generation"


def test_a_measured_figure_outside_the_bracket_is_a_finding(tmp_path: Path) -> None:
    """Responses of equal length cannot empty a quarter of the slots."""
    run = metrics(tmp_path)
    rows = [{**json.loads(line), "response_tokens_mean": 199.0} for line in run.read_text().splitlines()]
    rows = [{**r, "response_tokens_min": 198.0, "truncated_share": 0.0} for r in rows]
    run.write_text("".join(json.dumps(r) + "\n" for r in rows))
    a = analysed(tmp_path, two_engines(tmp_path), run)
    (beside,) = a.figures["slot_idle"].beside()
    assert beside.basis == "modelled"
    assert beside.apart < -0.15
    found = next(f for f in a.findings if f.code == "slot_idle_outside_bracket")
    assert found.evidence["steps"] == 2


def test_queueing_is_seen(corpus: Path, tmp_path: Path) -> None:
    a = analysed(tmp_path, server_log(corpus, QUEUE))
    queue = a.figures["queue_share"]
    assert queue.basis == "measured"
    assert queue.value is not None
    assert 0.4 < queue.value < 0.7


def truths(corpus: Path, name: str) -> dict[int, tuple[float, float, float]]:
    """(start, end, slot_idle) of each step by its requests."""
    found: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for line in (corpus / "engine" / "vllm_0.32_cpu" / f"{name}_requests.jsonl").open():
        row = json.loads(line)
        found[row["step"]].append((row["start"], row["end"]))
    slots = 32 if name == QUEUE else 256
    result = {}
    for step, pairs in found.items():
        start, end = np.array(pairs).T
        result[step] = (start.min(), end.max(), clock_idle(start, end, min(len(start), slots)).slot_idle)
    return result


def thinned(path: Path, every: int, phase: int, into: Path) -> Path:
    """The log with every `every`-th line of statistics, which counts the tokens since the one before."""
    lines, kept, since = path.read_text(errors="replace").splitlines(keepends=True), [], []
    for line in lines:
        if "Avg prompt throughput" not in line:
            kept.append(line)
            continue
        since.append(line)
        if (len(since) + phase) % every == 0 or every == 1:
            kept.append(_averaged(since[-every:]))
    into.write_text("".join(kept))
    return into


def _averaged(lines: Sequence[str]) -> str:
    last = lines[-1]
    for key in ("Avg prompt throughput: ", "Avg generation throughput: "):
        values = [float(line.split(key)[1].split(" ")[0]) for line in lines]
        head, _, tail = last.partition(key)
        last = f"{head}{key}{sum(values) / len(values):.1f} {tail.partition(' ')[2]}"
    return last


def samplings(corpus: Path, tmp_path: Path, every: int) -> Iterator[tuple[Analysis, str]]:
    for name in (WIDE, QUEUE):
        for phase in range(every):
            log = thinned(server_log(corpus, name), every, phase, tmp_path / f"{name}_{phase}.log")
            config = {"max_num_seqs": "32"} if name == QUEUE else {}
            yield analysed(tmp_path, log, **config), name


@pytest.mark.parametrize("every", [5, pytest.param(10, marks=pytest.mark.slow)])
def test_thinned_the_interval_holds_the_truth_or_the_window_is_refused(
    corpus: Path, tmp_path: Path, every: int
) -> None:
    told = held = 0
    for a, name in samplings(corpus, tmp_path, every):
        for s in a.steps:
            slot = s.figures.get("slot_idle")
            if slot is None or slot.value is None:
                continue
            assert slot.interval is not None
            end = s.columns["logged_at"]
            start = end - s.columns["generate_s"]
            inside = [
                t
                for t in truths(corpus, name).values()
                if min(end, t[1]) - max(start, t[0]) > 0.5 * (t[1] - t[0])
            ]
            assert len(inside) == 1, "two generations taken for one"
            told += 1
            held += slot.interval[0] <= inside[0][2] <= slot.interval[1]
            assert every * 1.01 <= 0.3 * s.columns["generate_s"] + 0.1
    assert held >= 0.9 * told
    assert told >= (10 if every == 5 else 1)


def two_engines(tmp_path: Path) -> Path:
    """Engine 0 works for 20 s, engine 1 for 10 s; both idle 10 s; again."""
    lines = []
    for k in range(2):
        begin = 1_779_397_800 + 40 * k
        for t in range(26):
            for engine, until in ((0, 20), (1, 10)):
                n = 8 if t < until else 0
                made = 100.0 if n or t in (10, 20) else 0.0
                read = 80.0 if t == 0 else 0.0
                lines.append(
                    f"INFO {_stamp(begin + t)} [loggers.py:271] Engine {engine:03d}: Avg prompt throughput: "
                    f"{read} tokens/s, Avg generation throughput: {made} tokens/s, Running: {n} reqs, "
                    f"Waiting: 0 reqs, Preemptions: {2 if t == 5 else 0}, "
                    f"GPU KV cache usage: {50.0 if n else 0.0}%, Prefix cache hit rate: 0.0%\n"
                )
    path = tmp_path / "two.log"
    path.write_text("".join(lines))
    return path


def _stamp(time: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(time, UTC).strftime("%m-%d %H:%M:%S")


def test_engines_beside_each_other(tmp_path: Path) -> None:
    a = analysed(tmp_path, two_engines(tmp_path))
    assert a.run.engines == 2.0
    assert len(a.steps) == 2
    # T = 20: engine 0 all of it, engine 1 half: engine_idle 1/4, imbalance 20/15, slots full for 3/4
    assert a.figures["engine_idle"].value == pytest.approx(0.25, abs=0.03)
    assert a.figures["engine_imbalance"].value == pytest.approx(20 / 15, abs=0.05)
    assert a.figures["slot_idle"].value == pytest.approx(0.25, abs=0.03)
    assert a.figures["kv_usage_max"].value == 0.5
    assert a.figures["preemptions"].value == 8.0
    assert a.figures["queue_share"].value == 0.0


def metrics(tmp_path: Path, *, moved: float = 0.0, generate: float = 21.0) -> Path:
    """A run of two steps whose generations are those of `two_engines`."""
    rows = [
        {
            "step": k + 1,
            "logged_at": 1_779_397_800 + 40 * k + 38 + moved,
            "step_s": 39.0,
            "generate_s": generate,
            "response_tokens_mean": 100.0,
            "response_tokens_max": 200.0,
            "rollouts": 16,
        }
        for k in range(2)
    ]
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def test_a_run_and_its_engines_are_one_run_with_measured_idle(tmp_path: Path) -> None:
    a = analysed(tmp_path, two_engines(tmp_path), metrics(tmp_path))
    assert a.run.framework == "generic"
    assert [s.step for s in a.steps] == [1, 2]
    assert "inferred" not in a.steps[0].columns
    slot = a.figures["slot_idle"]
    assert slot.basis == "measured"
    assert slot.value == pytest.approx(0.25, abs=0.03)
    assert "modelled" in slot.others
    assert a.samples is not None
    assert a.samples.how == "clock"


def test_a_clock_in_another_zone_is_put_right_or_named(tmp_path: Path) -> None:
    log, run = two_engines(tmp_path), metrics(tmp_path, moved=-2 * 3600)
    guessed = analysed(tmp_path, log, run)
    assert guessed.figures["slot_idle"].basis == "measured"
    options = api.OpenOptions(tz="+02:00", output=str(tmp_path / "zoned"), reuse=False)
    named = api.analyze(api.open_run([str(log), str(run)], options=options))
    assert named.figures["slot_idle"].value == guessed.figures["slot_idle"].value
    assert named.samples is not None
    assert guessed.samples is not None
    assert named.samples.windows[0][0] == pytest.approx(1_779_397_800 - 7200, abs=2)


def test_engines_of_another_run_are_refused(tmp_path: Path) -> None:
    a = analysed(tmp_path, two_engines(tmp_path), metrics(tmp_path, generate=4.0))
    assert a.figures["slot_idle"].basis != "measured"
    assert any(f.code == "engines_not_joined" for f in a.findings)


def test_lines_of_engines_inside_another_console_are_read_too(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    steps = "".join(
        f"(TaskRunner pid=5) step:{k + 1} - timing_s/gen:{21.0 + k} - timing_s/step:{39.0} - "
        "response_length/mean:100.0 - response_length/max:200.0 - critic/score/mean:0.5\n"
        for k in range(2)
    )
    log.write_text(two_engines(tmp_path).read_text() + steps)
    a = analysed(tmp_path, log)
    assert a.run.framework == "verl"
    assert a.samples is not None
    assert a.samples.how == "order"
    assert a.figures["slot_idle"].basis == "measured"
    assert a.ledger["skipped"] == 0


def test_two_servers_under_one_name_give_no_figure(tmp_path: Path) -> None:
    lines = two_engines(tmp_path).read_text().replace("Engine 001", "Engine 000").replace("Engine 000: ", "")
    path = tmp_path / "shared.log"
    path.write_text("".join(line + "\n" for line in lines.splitlines() for _ in range(1)))
    every = [line for k, line in enumerate(path.read_text().splitlines(keepends=True)) if k // 2 % 3 == 0]
    path.write_text("".join(every))
    with pytest.raises(InputProblem) as problem:
        analysed(tmp_path, path)
    assert "two servers write as engine 000" in str(problem.value.hint)


def test_beside_the_rollouts_own_times_the_samples_are_stated(corpus: Path, tmp_path: Path) -> None:
    columns = {"response_tokens": "response_len", "started_at": "start", "completed_at": "end"}
    paths = [str(server_log(corpus, WIDE).with_name(f"{WIDE}_requests.jsonl")), str(server_log(corpus, WIDE))]
    options = api.OpenOptions(
        columns=columns, config={"engines": "1"}, output=str(tmp_path / "d"), reuse=False
    )
    a = api.analyze(api.open_run(paths, options=options))
    slot = a.figures["slot_idle"]
    assert [s.figures["slot_idle"].value for s in a.steps] == pytest.approx(CLOCK[WIDE], abs=0.001)
    assert "rollouts' own times -0.01" in slot.note
    assert a.figures["kv_usage_max"].value == pytest.approx(0.008)
    assert a.samples is not None
    assert a.samples.how == "clock"
