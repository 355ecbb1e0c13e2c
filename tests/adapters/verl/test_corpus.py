"""Logs found in public and logs written by verl's own code, against what is known of them otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rollprof.adapters.base import Dropped, Evidence, Interpretation, MapperContext
from rollprof.adapters.verl import ADAPTER
from rollprof.schema.ledger import Ledger
from rollprof.sources.lines import read_json
from rollprof.sources.tree import find_files, keys_of, sniff

Reading = tuple[Interpretation, Ledger]


@pytest.fixture
def real(corpus: Path) -> Callable[[str], Reading]:
    """`real("08")` reads that log of the corpus, which must hold one run."""

    def run(number: str) -> Reading:
        (path,) = (corpus / "verl" / "real").glob(f"{number}_*")
        return interpreted(path)

    return run


def interpreted(path: Path) -> Reading:
    file, ledger = sniff(str(path), path.name), Ledger()
    claim = ADAPTER.claim(file)
    assert claim is not None
    (part,) = ADAPTER.read(file, claim, ledger)
    metrics: dict[int, dict[str, float]] = {}
    for record in part.metrics:
        assert record.step is not None
        metrics.setdefault(record.step, {})[record.key] = record.value
    return ADAPTER.interpret(Evidence(metrics, {}, part.config, part.hints, {}, {})), ledger


def train(reading: Interpretation) -> dict[int, dict[str, object]]:
    return {row["step"]: dict(row) for row in reading.steps if row["split"] == "train"}


@pytest.mark.parametrize(
    ("number", "version", "steps", "gpus", "responses"),
    [
        ("01", "0.1", range(19), 2, 512),
        ("02", "0.1", range(9), 1, 256),
        ("04", "0.2", range(1, 12), 8, 5120),
        ("06", "0.2", range(1110, 1120), 8, 1024),
        ("08", "0.4.1", range(1, 10), 8, 5120),
        ("10", ">=0.6", range(1, 3), 8, 384),
        ("12", "0.5", range(1, 2), 1, 1024),
        ("13", "0.5", range(1, 2), 1, 128),
        ("14", "0.7.1", range(1, 2), 4, 128),
        ("17", "0.6", range(71, 73), 1, 256),
        ("19", "0.7.1", range(1, 2), 16, None),
        ("20", ">=0.8", range(34, 35), None, None),
        ("21", "0.4", range(2, 3), None, None),
        ("22", "0.3", range(2, 3), None, None),
        ("23", "0.4", range(1, 2), None, None),
        ("25", "0.1", range(1), None, None),
    ],
)
def test_what_is_known_of_each_log(
    real: Callable[[str], Reading],
    number: str,
    version: str,
    steps: range,
    gpus: int | None,
    responses: int | None,
) -> None:
    reading, _ = real(number)
    assert reading.version == version
    assert reading.trainer == "legacy"
    assert list(train(reading)) == list(steps)
    facts = {name: fact.value for name, fact in reading.facts.items()}
    assert facts.get("gpus") == gpus
    assert facts.get("responses_per_step") == responses
    assert reading.alarms == []


def test_08_every_step_by_the_identities(real: Callable[[str], Reading]) -> None:
    reading, ledger = real("08")
    rows = train(reading)
    assert {row["rollouts"] for row in rows.values()} == {5120}
    assert {row["gpus"] for row in rows.values()} == {8.0}
    assert rows[9]["engine_s_mean"] == 53.700
    assert rows[9]["engine_s_max"] == pytest.approx(67.806 - 4.853)
    assert rows[5]["eval_s"] == 137.958
    assert "confirmed" in reading.facts["gpus"].how
    assert {row["step"] for row in reading.steps if row["split"] == "eval"} == {0, 5}
    assert ledger.notes == 0


def test_14_mean_and_max_of_the_agent_loop(real: Callable[[str], Reading]) -> None:
    (row,) = train(real("14")[0]).values()
    mean, slowest = row["rollout_s_mean"], row["rollout_s_max"]
    assert isinstance(mean, float)
    assert isinstance(slowest, float)
    assert 1 - mean / slowest == pytest.approx(0.721, abs=5e-4)
    assert row["rollouts"] == 128


def test_20_across_the_gap_of_an_excerpt(real: Callable[[str], Reading]) -> None:
    reading, ledger = real("20")
    row = train(reading)[34]
    assert row["rollout_s_mean"] == pytest.approx(266.6, abs=0.05)
    assert row["rollout_s_max"] == pytest.approx(539.5, abs=0.05)
    assert row["generate_s"] == pytest.approx(541.2, abs=0.05)
    assert row["step_s"] == pytest.approx(1164.0, abs=0.1)
    assert row["advantage_s"] == 0.036577751860022545  # broken in mid-number
    assert row["response_tokens_mean"] == 1267.024169921875
    assert ledger.notes == 1


def test_13_a_wrapped_line_without_its_head(real: Callable[[str], Reading]) -> None:
    reading, ledger = real("13")
    row = train(reading)[1]
    assert row["response_tokens_max"] == 128.0  # its key was broken
    assert row["eval_s"] == 21.206496983766556  # its number was broken
    assert row["tokens_per_gpu_s"] == 619.4671875793262
    assert row["step_s"] == 30.030646292492747
    assert ledger.repaired == 8


def test_23_evaluation_at_step_0_and_part_of_step_1(real: Callable[[str], Reading]) -> None:
    reading, _ = real("23")
    assert [(r["step"], r["split"]) for r in reading.steps] == [(0, "eval"), (1, "train")]
    row = train(reading)[1]
    assert (row["response_tokens_mean"], row["response_tokens_max"]) == (288.698, 963.0)
    assert "prompt_tokens_mean" not in row


def test_21_nan_and_22_cut(real: Callable[[str], Reading]) -> None:
    assert train(real("21")[0])[2]["response_tokens_mean"] == 368.902  # its number was broken
    reading, ledger = real("22")
    assert train(reading)[2]["step_s"] == 96.551
    assert [p.reason for p in ledger.problems if p.kind == "note"] == [
        "step 2: 'timing_per_token_ms/ref:' is no key and value, dropped"
    ]


def test_01_configuration_with_foreign_lines_glued_in(real: Callable[[str], Reading]) -> None:
    reading, ledger = real("01")
    assert reading.facts["gpus"].value == 2
    assert reading.facts["engines"].value == 1
    assert reading.facts["max_num_seqs"].origin == "config"
    assert ledger.notes == 1
    rows = train(reading)
    assert rows[0]["generate_s"] == 48.956
    assert reading.steps[1]["split"] == "eval"


def test_logs_without_a_step(real: Callable[[str], Reading]) -> None:
    for number in ("03", "11"):
        reading, _ = real(number)
        assert list(reading.steps) == []


def test_24_is_no_log_of_verl(corpus: Path) -> None:
    (path,) = (corpus / "verl" / "real").glob("24_*")
    assert ADAPTER.claim(sniff(str(path), path.name)) is None


def test_nobody_elses_file_is_claimed(corpus: Path) -> None:
    others = [
        str(corpus / name) for name in ("trl", "openrlhf", "other", "engine") if (corpus / name).is_dir()
    ]
    claimed = [f.name for f in find_files(others) if ADAPTER.claim(f) is not None]
    assert claimed == []


def test_every_release_s_own_writers(corpus: Path) -> None:
    found = 0
    for path in sorted((corpus / "verl" / "written" / "by_release").rglob("*")):
        if path.name == "console.log":
            rows = train(interpreted(path)[0])
            assert list(rows) == [1, 2]
            assert rows[1]["response_tokens_mean"] == 27.75
            assert rows[1]["generate_s"] == 3.95
            found += 1
        elif path.name == "file_logger.jsonl":
            assert train(interpreted(path)[0])[2]["generate_s"] == 1.5
            found += 1
    assert found == 19


def test_every_release_s_dumps(corpus: Path) -> None:
    written = corpus / "verl" / "written"
    counted: dict[str, tuple[int, int, int]] = {}
    for path in sorted(written.rglob("[0-9].jsonl")):
        file, ledger = sniff(str(path), str(path.relative_to(written))), Ledger()
        claim = ADAPTER.claim(file)
        assert claim is not None
        assert claim.split == "train"
        mapper = ADAPTER.mapper(MapperContext(file.name, file.stem, "train", keys=keys_of(file)))
        rows = [mapper(r.data) for r in read_json(file, ledger)]
        kept = [dict(zip(mapper.columns, r, strict=True)) for r in rows if not isinstance(r, Dropped)]
        assert ledger.clean
        assert {r["step"] for r in kept} == {int(file.stem)}
        assert all(r["reward"] in (0.0, 1.0) for r in kept)
        groups = {r["group"] if r["group"] is not None else r["prompt"] for r in kept}
        counted[file.name] = (len(kept), len(rows) - len(kept), len(groups))
    v1 = [n for name, n in counted.items() if "rollout_v1" in name and "full" in name]
    assert v1 == [(16, 1, 4)] * len(v1) != []
    assert {n for name, n in counted.items() if "full" not in name} == {(16, 0, 4)}


def test_verl_0_9_1_whole(corpus: Path) -> None:
    reading, ledger = interpreted(corpus / "verl/written/0.9.1_full/console.log")
    assert list(train(reading)) == [1, 2, 3]
    assert reading.trainer == "legacy"  # though its configuration says use_v1
    assert [a.code for a in reading.alarms] == ["gpus-disagree"]  # its numbers are invented
    assert reading.facts["max_num_seqs"].value == 256
    assert ledger.clean
    console, logged = train(reading), train(interpreted(corpus / "verl/written/0.9.1_full/proj/exp.jsonl")[0])
    shared = [column for column in logged[2] if column != "prompts"]
    assert {c: console[2][c] for c in shared} == {c: logged[2][c] for c in shared}


def test_fully_async_lines_of_0_9_1(corpus: Path) -> None:
    reading, _ = interpreted(corpus / "verl/written/0.9.1_full/fully_async_console.log")
    assert reading.trainer == "fully-async"
    row = train(reading)[1]
    assert row["trainer_idle"] == pytest.approx(17.05918204996513 / 35.53974204996513)
    assert row["rollout_idle"] == 0.245
    assert (row["rollout_s_mean"], row["rollout_s_max"], row["rollouts"]) == (4.5, 13.0, 64)
