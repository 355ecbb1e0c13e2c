"""`trainer_state.json` (under any name), and ms-swift's `logging.jsonl`, -> one metric part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Claim, MetricPart
from rollprof.adapters.trl.derived import derived_settings
from rollprof.adapters.trl.logdict import generates
from rollprof.adapters.trl.numbering import PROGRESS_KEY
from rollprof.adapters.trl.progress import ELAPSED, spoken_seconds
from rollprof.schema.ledger import Ledger
from rollprof.sources.lines import read_json
from rollprof.sources.records import JsonRecord, MetricRecord, SniffedFile

SETTINGS = ("logging_steps", "max_steps", "train_batch_size", "num_train_epochs", "save_steps", "global_step")
"""Entries of the state beside its history; `train_batch_size` is that of one device."""


def read_trainer_state(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """The history of a state file. An entry without a step is noted and left out."""
    for record in read_json(file, ledger):
        history = record.data.get("log_history")
        if not isinstance(history, list):
            continue
        entries = [e for e in history if isinstance(e, dict)]
        metrics = list(_of_history(entries, record, file, ledger))
        if not any(generates(e) for e in entries):
            continue
        finished = any("train_runtime" in e and "loss" not in e for e in entries)
        config: dict[str, Any] = {name: record.data[name] for name in SETTINGS if name in record.data}
        if "train_batch_size" in config:
            config["per_device_train_batch_size"] = config.pop("train_batch_size")
        config |= derived_settings(metrics, finished=finished)
        return [MetricPart(file, claim, metrics, config=config, hints={"steps": "logged"})]
    return []


def _of_history(
    entries: list[dict[str, Any]], record: JsonRecord, file: SniffedFile, ledger: Ledger
) -> Iterator[MetricRecord]:
    lacking = 0
    for entry in entries:
        step = values.integer(entry.get("step"))
        if step is None:
            lacking += 1
            continue
        yield from _records(entry, step, record.offset)
    if lacking:
        ledger.note(file.name, record.offset, f"{lacking} entries of the history have no step: left out")


def read_logging_lines(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """ms-swift's JSON lines: one object per log, its step in `global_step/max_steps`."""
    metrics: list[MetricRecord] = []
    for record in read_json(file, ledger):
        progress = record.data.get(PROGRESS_KEY)
        step = values.integer(progress.partition("/")[0]) if isinstance(progress, str) else None
        if step is not None:
            metrics += _records(record.data, step, record.offset)
            spoken = record.data.get("elapsed_time")
            if isinstance(spoken, str) and (elapsed := spoken_seconds(spoken)) is not None:
                metrics.append(MetricRecord(step, ELAPSED, elapsed, None, record.offset))
        elif "last_model_checkpoint" not in record.data:
            ledger.note(file.name, record.offset, "an object without a step: left out")
    if not metrics:
        return []
    config = derived_settings(metrics, finished=False)
    return [MetricPart(file, claim, metrics, config=config, hints={"mark.swift": "1", "steps": "logged"})]


def _records(entry: Mapping[str, Any], step: int, offset: int) -> list[MetricRecord]:
    """The numbers of an entry as they stand, NaN included; `null` is no value."""
    return [
        MetricRecord(step, key, float(value), None, offset)
        for key, value in entry.items()
        if key != "step" and type(value) in (int, float)
    ]
