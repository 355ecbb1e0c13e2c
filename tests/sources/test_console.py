"""Console text: what launchers, terminals and collectors add comes off; what was said stays."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof.schema.ledger import Ledger
from rollprof.sources.console import read_console
from rollprof.sources.records import SniffedFile, TextLine

from .rollout_lines import physical_lines

AsFile = Callable[..., SniffedFile]

E = "\x1b"
STEP = "step:1 - timing_s/gen:4.1000000000000005 - critic/lr(1e-4):0.100 - a@b:np.float64(nan)"
BAR = "Training Progress:   1%|▏         | 1/435 [01:10<8:00:00, 64.47s/it]"
BAR2 = "Training Progress: 100%|██████████| 435/435 [7:01:10<00:00, 64.47s/it]"
T0 = 1787220672.0  # 2026-08-20 10:11:12 UTC


def read(as_file: AsFile, text: str | bytes) -> tuple[list[TextLine], Ledger]:
    ledger = Ledger()
    data = text.encode() if isinstance(text, str) else text
    return list(read_console(as_file(data, kind="text"), ledger)), ledger


def said(as_file: AsFile, text: str) -> list[tuple[str, int, str]]:
    return [(line.actor, line.pid, line.text) for line in read(as_file, text)[0]]


@pytest.mark.parametrize(
    ("raw", "actor", "pid"),
    [
        (STEP, "", 0),
        (f"(TaskRunner pid=3163) {STEP}", "TaskRunner", 3163),
        (f"(TaskRunner pid=14640, ip=172.26.135.50) {STEP}", "TaskRunner", 14640),
        (f"{E}[36m(TaskRunner pid=3163){E}[0m {STEP}", "TaskRunner", 3163),
        (f"{E}[2m{E}[36m(main_task pid=64899){E}[0m {STEP}", "main_task", 64899),
        (f"{E}[36m(pid=12){E}[0m {STEP}", "", 12),
        (f"(pid=) {STEP}", "", 0),
        (f"(VGNd5CWorkerDict_0:0 WorkerDict pid=65860) {STEP}", "VGNd5CWorkerDict_0:0 WorkerDict", 65860),
        (f"(WorkerDict[rank=3] pid=7) {STEP}", "WorkerDict[rank=3]", 7),
        (f"(Worker rank=3 pid=7) {STEP}", "Worker rank=3", 7),
        (f"(Counter(index=2) pid=7) {STEP}", "Counter(index=2)", 7),
        (f"(RolloutRayActor pid=5) (EngineCore_DP0 pid=7) {STEP}", "EngineCore_DP0", 7),
        (f"[36m(TaskRunner pid=3163)[0m {STEP}", "TaskRunner", 3163),  # escape characters lost
        (f"^[[36m(TaskRunner pid=3163)^[[0m {STEP}", "TaskRunner", 3163),  # and spelled out
        (f"{E}[33m(raylet){E}[0m {STEP}", "raylet", 0),
        (f"(raylet, ip=10.0.0.1) {STEP}", "raylet", 0),
        (
            f"{E}[36m(TaskRunner pid=3163){E}[0m {STEP}{E}[32m [repeated 7x across cluster]{E}[0m",
            "TaskRunner",
            3163,
        ),
        (
            f"(TaskRunner pid=3163) {STEP} [repeated 7x across cluster] (Ray deduplicates logs by default. "
            "Set RAY_DEDUP_LOGS=0 to disable log deduplication, or see https://x.y/z#w for more options.)",
            "TaskRunner",
            3163,
        ),
        (f"2026-08-20T10:11:12.123456789Z stdout F (TaskRunner pid=3163) {STEP}", "TaskRunner", 3163),
        (f"2026-08-20T10:11:12.1234567Z {STEP}", "", 0),
        (f"{E}]0;a title{E}\\{E}[1m{STEP}{E}[K{E}(B{E}[m", "", 0),
        (f"(TaskRunner pid=3163) {STEP}\r", "TaskRunner", 3163),
        (f"(TaskRunner pid=3163) \r{BAR}\r{BAR2}\r{STEP}", "TaskRunner", 3163),
        (f"(TaskRunner pid=3163) \x07{STEP}\x08\x7f", "TaskRunner", 3163),
    ],
)
def test_one_line_in_many_clothes(as_file: AsFile, raw: str, actor: str, pid: int) -> None:
    assert said(as_file, raw + "\n") == [(actor, pid, STEP)]


@pytest.mark.parametrize(
    "text",
    [
        "(some remark) about it",
        "(EngineCore) [core.py:355] init engine took 81.75 s",
        "ray.exceptions.RayTaskError(ValueError): ray::main_task() (pid=19443, ip=172.17.0.4)",
        "ray::TaskRunner.run() (pid=1, ip=10.0.0.1, actor_id=abc, repr=<x>)",
        "a list [1, 2] and 100% | of it",
        "  indented: {'a': 1,\t'b': 2}",
        "100%|██████████| 16/16 [00:12<00:00,  1.25it/s, est. speed input: 10.2 toks/s]",
        "因此 é \u2028 still the same line",
        "[rank0]: Traceback (most recent call last):",
    ],
)
def test_what_was_said_is_not_touched(as_file: AsFile, text: str) -> None:
    assert said(as_file, text + "\n") == [("", 0, text)]
    assert said(as_file, f"{E}[36m(X pid=2){E}[0m {text}\n") == [("X", 2, text)]


def test_two_actors_on_one_line(as_file: AsFile) -> None:
    first, second = "'experiment_name': 'x',", "Flash Attention 2.0 only supports"
    for raw in (
        f"{E}[36m(main_task pid=1){E}[0m {first}{E}[36m(WorkerDict pid=7){E}[0m {second}\n",
        f"(main_task pid=1) {first}(WorkerDict pid=7) {second}\n",
    ):
        lines, ledger = read(as_file, raw)
        assert [(x.actor, x.pid, x.text) for x in lines] == [
            ("main_task", 1, first),
            ("WorkerDict", 7, second),
        ]
        assert [x.lines for x in lines] == [1, 0]
        assert ledger.read == 1
    coloured = f"{E}[36m(A pid=1){E}[0m x {E}[36m(B pid=7){E}[0m y\n"
    assert said(as_file, coloured) == [("A", 1, "x "), ("B", 7, "y")]


@pytest.mark.parametrize(
    ("raw", "texts"),
    [
        (f"\r{BAR}\r{BAR2}", [BAR2]),
        (f"{STEP}\r{BAR}\r{BAR2}", [STEP, BAR2]),  # the bar's first redraw does not hide the step
        (f"{BAR}\r{BAR2}\r{STEP}", [STEP]),
        (f"\r{BAR}{STEP}", [BAR, STEP]),  # nothing but a missing line break between them
        (f"{BAR}{STEP}", [BAR, STEP]),
        (f"{BAR}\r{BAR2}{STEP}", [BAR2, STEP]),
        (
            "x: 0 examples [00:00, ? examples/s]\rx: 15 examples [00:00, 200 examples/s]",
            ["x: 15 examples [00:00, 200 examples/s]"],
        ),
        (
            "a: 0%|          | 0/1 [00:00<?, ?it/s]Loading weights",
            ["a: 0%|          | 0/1 [00:00<?, ?it/s]", "Loading weights"],
        ),
        ("Waiting |\rWaiting /\rdone", ["done"]),
        ("\r\r", [""]),
        ("text\r\r", ["text"]),
    ],
)
def test_redrawing(as_file: AsFile, raw: str, texts: list[str]) -> None:
    for prefix, actor in (("", ""), (f"{E}[36m(T pid=1){E}[0m ", "T")):
        lines, ledger = read(as_file, prefix + raw + "\n")
        assert [(x.actor, x.text) for x in lines] == [(actor, t) for t in texts]
        assert (ledger.read, sum(x.lines for x in lines)) == (1, 1)


def test_every_state_of_a_redrawn_line(as_file: AsFile) -> None:
    file = as_file(f"(T pid=1) {STEP}\r{BAR}\r{BAR2}\nnext\n".encode(), kind="text")
    ledger = Ledger()
    lines = list(read_console(file, ledger, redraws=True))
    assert [(x.text, x.lines) for x in lines] == [(STEP, 1), (BAR, 0), (BAR2, 0), ("next", 1)]
    assert ledger.read == 2


@pytest.mark.parametrize(
    ("raw", "time"),
    [
        ("2026-08-20 10:11:12,123 INFO worker.py:1879 -- Started", T0 + 0.123),
        ("INFO:2026-08-20 10:11:12,123:pending: 3, running: 61", T0 + 0.123),
        ("WARNING 2026/08/20 10:11:12 x", T0),
        ("[2026-08-20 10:11:12,500] [INFO] x", T0 + 0.5),
        ("2026-08-20T10:11:12.25Z stderr F x", T0 + 0.25),
        ("2026-08-20T12:11:12+02:00 x", T0),
        ("2026-08-20 12:11:12 +0200 x", T0),
        ("(T pid=1) INFO:2026-08-20 10:11:12,123:x", T0 + 0.123),
        ("2026-08-20T10:11:12.5Z (T pid=1) INFO:2026-08-20 10:11:13,123:x", T0 + 0.5),
        ("2026-13-20 10:11:12 no such month", None),
        ("2026-08-20 25:11:12 no such hour", None),
        ("INFO 01-04 01:52:44 agent.py:48] no year", None),
        ("at 2026-08-20 10:11:12 in the middle", None),
        ("step:1 - a:1", None),
    ],
)
def test_clocks(as_file: AsFile, raw: str, time: float | None) -> None:
    ((line,), _) = read(as_file, raw + "\n")
    assert line.time == (None if time is None else pytest.approx(time, abs=1e-6))
    if "Z " not in raw and "T12" not in raw:
        assert line.text == raw.removeprefix("(T pid=1) ")  # a clock that the framework wrote stays


def test_blank_lines_offsets_and_the_cut_tail(as_file: AsFile) -> None:
    lines, ledger = read(as_file, "one\n\n(A pid=1) \ntwo")
    assert [(x.text, x.offset, x.complete) for x in lines] == [
        ("one", 0, True),
        ("", 4, True),
        ("", 5, True),
        ("two", 16, False),
    ]
    assert lines[2].actor == "A"
    assert (ledger.read, ledger.repaired, ledger.skipped) == (4, 0, 0)
    assert [(p.offset, p.kind, "ends inside this line" in p.reason) for p in ledger.problems] == [
        (16, "note", True)
    ]


def test_repairs_are_counted_once(as_file: AsFile) -> None:
    data = b"\xef\xbb\xbfgood\n\xff\0bad\xfe\n\0\0\0\nstep:1 - a:1\n"
    lines, ledger = read(as_file, data)
    assert [x.text for x in lines] == ["good", "\ufffdbad\ufffd", "", "step:1 - a:1"]
    assert [x.repaired for x in lines] == [True, True, True, False]
    assert (ledger.read, ledger.repaired, ledger.skipped) == (1, 3, 0)
    assert [(p.offset, p.reason) for p in ledger.problems] == [
        (0, "byte order mark"),
        (8, "NUL bytes removed, invalid UTF-8 replaced"),
        (15, "NUL bytes removed"),
    ]


def test_compressed(as_file: AsFile) -> None:
    packed = gzip.compress(b"step:1\n" * 1000)
    lines, ledger = read(as_file, packed)
    assert (len(lines), ledger.clean) == (1000, True)
    lines, ledger = read(as_file, packed[:-10])
    assert {p.reason for p in ledger.problems} <= {
        "gzip stream ends early: the rest is lost",
        "the file ends inside this line: what followed is missing",
    }
    assert ledger.notes >= 1
    assert len(lines) == ledger.lines


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                STEP,
                BAR,
                "(A pid=1) ",
                f"{E}[36m",
                f"{E}[0m",
                "\r",
                "\n",
                "\0",
                E,
                f"{E}]",
                "pid=",
                "(",
                ")",
                "é",
            ]
        )
        | st.text(max_size=5),
        max_size=25,
    ),
    st.binary(max_size=6),
)
def test_anything_is_accounted_for(as_file: AsFile, parts: list[str], raw: bytes) -> None:
    data = "".join(parts).encode("utf-8", "surrogatepass") + raw
    if data.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        return
    lines, ledger = read(as_file, data)
    assert ledger.read + ledger.repaired + ledger.skipped == physical_lines(data)
    assert sum(line.lines for line in lines) == physical_lines(data)
    for line in lines:
        assert not set(line.text) & {"\x1b", "\r", "\n", "\0", "\x01"}
        assert 0 <= line.offset < len(data)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["", f"{E}[36m", f"{E}[2m{E}[32m"]), min_size=3, max_size=3),
    st.sampled_from(["", "\r", f"\r{BAR}\r", f"{E}[A\r"]),
    st.sampled_from(["(T pid=1) ", "(T pid=1, ip=10.0.0.2) ", "(a:b T[rank=0] pid=1) ", ""]),
    st.sampled_from(["", "\r", f"{E}[0m", " [repeated 3x across cluster]"]),
)
def test_dress_never_changes_a_step_line(
    as_file: AsFile, colours: list[str], before: str, prefix: str, after: str
) -> None:
    reset = f"{E}[0m" if colours[0] else ""
    head = f"{colours[0]}{prefix.strip()}{reset}" + (" " if prefix else "")
    raw = f"{head}{before}{colours[1]}{STEP}{after}{colours[2]}\n"
    texts = [line.text for line in read(as_file, raw)[0]]
    assert texts[-1] == STEP
