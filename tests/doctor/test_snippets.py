"""The code that doctor prints is run as the frameworks would run it, and rollprof reads what it writes."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rollprof import api
from rollprof.doctor.snippets import OPENRLHF, TRL, snippet_for

PROMPTS, SAMPLES, STEPS = 4, 8, 3
PER_STEP = PROMPTS * SAMPLES


def loaded(folder: Path, code: str) -> ModuleType:
    file = folder / "logged_reward.py"
    file.write_text(code)
    spec = importlib.util.spec_from_file_location(f"logged_reward_{folder.name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prompts_of(step: int) -> list[str]:
    """Prompts of one step, each so many times as it is sampled."""
    return [f"What is {step} + {i}?" for i in range(PROMPTS) for _ in range(SAMPLES)]


def response(step: int, at: int) -> str:
    return "so " * (1 + (7 * step + 3 * at) % 40) + "the end"


def reward(at: int) -> float:
    return float(at % 3 == 0)


def check(file: Path, out: Path, chars: dict[tuple[int, int], int]) -> Any:
    dataset = api.open_run([str(file)], options=api.OpenOptions(output=str(out), workers=1))
    rows = dataset.rollouts.collect()
    assert dataset.ledger.skipped == 0
    assert rows.height == STEPS * PER_STEP
    for step in range(1, STEPS + 1):
        mine = rows.filter(rows["step"] == step)
        assert mine.height == PER_STEP
        assert mine["group_id"].n_unique() == PROMPTS
        wanted = sorted(length for (s, _), length in chars.items() if s == step)
        assert sorted(mine["response_chars"].to_list()) == wanted
        assert mine["reward"].sum() == sum(reward(at) for at in range(PER_STEP))
    return dataset


def test_openrlhf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As openrlhf.utils.agent.SingleTurnExecutor calls it: one response at a time, in threads.
    (tmp_path / "my_reward.py").write_text(
        "def reward_func(queries, prompts, labels, **kwargs):\n"
        "    rewards = [float(label % 3 == 0) for label in labels]\n"
        "    return {'rewards': rewards, 'scores': rewards, 'extra_logs': {}}\n"
    )
    log = tmp_path / "rollouts.jsonl"
    monkeypatch.setenv("ROLLOUT_LOG", str(log))
    monkeypatch.setenv("ROLLOUTS_PER_STEP", str(PER_STEP))
    module = loaded(tmp_path, OPENRLHF.code)

    async def generate(step: int) -> None:
        prompts = prompts_of(step)
        calls = [
            asyncio.to_thread(module.reward_func, [f"<s>{prompt}{response(step, at)}"], [prompt], [at])
            for at, prompt in enumerate(prompts)
        ]
        for result in await asyncio.gather(*calls):
            assert set(result) == {"rewards", "scores", "extra_logs"}

    for step in range(1, STEPS + 1):
        asyncio.run(generate(step))
    lengths = {(s, at): len(response(s, at)) for s in range(1, STEPS + 1) for at in range(PER_STEP)}
    dataset = check(log, tmp_path / "dataset", lengths)
    assert dataset.rollouts.collect()["completed_at"].null_count() == 0
    analysis = api.analyze(dataset)
    assert analysis.figures["zero_variance_share"].value is not None
    assert analysis.figures["repeat_offender_share"].n >= 0


@pytest.mark.parametrize("chat", [False, True])
def test_trl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chat: bool) -> None:
    # As RLOOTrainer._calculate_rewards calls it, with a share of the batch in each process.
    log = tmp_path / "rollouts.jsonl"
    monkeypatch.setenv("ROLLOUT_LOG", str(log))
    module = loaded(tmp_path, TRL.code)

    @module.logged
    def exact(prompts: list[Any], completions: list[Any], **kwargs: Any) -> list[float]:
        return [reward(at) for at in kwargs["place"]]

    assert exact.__name__ == "exact"
    for step in range(STEPS):
        state = SimpleNamespace(global_step=step)
        for share in (range(PER_STEP // 2), range(PER_STEP // 2, PER_STEP)):
            texts = [response(step + 1, at) for at in share]
            given = [prompts_of(step + 1)[at] for at in share]
            rewards = exact(
                prompts=[[{"role": "user", "content": p}] for p in given] if chat else given,
                completions=[[{"role": "assistant", "content": t}] for t in texts] if chat else texts,
                completion_ids=[list(range(len(t.split()))) for t in texts],
                trainer_state=state,
                place=list(share),
            )
            assert rewards == [reward(at) for at in share]
    lengths = {(s, at): len(response(s, at)) for s in range(1, STEPS + 1) for at in range(PER_STEP)}
    rows = check(log, tmp_path / "dataset", lengths).rollouts.collect()
    assert set(rows["token_basis"].to_list()) == {"exact"}
    first = rows.filter(rows["step"] == 1)["response_tokens"].to_list()
    assert sorted(first) == sorted(len(response(1, at).split()) for at in range(PER_STEP))


def test_trl_keeps_evaluation_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "rollouts.jsonl"
    monkeypatch.setenv("ROLLOUT_LOG", str(log))
    scored = loaded(tmp_path, TRL.code).logged(lambda prompts, completions, **kwargs: [None, 1.0])
    scored(prompts=["a", "b"], completions=["c", "d e"], split=["eval", "train"])
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(x["split"], x["reward"], x["step"]) for x in lines] == [
        ("eval", None, None),
        ("train", 1.0, None),
    ]


@pytest.mark.parametrize(
    ("framework", "trainer", "version", "have", "found"),
    [
        ("openrlhf", "PPO", ">=0.10.2", (), OPENRLHF),
        ("openrlhf", "PPO", ">=0.10.2", ("rollouts.reward",), None),
        ("trl", "RLOOTrainer", "1.16.0", ("steps.step",), TRL),
        ("trl", "GRPOTrainer", "1.16.0", (), None),
        ("trl", "GRPOTrainer", "0.19.1", (), TRL),
        ("trl", "GRPOTrainer", None, (), None),
        ("verl", "legacy", "0.9.1", (), None),
    ],
)
def test_only_where_no_option_does_it(
    framework: str, trainer: str, version: str | None, have: tuple[str, ...], found: Any
) -> None:
    assert snippet_for(framework, trainer, version, have) is found
