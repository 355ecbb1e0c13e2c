"""Console logs: wraps, other actors, restarts, configuration, what verl says beside its step lines."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollprof.adapters.base import Claim, MetricPart
from rollprof.adapters.verl.console import ConsoleReader
from rollprof.schema.ledger import Ledger
from rollprof.sources.console import read_console
from rollprof.sources.records import SniffedFile

Read = Callable[..., tuple[list[MetricPart], Ledger]]

RAY = "\x1b[36m(TaskRunner pid=3163)\x1b[0m "
WORKER = "\x1b[36m(WorkerDict pid=4000)\x1b[0m "


def line(step: int, **extra: float) -> str:
    pairs = {
        "actor/pg_loss": -0.0123456,
        "critic/score/mean": 0.5 + step / 64,
        "response_length/mean": 100.25 + step,
        "timing_s/gen": 4.0625 + step,
        "timing_s/step": 9.03125 + step,
        "perf/throughput": 619.4671875,
    }
    pairs.update({k.replace("__", "/"): v for k, v in extra.items()})
    return f"step:{step} - " + " - ".join(f"{k}:{v!r}" for k, v in pairs.items())


def values(part: MetricPart) -> dict[int | None, dict[str, float]]:
    found: dict[int | None, dict[str, float]] = {}
    for record in part.metrics:
        found.setdefault(record.step, {})[record.key] = record.value
    return found


def reasons(ledger: Ledger, kind: str = "note") -> list[str]:
    return [p.reason for p in ledger.problems if p.kind == kind]


def test_prefix_colours_and_other_actors_in_between(read: Read) -> None:
    log = "\n".join(
        [
            f"{WORKER}Loading checkpoint shards: 100%",
            RAY + line(1),
            f"{WORKER}step:9 - timing_s/gen says a worker",
            f"{RAY}\rTraining Progress:   1%|▏ | 1/435 [01:10<2:00, 64.47s/it]",
            "\x1b[36m(TaskRunner pid=3163, ip=172.26.135.50)\x1b[0m " + line(2),
            "",
        ]
    )
    (part,), ledger = read(log)
    assert {k: len(v) for k, v in values(part).items()} == {1: 6, 2: 6}
    assert part.hints["total_steps"] == "435"
    assert part.label == ""
    assert reasons(ledger) == ["step 9: 'timing_s/gen says a worker' is no key and value, dropped"]


@pytest.mark.parametrize("width", [60, 80, 140, 240])
@pytest.mark.parametrize("prefix", ["", RAY])
def test_hard_wraps_anywhere(read: Read, width: int, prefix: str) -> None:
    whole = values(read(f"{line(1)}\n{line(2)}\n")[0][0])
    for shift in range(0, width - 25, 7):
        text = line(1, **{"val-core__x": 0.5} if shift % 2 else {})
        cut = [text[: width - shift], *(text[i : i + width] for i in range(width - shift, len(text), width))]
        log = prefix + "\n".join(cut) + f"\n{prefix}{line(2)}\n"
        (part,), ledger = read(log)
        found = values(part)
        assert found[2] == whole[2]
        lost = {k for k in whole[1] if found[1].get(k) != whole[1][k]}
        assert lost <= {"perf/throughput"}
        if lost:
            assert "perf/throughput" not in found[1]
            assert ledger.notes


def test_wrapped_parts_with_the_prefix_repeated_and_workers_between(read: Read) -> None:
    text = line(1)
    log = f"{RAY}{text[:70]}\n{WORKER}noise\n{RAY}{text[70:140]}\n{RAY}{text[140:]}\n{RAY}{line(2)}\n"
    (part,), _ = read(log)
    assert {k: len(v) for k, v in values(part).items()} == {1: 6, 2: 6}
    assert values(part)[1]["timing_s/gen"] == 5.0625


def test_a_lone_number_after_a_step_line_makes_its_last_value_doubtful(read: Read) -> None:
    (part,), ledger = read(f"{line(1)}\n18\n{line(2)}\n")
    assert "perf/throughput" not in values(part)[1]
    assert values(part)[2]["perf/throughput"] == 619.4671875
    assert "step 1: 'perf/throughput:619.4671875' is no key and value, dropped" in reasons(ledger)


def test_the_file_ends_in_the_middle_of_a_number(read: Read) -> None:
    (part,), ledger = read(f"{line(1)}\n{line(2)[:-3]}")
    assert "perf/throughput" in values(part)[1]
    assert "perf/throughput" not in values(part)[2]
    assert reasons(ledger) == [
        "the file ends inside this line: what followed is missing",
        "step 2: 'perf/throughput:619.4671' is no key and value, dropped",
    ]


def test_a_line_that_another_process_cut_off(read: Read) -> None:
    (part,), ledger = read(f"{RAY}{line(1)}{WORKER}Flash Attention\n{RAY}{line(2)}\n")
    assert "perf/throughput" not in values(part)[1]
    assert len(reasons(ledger)) == 1


def test_several_lines_of_one_step_are_one(read: Read) -> None:
    log = (
        "step:1 - fully_async/rollouter/active_time:30.2 - fully_async/rollouter/idle_ratio:0.245\n"
        f"{line(1)}\nstep:1 - val-core/ds/acc/mean@1:np.float64(0.25)\n{line(2)}\n"
        "step:1 - fully_async/rollouter/version_time:40.0\n"  # late
    )
    (part,), _ = read(log)
    assert {k: len(v) for k, v in values(part).items()} == {1: 10, 2: 6}


def test_a_resume_overrides_what_was_logged_beyond_it(read: Read) -> None:
    log = "\n".join([*(line(s) for s in range(1, 8)), line(5, timing_s__gen=99.5), line(6), ""])
    (part,), ledger = read(log)
    found = values(part)
    assert sorted(k or 0 for k in found) == [1, 2, 3, 4, 5, 6]
    assert found[5]["timing_s/gen"] == 99.5
    assert len(part.metrics) == 36
    assert reasons(ledger) == ["resumed at step 5: what was logged before for steps 5 to 7 no longer counts"]


def test_a_resume_begins_with_a_validation_of_the_checkpoint(read: Read) -> None:
    log = "\n".join(
        [*(RAY + line(s) for s in range(48, 58))]
        + [RAY.replace("3163", "99") + text for text in ("step:50 - val-core/d/acc/mean@1:0.5", line(51), "")]
    )
    (part,), ledger = read(log + "\n")
    found = values(part)
    assert sorted(k or 0 for k in found) == [48, 49, 50, 51]
    assert found[50]["timing_s/gen"] == 54.0625  # the checkpoint's own step stays
    assert found[50]["val-core/d/acc/mean@1"] == 0.5
    assert ledger.notes == 1


@pytest.mark.parametrize("first", [0, 1])
def test_two_runs_in_one_file(read: Read, first: int) -> None:
    start = ["step:0 - val-core/d/acc/mean@1:0.25"] if first == 0 else []
    one = [*start, *(line(s) for s in (1, 2, 3))]
    two = [*start, *(line(s, timing_s__gen=77.5) for s in (1, 2))]
    parts, ledger = read("\n".join([*one, *two, ""]))
    assert [p.label for p in parts] == ["1", "2"]
    assert [sorted(k or 0 for k in values(p)) for p in parts] == [[*range(first, 4)], [*range(first, 3)]]
    assert values(parts[1])[1]["timing_s/gen"] == 77.5
    assert ledger.notes == 1


def test_a_run_that_died_after_one_step_and_its_restart(read: Read) -> None:
    other = RAY.replace("3163", "5000")
    parts, _ = read(f"{RAY}{line(1)}\n{other}{line(1, timing_s__gen=7.5)}\n{other}{line(2)}\n")
    assert [sorted(k or 0 for k in values(p)) for p in parts] == [[1], [1, 2]]


def test_two_runs_that_wrote_into_one_file_at_once(read: Read) -> None:
    a, b = RAY, RAY.replace("3163", "5000")
    log = [
        a + line(1),
        a + line(2),
        b + line(1, timing_s__gen=7.5),
        a + line(3),
        b + line(2, timing_s__gen=8.5),
        "",
    ]
    parts, _ = read("\n".join(log))
    assert [sorted(k or 0 for k in values(p)) for p in parts] == [[1, 2, 3], [1, 2]]
    assert [values(p)[2]["timing_s/gen"] for p in parts] == [6.0625, 8.5]


def test_a_line_logged_twice_counts_once(read: Read) -> None:
    (part,), ledger = read(f"{line(1)}\n{line(2)}\n{line(2)}\n{line(3)}\n")
    assert sorted(k or 0 for k in values(part)) == [1, 2, 3]
    assert reasons(ledger) == ["step 2 logged twice with the same values"]


def test_v0_1_counts_from_zero_and_shares_it_with_validation(read: Read) -> None:
    log = (
        "step:0 - test_score/openai/gsm8k:0.521\n"
        "step:0 - timing/gen:48.956 - critic/score/mean:0.416 - critic/lr(1e-4):0.100\n"
        "step:1 - timing/gen:42.247 - critic/score/mean:0.408 - critic/lr(1e-4):0.100\n"
    )
    (part,), _ = read(log)
    assert {k: len(v) for k, v in values(part).items()} == {0: 4, 1: 3}


def test_lines_without_a_step_number_are_placed_by_position(read: Read) -> None:
    body = line(1).partition(" - ")[2]
    (part,), ledger = read(f"- {body}\n{line(7)}\n")
    assert sorted(k or 0 for k in values(part)) == [6, 7]
    assert reasons(ledger)[0].startswith("a line without a step number: taken for step 6")
    (part,), _ = read(f"x - {body}\nnoise\ny - {body}\nnoise\n")
    assert sorted(k or 0 for k in values(part)) == [1, 2]
    (part,), _ = read(f"{line(3)}\nnoise\n0.5 - {body}\n")
    assert sorted(k or 0 for k in values(part)) == [3, 4]


def test_one_metric_per_line_is_one_step(read: Read) -> None:
    body = "\n - ".join(line(1).split(" - ")[1:])
    (part,), ledger = read(f" - {body}\n")
    assert values(part) == {1: dict(values(read(line(1) + "\n")[0][0])[1])}
    assert ledger.notes == 1
    (part,), ledger = read(f"step:4\n - {body}\n")
    assert {k: len(v) for k, v in values(part).items()} == {4: 6}


def test_an_excerpt_with_a_gap_stays_one_step(read: Read) -> None:
    (part,), ledger = read(
        "step:34 - actor/lr:2e-06 - response_length/min:38.0 -\n...\n"
        "timing_s/gen:541.25 - timing_s/step:1163.5\n"
    )
    assert values(part) == {
        34: {"actor/lr": 2e-06, "response_length/min": 38.0, "timing_s/gen": 541.25, "timing_s/step": 1163.5}
    }
    assert reasons(ledger) == ["step 34: '...' is no key and value, dropped"]


def test_nan_and_inf_are_kept_as_they_stood(read: Read) -> None:
    (part,), _ = read("step:2 - actor/grad_norm:nan - actor/x:np.float64(inf) - timing_s/gen:112.222\n")
    found = values(part)[2]
    assert math.isnan(found["actor/grad_norm"])
    assert found["actor/x"] == math.inf


def test_what_verl_says_beside_its_step_lines(read: Read) -> None:
    log = "\n".join(
        [
            "+ python3 -m recipe.dapo.main_dapo data.train_batch_size=64",
            "ray init kwargs: {'num_cpus': None}",
            f"{RAY}TaskRunner hostname: node1, PID: 3163",
            f"{RAY}num_prompt_in_batch=12 < prompt_bsz=64",
            f"{RAY}num_gen_batches=1. Keep generating...",
            "wandb: View run at https://wandb.ai/me/proj/runs/fly0irr6",
            f"{RAY}Dumped generations to /data/dump dir/1.jsonl",
            f"{RAY}INFO:2026-08-20 10:11:12,123:pending: 3, running: 61, finished: 0, failure: 0",
            f"{RAY}INFO:2026-08-20 10:12:12,123:pending: 0, running: 2, finished: 62, failure: 0",
            f"{RAY}\x1b[33m[RolloutSkip()] Dump generate result at step 1\x1b[0m",
            "(FullyAsyncTrainer pid=1) [FullyAsyncTrainer] Loop collection completed: 64/64 samples, "
            "total wait time: 12.34 seconds. mq_len: 5",
            "(FullyAsyncRollouter pid=2) [FullyAsyncRollouter][ShouldPause] due to full queue: size=4, max=4",
            "(FullyAsyncRollouter pid=2) [FullyAsyncRollouter][RolloutResourceUtilization] raw "
            "active_count_history (timestamp, active_count, max_concurrent): [(1786.5, 0, 64)]",
            RAY + line(1),
            "",
        ]
    )
    (part,), _ = read(log)
    hints = part.hints
    assert part.run_id == "wandb:fly0irr6"
    assert part.name == "fly0irr6"
    assert hints["entry"] == "recipe.dapo.main_dapo"
    assert hints["dump_dir"] == "/data/dump dir"
    assert hints["v1_status"].startswith(
        "2 status lines, at most 64 prompt groups unfinished, last: 0 pending, 2"
    )
    assert hints["fully_async_wait"] == "trainer waited 12.34 s in 1 collections"
    assert hints["rollouter_paused"] == "1 pauses"
    assert hints["rollouter_timeline"] == "1 in-flight timelines"
    marks = {name for name in hints if name.startswith("mark.")}
    assert {"mark.dapo", "mark.ray_init_kwargs", "mark.runner_hostname", "mark.rollout_skip"} < marks
    assert {"mark.fully_async", "mark.TaskRunner", "mark.repr"} < marks
    assert part.config["data.train_batch_size"] == 64


def test_a_log_without_a_step_is_a_part_without_metrics(read: Read) -> None:
    (part,), ledger = read(f"{RAY}\nTraining Progress:   0%|          | 0/58 [07:16<?, ?it/s]\n")
    assert part.metrics == []
    assert part.hints["total_steps"] == "58"
    assert ledger.lines == 2


LOG = "\n".join([*(RAY + line(s) for s in (1, 2, 3)), ""])


def parsed(
    text: str | bytes, make: Callable[..., SniffedFile]
) -> tuple[list[dict[int | None, dict[str, float]]], Ledger]:
    file, ledger = make(text), Ledger()
    reader = ConsoleReader(file.name, ledger)
    reader.read(read_console(file, ledger))
    return [values(p) for p in reader.parts(file, Claim("verl", "console", 1, ""))], ledger


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damage_never_changes_a_value_without_a_word(
    make: Callable[..., SniffedFile], data: st.DataObject
) -> None:
    """Inserted whole lines, stray newlines, NULs, invalid UTF-8, cuts at the end."""
    clean, _ = parsed(LOG, make)
    raw = LOG.encode()
    at = data.draw(st.integers(0, len(raw)))
    kind = data.draw(st.sampled_from(["line", "newline", "nul", "byte", "cut"]))
    if kind == "line":
        starts = [0, *(i + 1 for i, b in enumerate(raw) if b == 10)]
        where = data.draw(st.sampled_from(starts))
        junk = data.draw(
            st.one_of(st.text(max_size=60), st.sampled_from(["18", "a - b:3", "x:1", " - y/z:2"]))
        )
        spoiled = raw[:where] + junk.replace("\n", " ").encode("utf-8", "replace") + b"\n" + raw[where:]
    elif kind == "cut":
        spoiled = raw[:at]
    else:
        spoiled = raw[:at] + {"newline": b"\n", "nul": b"\0", "byte": b"\xff"}[kind] + raw[at:]
    found, ledger = parsed(spoiled, make)
    assert ledger.lines == spoiled.count(b"\n") + (not spoiled.endswith(b"\n") and bool(spoiled))
    steps = {step: keys for run in found for step, keys in run.items()}
    changed = any(
        value != clean[0].get(step, {}).get(key)
        for step, keys in steps.items()
        for key, value in keys.items()
    )
    missing = kind != "cut" and steps != clean[0]
    if changed or missing:
        assert not ledger.clean


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=400))
def test_arbitrary_bytes_never_raise(make: Callable[..., SniffedFile], junk: bytes) -> None:
    parsed(LOG.encode()[:100] + junk + LOG.encode()[100:], make)
    parsed(junk, make)
