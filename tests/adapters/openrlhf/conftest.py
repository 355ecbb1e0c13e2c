"""Logs of OpenRLHF made on the spot, and its adapter at work on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rollprof.adapters.base import Evidence, Interpretation, MetricPart
from rollprof.adapters.openrlhf import ADAPTER
from rollprof.assemble import merge
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.tree import sniff


class Logs:
    """Lines as OpenRLHF, tqdm and Ray write them."""

    SYNC_KEYS = ("timing/generation", "timing/make_experience", "timing/ppo_train", "timing/broadcast")

    @staticmethod
    def said(message: str, time: str = "11-30 21:04:55", actor: str = "PPOTrainer", pid: int = 7) -> str:
        """One line of the logger behind Ray's coloured prefix."""
        return f"\x1b[36m({actor} pid={pid})\x1b[0m INFO {time} ppo_trainer.py:551] {message}\n"

    @classmethod
    def step(cls, number: int, metrics: Mapping[str, Any], time: str = "11-30 21:04:55", **who: Any) -> str:
        """A step line of the synchronous trainer."""
        return cls.said(f"✨ Global step {number}: {dict(metrics)!r}", time, **who)

    @staticmethod
    def bar(
        what: str,
        done: int,
        total: int,
        elapsed: float,
        *,
        extra: str = "",
        actor: str = "PPOTrainer",
        pid: int = 7,
        rate: float | None = None,
    ) -> str:
        """One state of a bar on a line of its own. `rate` as when the bar closes: done per second."""
        seconds = int(elapsed)
        clock = f"{seconds // 60:02d}:{seconds % 60:02d}"
        shown = "?it/s" if rate is None else f"{rate:5.2f}it/s" if rate >= 1 else f"{1 / rate:5.2f}s/it"
        tail = f", {extra}" if extra else ""
        percent = f"{100 * done // total:3d}%|{'#' * (10 * done // total):10s}|"
        state = f"{what}: {percent} {done}/{total} [{clock}<00:01, {shown}{tail}]"
        return f"\x1b[36m({actor} pid={pid})\x1b[0m \r{state}\x1b[A\n"

    @classmethod
    def groups(cls, times: Sequence[float], consumed: int | None = None, **who: Any) -> str:
        """The generation bar of a call whose groups are done at `times` (seconds, ascending)."""
        total = len(times)
        extra = f"prompts_consumed={consumed or total}"
        text = cls.bar("Generate samples", 0, total, 0, **who)
        for done, at in enumerate(times):
            text += cls.bar("Generate samples", done, total, at, extra=extra, **who)
            text += cls.bar("Generate samples", done + 1, total, at, extra=extra, **who)
        end = times[-1]
        return text + cls.bar("Generate samples", total, total, end, extra=extra, rate=total / end, **who)


@pytest.fixture
def logs() -> type[Logs]:
    """Builders of log lines."""
    return Logs


Make = Callable[..., SniffedFile]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """`make(content, name="run.log")` writes a file and looks at it."""

    def write(content: str | bytes, name: str = "run.log") -> SniffedFile:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return sniff(str(path), name)

    return write


@pytest.fixture
def read(make: Make) -> Callable[..., tuple[list[MetricPart], Ledger]]:
    """`read(content)` reads a log: its parts and the ledger."""

    def run(content: str | bytes, name: str = "run.log") -> tuple[list[MetricPart], Ledger]:
        file, ledger = make(content, name), Ledger()
        claim = ADAPTER.claim(file)
        assert claim is not None
        return ADAPTER.read(file, claim, ledger), ledger

    return run


class Run:
    """A run as the adapter reads it. `steps[n]` is the training row, `evals[n]` the evaluation row."""

    def __init__(self, part: MetricPart, reading: Interpretation, ledger: Ledger) -> None:
        self.part, self.reading, self.ledger = part, reading, ledger
        self.steps = {r["step"]: r for r in reading.steps if r["split"] == "train"}
        self.evals = {r["step"]: r for r in reading.steps if r["split"] == "eval"}
        self.facts = {name: fact.value for name, fact in reading.facts.items()}
        self.alarms = {alarm.code: alarm for alarm in reading.alarms}
        self.logged: dict[int | None, dict[str, float]] = {}
        for record in part.metrics:
            self.logged.setdefault(record.step, {})[record.key] = record.value

    def note(self, words: str) -> bool:
        """Whether a note has these words."""
        return any(words in note for note in self.reading.notes)


def understand(part: MetricPart, ledger: Ledger) -> Run:
    """Interpret one part alone."""
    return Run(part, ADAPTER.interpret(merge.evidence(merge.merge([part]), {}, {})), ledger)


@pytest.fixture
def run(read: Callable[..., tuple[list[MetricPart], Ledger]]) -> Callable[..., Run]:
    """`run(content)` reads and interprets the last run in a log."""

    def whole(content: str | bytes, name: str = "run.log") -> Run:
        parts, ledger = read(content, name)
        return understand(parts[-1], ledger)

    return whole


@pytest.fixture
def corpus_run(corpus: Path) -> Callable[[str], Run]:
    """`corpus_run("written/sync.log")` reads and interprets a log of the corpus."""

    def whole(name: str) -> Run:
        path = corpus / "openrlhf" / name
        file, ledger = sniff(str(path), path.name), Ledger()
        claim = ADAPTER.claim(file)
        assert claim is not None
        return understand(ADAPTER.read(file, claim, ledger)[-1], ledger)

    return whole


@pytest.fixture
def interpret() -> Callable[..., Interpretation]:
    """`interpret({step: {key: value}}, config, hints)` is the adapter's reading of those metrics."""

    def run(
        metrics: Mapping[int, Mapping[str, float]],
        config: Mapping[str, Any] | None = None,
        hints: Mapping[str, str] | None = None,
        overrides: Mapping[str, Any] | None = None,
        times: Mapping[int, float] | None = None,
    ) -> Interpretation:
        return ADAPTER.interpret(
            Evidence(metrics, times or {}, config or {}, hints or {}, overrides or {}, {})
        )

    return run
