"""rollprof reads a sample as it reads the log: the same steps, lengths and rewards."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollprof import api
from rollprof.schema.store import Dataset

LOGS = ("verl", "openrlhf", "trl", "straggler_512.jsonl")
IDENTITIES = {"prompt_id", "group_id"}
"""Hashes of texts: other texts, other hashes; which are equal stays."""
OF_ARGUMENTS = {"engine", "prompt_tokens", "prompt_tokens_mean", "source"}
"""Known from TRL's training_args.bin, which is binary and stays at home."""


def opened(path: Path, out: Path) -> Dataset:
    return api.open_run([str(path)], options=api.OpenOptions(output=str(out), workers=1))


def differing(one: pl.DataFrame, other: pl.DataFrame) -> set[str]:
    assert one.height == other.height
    plain = [name for name, kind in one.schema.items() if not kind.is_nested()]
    return {n for n in plain if not one[n].cast(pl.String).equals(other[n].cast(pl.String))}


def sampled(log: Path, folder: Path) -> Path:
    """The sample of a log, unpacked."""
    made = api.anonymized([str(log)], "sample.zip")
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("name", LOGS)
def test_steps_and_rollouts(root: Path, tmp_path: Path, name: str) -> None:
    log = root / "sample_logs" / name
    whole = opened(log, tmp_path / "whole")
    sample = opened(sampled(log, tmp_path / "sample"), tmp_path / "of-sample")
    without = OF_ARGUMENTS if name == "trl" else set()
    assert differing(whole.steps.collect(), sample.steps.collect()) <= without
    one, other = whole.rollouts.collect(), sample.rollouts.collect()
    assert differing(one, other) <= IDENTITIES | without
    for column in IDENTITIES:
        if one.height:
            assert one[column].n_unique() == other[column].n_unique()
    assert whole.meta["framework_version"] == sample.meta["framework_version"]
    if name != "trl":
        assert facts(whole) == facts(sample)
    assert (sample.ledger.skipped, sample.ledger.repaired) == (whole.ledger.skipped, whole.ledger.repaired)


def facts(dataset: Dataset) -> dict[str, Any]:
    """Facts but for names that somebody gave."""
    known = dataset.meta["facts"].items()
    return {name: fact["value"] for name, fact in known if name not in ("model", "grader")}


def test_figures(root: Path, tmp_path: Path) -> None:
    log = root / "sample_logs" / "verl"
    whole = api.analyze(opened(log, tmp_path / "whole"))
    sample = api.analyze(opened(sampled(log, tmp_path / "sample"), tmp_path / "of-sample"))
    for name, figure in whole.figures.items():
        if figure.value is None:
            assert sample.figures[name].value is None
        else:
            assert sample.figures[name].value == pytest.approx(figure.value, rel=0.05, abs=0.02), name


@pytest.mark.parametrize("damage", ["corrupt_mid", "merged_lines", "trunc_last", "nan_inf", "pretty", "crlf"])
def test_damage_stays_damage(corpus: Path, tmp_path: Path, damage: str) -> None:
    log = corpus / "edge_jsonl" / f"{damage}.jsonl"
    whole = opened(log, tmp_path / "whole")
    (tmp_path / "s.jsonl").write_bytes(api.anonymized([str(log)], "s.jsonl").content)
    sample = opened(tmp_path / "s.jsonl", tmp_path / "of-sample")
    assert sample.rollouts.collect().height == whole.rollouts.collect().height
    assert [p.reason for p in sample.ledger.problems] == [p.reason for p in whole.ledger.problems]
    # pytest's folder is called after a test, which looks like evaluation
    assert differing(whole.rollouts.collect(), sample.rollouts.collect()) <= {*IDENTITIES, "split"}


@pytest.mark.parametrize(
    "name", ["async", "eval", "filter", "partial", "sync", "v0.8.11_sync", "v0.9.5_sync"]
)
def test_every_kind_of_openrlhf_log(corpus: Path, tmp_path: Path, name: str) -> None:
    log = corpus / "openrlhf" / "written" / f"{name}.log"
    whole = opened(log, tmp_path / "whole")
    (tmp_path / "s.log").write_bytes(api.anonymized([str(log)], "s.log").content)
    sample = opened(tmp_path / "s.log", tmp_path / "of-sample")
    assert differing(whole.steps.collect(), sample.steps.collect()) == set()
    assert facts(whole) == facts(sample)
