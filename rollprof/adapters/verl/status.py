"""What verl's console says beside its step lines: which program ran, where it dumps, how it waits.

Each remark becomes a hint. Marks (`mark.NAME`) are evidence for the release or the trainer; they have a
key of their own, so that hints of several files add up.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rollprof.adapters.verl import concurrency
from rollprof.adapters.verl.config import ENTRY
from rollprof.sources.records import EngineSample, TextLine

RUNNERS = ("TaskRunner", "TaskRunnerV1", "main_task", "FullyAsyncTrainer", "FullyAsyncTaskRunner")
"""Actors that print step lines and the configuration."""

_GROUPS = re.compile(r"pending: (\d+), running: (\d+), finished: (\d+), failure: (\d+)")
_COLLECTED = re.compile(r"Loop collection completed: (\d+)/(\d+) samples, total wait time: ([\d.]+) seconds")
_DUMPED = re.compile(r"Dumped generations to (\S.*?)[/\\][^/\\]+\.jsonl\s*$")
_WANDB = re.compile(r"https?://\S*wandb\.\w+/\S+/runs/([A-Za-z0-9_-]+)")
_TOTAL = re.compile(r"Training Progress:.*?\| *\d+/(\d+) \[")
_RESUMED = re.compile(r"Setting global step to (\d+)")
_FILE_LOGGER = re.compile(r"Creating file logger at (\S+)")

_MARKS: tuple[tuple[str, str], ...] = (
    ("num_prompt_in_batch=", "dapo"),
    ("Keep generating...", "dapo"),
    ("TaskRunner hostname:", "runner_hostname"),
    ("ray init kwargs:", "ray_init_kwargs"),
    ("[FullyAsyncTrainer]", "fully_async"),
    ("[FullyAsyncRollouter]", "fully_async"),
    ("[RolloutSkip", "rollout_skip"),
)


class StatusReader:
    """Gathers the hints of one launch, line by line."""

    def __init__(self) -> None:
        self.hints: dict[str, str] = {}
        self.run_id: str | None = None
        self.in_work: list[EngineSample] = []
        """Prompts in work, as far as they are dated."""
        self._counts: dict[str, float] = {}
        self._time: float | None = None

    def mark(self, name: str) -> None:
        self.hints[f"mark.{name}"] = "1"

    def feed(self, line: TextLine) -> None:
        """Take what a line says. Cheap: most lines are another actor's and say nothing here."""
        if line.actor in RUNNERS:
            self.mark(line.actor)
        text, self._time = line.text, line.time
        for needle, take in _TAKE:
            if needle in text:
                take(self, text)
        for needle, name in _MARKS:
            if needle in text:
                self.mark(name)

    def _groups(self, text: str) -> None:
        found = _GROUPS.search(text)
        if found is None:
            return
        pending, running, finished, failed = map(int, found.groups())
        self.mark("v1_status")
        lines = self._add("status", 1)
        if self._time is not None:
            self.in_work.append(concurrency.groups(self._time, pending, running))
        most = self._counts["unfinished"] = max(self._counts.get("unfinished", 0), pending + running)
        self.hints["v1_status"] = (
            f"{lines:.0f} status lines, at most {most:.0f} prompt groups unfinished, last: "
            f"{pending} pending, {running} running, {finished} finished, {failed} failed"
        )

    def _collected(self, text: str) -> None:
        found = _COLLECTED.search(text)
        if found is not None:
            times, waited = self._add("collections", 1), self._add("waited", float(found.group(3)))
            self.hints["fully_async_wait"] = f"trainer waited {waited:.2f} s in {times:.0f} collections"

    def _active(self, text: str) -> None:
        times = self._add("histories", 1)
        self.in_work.extend(concurrency.history(text))
        cut = self._add("cut", 0.0 if concurrency.is_whole(text) else 1.0)
        self.hints["rollouter_timeline"] = f"{times:.0f} in-flight timelines" + (
            f", {cut:.0f} of them cut short" if cut else ""
        )

    def _paused(self, _text: str) -> None:
        self.hints["rollouter_paused"] = f"{self._add('pauses', 1):.0f} pauses"

    def _dumped(self, text: str) -> None:
        found = _DUMPED.search(text)
        if found is not None:
            self.hints["dump_dir"] = found.group(1)

    def _linked(self, text: str) -> None:
        found = _WANDB.search(text)
        if found is not None:
            self.run_id = found.group(1)

    def _progress(self, text: str) -> None:
        found = _TOTAL.search(text)
        if found is not None:
            self.mark("progress")
            self.hints["total_steps"] = found.group(1)

    def _resumed(self, text: str) -> None:
        found = _RESUMED.search(text)
        if found is not None and found.group(1) != "0":
            self.hints["resumed_at"] = found.group(1)

    def _logger(self, text: str) -> None:
        found = _FILE_LOGGER.search(text)
        if found is not None:
            self.hints["file_logger"] = found.group(1)

    def _started(self, text: str) -> None:
        found = ENTRY.search(text)
        if found is not None:
            self.hints["entry"] = found.group(1)

    def _add(self, name: str, amount: float) -> float:
        self._counts[name] = self._counts.get(name, 0.0) + amount
        return self._counts[name]


_TAKE: tuple[tuple[str, Callable[[StatusReader, str], None]], ...] = (
    ("pending: ", StatusReader._groups),
    ("Loop collection completed", StatusReader._collected),
    (concurrency.HISTORY, StatusReader._active),
    ("[ShouldPause]", StatusReader._paused),
    ("Dumped generations to", StatusReader._dumped),
    ("wandb", StatusReader._linked),
    ("Training Progress:", StatusReader._progress),
    ("Setting global step to", StatusReader._resumed),
    ("Creating file logger at", StatusReader._logger),
    ("python", StatusReader._started),
)
