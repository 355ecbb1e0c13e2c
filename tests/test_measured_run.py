"""A trainer's folder, its server's log and its GPUs' file are one run with measured idle."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tools"))

from sampled_run import ENGINE_IDLE, SLOT_IDLE, T0, paths

from rollprof import api
from rollprof.analyzers.results import Analysis
from rollprof.render.as_json import dumps
from rollprof.render.json_schema import SCHEMA
from rollprof.render.terminal import render


def analysed(tmp_path: Path, **changes: Any) -> Analysis:
    options = api.OpenOptions(output=str(tmp_path / "dataset"), reuse=False)
    return api.analyze(api.open_run(paths(tmp_path / "logs", **changes), options=options))


def test_one_run_with_measured_idle(tmp_path: Path) -> None:
    a = analysed(tmp_path)
    assert (a.run.framework, a.run.steps, a.run.rollouts, a.run.engines) == ("verl", 3, 24, 2.0)
    assert a.ledger["skipped"] == 0
    for step, truth in zip(a.steps, SLOT_IDLE, strict=True):
        slot, engine, gpus = (step.figures[n] for n in ("slot_idle", "engine_idle", "gpu_util_idle"))
        assert (slot.basis, engine.basis, gpus.basis) == ("measured", "measured", "measured")
        assert slot.value == pytest.approx(truth, abs=0.03)
        assert engine.value == pytest.approx(ENGINE_IDLE, abs=0.03)
        # of two GPUs one idles for half of the time; a sample at the end finds both idle
        assert gpus.value == pytest.approx(0.25, abs=0.06)
        assert slot.interval is not None
        assert slot.interval[0] <= truth <= slot.interval[1]
        assert "inferred" not in step.columns
    assert a.samples is not None
    assert (a.samples.how, a.samples.inferred) == ("clock", False)
    assert [s for _, _, s in a.samples.windows] == [1, 2, 3]
    weights = [8 * 20, 8 * 30, 8 * 24]
    whole = sum(w * t for w, t in zip(weights, SLOT_IDLE, strict=True)) / sum(weights)
    assert a.figures["slot_idle"].value == pytest.approx(whole, abs=0.02)
    assert a.figures["engine_imbalance"].value == pytest.approx(2 / 1.5, abs=0.05)


def test_each_engine_by_itself(tmp_path: Path) -> None:
    a = analysed(tmp_path)
    by_name = {e.engine: e.figures for e in a.engines}
    assert set(by_name) == {"000", "001"}
    used = [32 + 54 + 39, 22 + 39 + 27]
    for figures, work, dark in zip(by_name.values(), used, (0.0, 0.5), strict=True):
        slot = figures["slot_idle"]
        assert slot.value == pytest.approx(1 - work / (4 * 74), abs=0.03)
        assert slot.interval is not None
        assert slot.interval[0] <= 1 - work / (4 * 74) <= slot.interval[1]
        assert figures["engine_idle"].value == pytest.approx(dark, abs=0.03)
        assert figures["queue_share"].value == 0
    # the fleet's is the mean of its engines'
    mean = sum(f["slot_idle"].value or 0.0 for f in by_name.values()) / 2
    assert a.figures["slot_idle"].value == pytest.approx(mean, abs=0.02)
    assert [by_name[n]["kv_usage_max"].value for n in ("000", "001")] == [
        pytest.approx(0.4),
        pytest.approx(0.44),
    ]


def test_measured_stands_beside_modelled(tmp_path: Path) -> None:
    a = analysed(tmp_path)
    beside = {b.basis: b for b in a.figures["slot_idle"].beside()}
    assert isinstance(beside["modelled"].value, tuple)
    assert abs(beside["modelled"].apart) < 0.03, "one second a token is the upper end of the bracket"
    assert not any(f.code == "slot_idle_outside_bracket" for f in a.findings)
    text = render(a, width=140, full=True)
    assert "measured slot_idle" in text
    assert "(agrees within its error)" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hours": 8.0}, "moved by -8 h"),
        ({"late": 45.0}, "corrected by -45 s"),
        ({"hours": -5.0, "late": -20.0}, "corrected by +20 s"),
        ({"clock": False}, "in order"),
        ({"clock": False, "hours": 9.0}, "in order"),
    ],
)
def test_clocks_that_differ_are_put_right_and_said(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    a = analysed(tmp_path, **changes)
    assert [s.figures["slot_idle"].basis for s in a.steps] == ["measured"] * 3
    assert [s.figures["slot_idle"].value for s in a.steps] == pytest.approx(SLOT_IDLE, abs=0.03)
    assert a.samples is not None
    assert said in " ".join(render(a, width=140, full=True).split())
    if changes.get("clock", True):
        assert a.samples.windows[0][0] == pytest.approx(T0, abs=2)


def test_json_has_engines_and_how_they_were_joined(tmp_path: Path) -> None:
    import jsonschema

    found = json.loads(dumps(analysed(tmp_path, late=45.0)))
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert [e["engine"] for e in found["engines"]] == ["000", "001"]
    assert found["engines"][0]["figures"]["slot_idle"]["basis"] == "measured"
    samples = found["samples"]
    assert (samples["join"], samples["corrected_s"], samples["gpus"]) == ("clock", -45.0, 2)
    assert samples["skew_s"] == pytest.approx(45, abs=1)
    assert [w["step"] for w in samples["windows"]] == [1, 2, 3]
    assert samples["refused"] == []
