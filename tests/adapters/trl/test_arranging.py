"""What the files of a dump mean together."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest

from rollprof.adapters.base import Claim
from rollprof.adapters.trl import groups
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

from .log_text import reasons

Dump = Callable[..., SniffedFile]
Arrange = Callable[..., tuple[list[tuple[SniffedFile, Claim]], Ledger]]


def batch(
    prompts: str, seed: int, group: int = 4, weights: tuple[float, float] = (1.0, 1.0), **extra: Any
) -> list[dict[str, Any]]:
    """Rows of one generation: a letter per prompt, rewards drawn, advantages as TRL scales them."""
    rng = random.Random(seed)
    rows = []
    for prompt in prompts:
        pairs = [(float(rng.random() < 0.5), -rng.random()) for _ in range(group)]
        sums = [weights[0] * a + weights[1] * b for a, b in pairs]
        spread = pstdev(sums) or 1.0
        for (a, b), total in zip(pairs, sums, strict=True):
            text = " ".join(rng.choice(["one", "two"]) for _ in range(rng.randint(1, 9)))
            row = {"prompt": prompt, "completion": text, "exact": a, "brevity": b, **extra}
            rows.append({**row, "advantage": (total - fmean(sums)) / (spread + 1e-4)})
    return rows


def hints(arranged: list[tuple[SniffedFile, Claim]]) -> dict[int, dict[str, str]]:
    return {int(f.stem.removeprefix("completions_")): dict(c.hints) for f, c in arranged}


def test_a_repeat_of_the_file_before_is_left_out(dump: Dump, arrange: Arrange) -> None:
    first, second = batch("ab", 1), batch("cd", 2)
    files = [dump(1, first), dump(2, first), dump(3, first), dump(4, second), dump(5, second)]
    arranged, ledger = arrange(files)
    assert sorted(hints(arranged)) == [1, 4]
    assert ledger.dropped == 3 * 8
    assert len(reasons(ledger)) == 3
    assert "same completions as completions/completions_00001.parquet" in reasons(ledger)[0]


def test_equal_prompts_are_no_repeat(dump: Dump, arrange: Arrange) -> None:
    arranged, ledger = arrange([dump(s, batch("ab", s)) for s in (1, 2, 3)])
    assert sorted(hints(arranged)) == [1, 2, 3]
    assert ledger.dropped == 0


def test_steps_are_numbers_not_names(dump: Dump, arrange: Arrange) -> None:
    files = [dump(s, batch("ab", s)) for s in (100_000, 99_999, 9)]
    arranged, _ = arrange(files)
    assert [f.stem for f, _ in arranged] == ["completions_00009", "completions_99999", "completions_100000"]


def test_group_size_from_settings_then_from_the_rows(dump: Dump, arrange: Arrange) -> None:
    files = [dump(s, batch("abc", s)) for s in (1, 2)]
    assert {h["group_size"] for h in hints(arrange(files)[0]).values()} == {"4"}
    assert {h["group_size"] for h in hints(arrange(files, {"num_generations": 6})[0]).values()} == {"6"}
    told = {"num_generations": 6, "group_size": 12}
    assert {h["group_size"] for h in hints(arrange(files, told)[0]).values()} == {"12"}
    assert "group_size" not in hints(arrange(files, {"num_generations": 5})[0])[1]  # does not divide 12


def test_neighbouring_groups_of_one_prompt_are_told_by_their_advantages(dump: Dump) -> None:
    assert groups.inferred_size([dump(1, batch("aaaa", 3))]) == 4
    assert groups.inferred_size([dump(2, batch("aabb", 4))]) == 4


def test_a_file_with_logged_evaluation_is_evaluation(dump: Dump, arrange: Arrange) -> None:
    files = [dump(s, batch("ab", s)) for s in (1, 2, 3)]
    arranged, ledger = arrange(
        files, {"log.evaluated.2": 2, "num_generations": 4, "num_processes": 2, "use_vllm": False}
    )
    assert [c.split for _, c in arranged] == ["train", "eval", "train"]
    assert "engine_rows" not in arranged[1][1].hints
    assert arranged[0][1].hints["engine_rows"] == "4"
    assert any("evaluation overwrote" in r for r in reasons(ledger))


def test_a_short_evaluation_leaves_training_rows_before_its_own(dump: Dump, arrange: Arrange) -> None:
    rows = batch("abc", 1)[:10] + batch("e", 2, group=2)
    arranged, _ = arrange(
        [dump(3, rows)], {"log.evaluated.3": 1, "num_generations": 5, "num_generations_eval": 2}
    )
    ((_, claim),) = arranged
    assert claim.split == "train"
    assert (claim.hints["train_rows"], claim.hints["eval_rows"], claim.hints["group_size"]) == (
        "10",
        "2",
        "5",
    )


def test_evaluation_without_metrics_is_told_by_prompts_that_come_back(dump: Dump, arrange: Arrange) -> None:
    prompts = {1: "ab", 2: "cd", 3: "xy", 4: "ef", 5: "gh", 6: "xy", 7: "ij"}
    arranged, _ = arrange([dump(s, batch(p, s)) for s, p in prompts.items()])
    assert [s for s, (_, c) in zip(prompts, arranged, strict=True) if c.split == "eval"] == [3, 6]


def test_an_epoch_that_comes_back_is_no_evaluation(dump: Dump, arrange: Arrange) -> None:
    whole = {s: "abcdefgh"[(s - 1) % 4] * 2 for s in range(1, 9)}
    started = {s: "abcdefgh"[(s - 1) % 4] for s in range(1, 6)}
    for prompts in (whole, started):
        arranged, _ = arrange([dump(s, batch(p, s), "d" + str(len(prompts))) for s, p in prompts.items()])
        assert {c.split for _, c in arranged} == {"train"}


def test_files_beyond_the_end_of_a_finished_run_are_another_runs(dump: Dump, arrange: Arrange) -> None:
    files = [dump(s, batch("ab", s)) for s in (1, 2, 3)]
    arranged, ledger = arrange(files, {"log.last_step": 2})
    assert sorted(hints(arranged)) == [1, 2]
    assert any("ended at step 2" in r for r in reasons(ledger))


def test_rewards_by_name_in_the_order_of_their_columns(dump: Dump, arrange: Arrange) -> None:
    config = {"log.reward_functions": ["brevity", "exact"], "reward_weights": [1.0, 0.5]}
    (h,) = hints(arrange([dump(1, batch("ab", 1, extra=0.5))], config)[0]).values()
    assert json.loads(h["rewards"]) == ["exact", "brevity"]
    assert json.loads(h["weights"]) == [1.0, 0.5]


def test_weights_that_the_logged_means_add_up_with(dump: Dump, arrange: Arrange) -> None:
    names = ["brevity", "exact"]
    config = {"log.reward_functions": names, "log.reward_weights": {"brevity": 0.25, "exact": 2.0}}
    (h,) = hints(arrange([dump(1, batch("ab", 1, weights=(2.0, 0.25)))], config)[0]).values()
    assert json.loads(h["weights"]) == [2.0, 0.25]


def test_advantages_tell_rewards_from_numbers_logged_beside_them(dump: Dump, arrange: Arrange) -> None:
    rng = random.Random(0)
    rows = [{**r, "entropy": rng.random()} for r in batch("abcd", 1)]
    rows = [
        {k: r[k] for k in ("prompt", "completion", "exact", "brevity", "entropy", "advantage")} for r in rows
    ]
    (h,) = hints(arrange([dump(1, rows)])[0]).values()
    assert json.loads(h["rewards"]) == ["exact", "brevity"]
    assert json.loads(h["weights"]) == [1.0, 1.0]


def test_unknown_weights_give_components_only_and_a_remark(dump: Dump, arrange: Arrange) -> None:
    arranged, ledger = arrange([dump(1, batch("abcd", 1, weights=(1.0, 5.0)))])
    (h,) = hints(arranged).values()
    assert json.loads(h["rewards"]) == ["exact", "brevity"]
    assert "weights" not in h
    assert any("only its components" in r for r in reasons(ledger))


def test_one_function_needs_no_proof(dump: Dump, arrange: Arrange) -> None:
    rows = [{k: v for k, v in r.items() if k != "brevity"} for r in batch("abcd", 1)]
    (h,) = hints(arrange([dump(1, rows)])[0]).values()
    assert json.loads(h["weights"]) == [1.0]


def test_the_end_token_and_the_cap_go_with_the_files(dump: Dump, arrange: Arrange) -> None:
    (h,) = hints(arrange([dump(1, batch("ab", 1))], {"max_completion_length": 64})[0]).values()
    assert (h["end_tokens"], h["response_cap"], h["whole_file"]) == ("1", "64", "1")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"num_processes": 2, "use_vllm": False}, ("6", "rank")),
        (
            {
                "generation_batch_size": 12,
                "per_device_train_batch_size": 3,
                "steps_per_generation": 2,
                "use_vllm": False,
            },
            ("6", "rank"),
        ),
        (
            {"num_processes": 4, "use_vllm": True, "vllm_mode": "colocate", "vllm_tensor_parallel_size": 2},
            ("6", "engine"),
        ),
        ({"num_processes": 4, "use_vllm": True, "vllm_mode": "server"}, None),
        ({"num_processes": 5, "use_vllm": False}, None),  # does not divide 12 rows
        ({"num_processes": 2, "vllm_mode": "colocate"}, None),  # a default; not known to be used
        ({}, None),
    ],
)
def test_who_generated_which_rows(
    dump: Dump, arrange: Arrange, config: dict[str, Any], expected: tuple[str, str] | None
) -> None:
    (h,) = hints(arrange([dump(1, batch("abc", 1))], config)[0]).values()
    assert ((h["engine_rows"], h["engine_name"]) if "engine_rows" in h else None) == expected


def test_a_half_written_file_is_skipped(dump: Dump, arrange: Arrange) -> None:
    whole, broken = dump(1, batch("ab", 1)), dump(2, batch("cd", 2))
    path = Path(broken.path)
    path.write_bytes(path.read_bytes()[:-200])
    broken = sniff(broken.path, broken.name)
    arranged, ledger = arrange([whole, broken])
    assert sorted(hints(arranged)) == [1]
    assert ledger.skipped == 1
    assert "damaged Parquet" in ledger.problems[0].reason
