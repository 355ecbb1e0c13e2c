"""A verl run of three steps on two engines, as its folder, its server's log and its nvidia-smi file tell it.

Times of completion are given by hand, so that every idle share is known: each step starts four requests on
either engine at once, and engine 1 is done when half of the step is over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

T0 = 1_779_397_800.0
TOKENS_PER_S = 50


class Step(NamedTuple):
    """Seconds from T0, of the whole step, and from the step's start to each completion, by engine."""

    start: float
    step_s: float
    ends: tuple[tuple[float, ...], tuple[float, ...]]

    @property
    def seconds(self) -> float:
        return max(map(max, self.ends))


STEPS = (
    Step(0.0, 40.0, ((2, 4, 6, 20), (2, 4, 6, 10))),
    Step(42.0, 55.0, ((4, 8, 12, 30), (4, 8, 12, 15))),
    Step(100.0, 44.0, ((5, 5, 5, 24), (5, 5, 5, 12))),
)
SLOT_IDLE = (1 - 54 / 160, 1 - 93 / 240, 1 - 66 / 192)
"""1 - sum of ends / (8 slots * longest)."""
ENGINE_IDLE = 0.25
"""Engine 1 has nothing to do for half of each generation."""


def write(
    root: Path, *, hours: float = 0.0, late: float = 0.0, clock: bool = True
) -> tuple[Path, Path, Path]:
    """The run's folder, `server.log` and `gpu.csv`.

    `hours`: the zone that the local clocks of engine and GPUs are in; `late`: seconds that the engine's clock
    is ahead; `clock`: whether the console log has one.
    """
    run = root / "run"
    (run / "rollouts").mkdir(parents=True)
    (run / "train.log").write_text("".join(_console(s, k, clock) for k, s in enumerate(STEPS)))
    for k, step in enumerate(STEPS):
        (run / "rollouts" / f"{k + 1}.jsonl").write_text("".join(_rollouts(step, k)))
    moments = [T0 - 10 + x for x in range(160)]
    server, gpus = root / "server.log", root / "gpu.csv"
    server.write_text("".join(_state(x, e, hours, late) for x in moments for e in (0, 1)))
    head = "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
    gpus.write_text(head + "".join(_gpu(x, e, hours) for x in moments for e in (0, 1)))
    return run, server, gpus


def _lengths(step: Step) -> list[int]:
    return [int(end * TOKENS_PER_S) for own in step.ends for end in own]


def _console(step: Step, k: int, clock: bool) -> str:
    L = _lengths(step)
    stamp = datetime.fromtimestamp(T0 + step.start + step.step_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ ")
    return (
        f"{stamp if clock else ''}(TaskRunner pid=5) step:{k + 1} - timing_s/gen:{step.seconds + 0.3:.3f} - "
        f"timing_s/step:{step.step_s:.3f} - timing_s/update_actor:9.0 - "
        f"response_length/mean:{sum(L) / len(L):.3f} - response_length/max:{max(L)}.0 - "
        f"response_length/min:{min(L)}.0 - response_length/clip_ratio:0.0 - critic/score/mean:0.5\n"
    )


def _rollouts(step: Step, k: int) -> list[str]:
    return [
        json.dumps({"input": f"q{k}_{i // 4}", "output": "x " * n, "score": float(i % 2), "step": k + 1})
        + "\n"
        for i, n in enumerate(_lengths(step))
    ]


def _running(moment: float, engine: int) -> tuple[int, float, bool]:
    """Requests running, tokens/s since a second ago, and whether prompts were read in it."""
    for step in STEPS:
        begin = T0 + step.start
        if begin <= moment < begin + step.seconds + 1:
            ends = [begin + end for end in step.ends[engine]]
            made = sum(max(0.0, min(end, moment) - max(begin, moment - 1)) for end in ends)
            return sum(end > moment for end in ends), made * TOKENS_PER_S, moment - begin < 1
    return 0, 0.0, False


def _state(moment: float, engine: int, hours: float, late: float) -> str:
    running, made, read = _running(moment, engine)
    stamp = _local(moment + late, hours).strftime("%m-%d %H:%M:%S")
    return (
        f"INFO {stamp} [loggers.py:271] Engine {engine:03d}: "
        f"Avg prompt throughput: {400.0 * read:.1f} tokens/s, "
        f"Avg generation throughput: {made:.1f} tokens/s, Running: {running} reqs, Waiting: 0 reqs, "
        f"GPU KV cache usage: {running * (10 + engine):.1f}%, Prefix cache hit rate: 0.0%\n"
    )


def _gpu(moment: float, engine: int, hours: float) -> str:
    training = any(T0 + s.start + s.seconds + 1 < moment < T0 + s.start + s.seconds + 10 for s in STEPS)
    busy = training or _running(moment, engine)[0] > 0
    stamp = _local(moment, hours).strftime("%Y/%m/%d %H:%M:%S.000")
    return f"{stamp}, {engine}, {90 if busy else 0} %, 61000 MiB, {400 if busy else 90}.00 W\n"


def _local(moment: float, hours: float) -> datetime:
    return datetime.fromtimestamp(moment + 3600 * hours, UTC)


def paths(root: Path, **changes: float | bool) -> Sequence[str]:
    """The three of them as arguments of a command."""
    return [str(p) for p in write(root, **changes)]  # type: ignore[arg-type]
