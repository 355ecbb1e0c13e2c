"""`rollprof.check` and `rollprof.compare_runs` from Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import rollprof
from rollprof.errors import InputProblem, UsageProblem

Made = Callable[..., Path]


def test_check(made: Made, rollprof_baseline: Path) -> None:
    slow = rollprof.analyze(made(seed=2, steps=24, slower=1.2))
    verdict = rollprof.check(
        slow,
        max={"idle": 0.99},
        min={"step_s": 1},
        max_increase={"generate_s": "10%"},
        baseline=rollprof_baseline,
    )
    assert [(o.figure, o.status) for o in verdict.outcomes] == [
        ("step_idle", "holds"),
        ("step_s", "holds"),
        ("generate_s", "broken"),
    ]
    assert (verdict.failed, verdict.exit_code) == (True, 1)
    with pytest.raises(UsageProblem, match="no figure is called"):
        rollprof.check(slow, max={"step_idel": 0.3})
    with pytest.raises(UsageProblem, match="needs a baseline"):
        rollprof.check(slow, max_increase={"step_s": 1})
    other = rollprof.analyze(made(seed=2, steps=6, rollouts=32))
    with pytest.raises(InputProblem, match="differs in batch"):
        rollprof.check(other, max_increase={"step_s": 1}, baseline=rollprof_baseline)


@pytest.fixture
def rollprof_baseline(made: Made, tmp_path: Path) -> Path:
    from rollprof.gate.baseline import baseline_of, dumps

    file = tmp_path / "b.json"
    file.write_text(dumps(baseline_of(rollprof.analyze(made(seed=1, steps=24))), rollprof.__version__))
    return file


def test_compare_runs(made: Made) -> None:
    base = rollprof.analyze(made(seed=1, steps=24))
    found = rollprof.compare_runs(base, made(seed=2, steps=24, slower=1.2)).generation[0]
    assert not isinstance(found, str)
    assert found.main == "slower per token"
    with pytest.raises(UsageProblem):
        rollprof.compare_runs(base)
