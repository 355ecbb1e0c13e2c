"""The names people give to columns of `rollouts`: which keys of a record mean which column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

ALIASES: Mapping[str, tuple[str, ...]] = {
    "step": ("step", "global_step", "global_steps", "training_step", "train_step", "iteration", "iter"),
    "split": ("split", "phase"),
    "prompt": ("prompt", "prompts", "input", "inputs", "question", "query", "instruction", "messages"),
    "response": ("response", "completion", "output", "generation", "generated_text", "response_text", "text"),
    "prompt_id": ("prompt_id", "problem_id", "question_id", "prompt_hash"),
    "group": ("group", "group_id", "uid"),
    "sample_index": ("sample_index", "sample_idx", "rollout_index", "rollout_idx"),
    "dataset": ("dataset", "data_source", "task", "env", "env_name"),
    "prompt_tokens": (
        "prompt_tokens",
        "prompt_len",
        "prompt_length",
        "input_tokens",
        "input_len",
        "input_length",
        "num_prompt_tokens",
        "prompt_token_ids",
        "prompt_ids",
    ),
    "response_tokens": (
        "response_tokens",
        "response_len",
        "response_length",
        "output_tokens",
        "output_len",
        "output_length",
        "completion_tokens",
        "completion_len",
        "completion_length",
        "num_output_tokens",
        "num_tokens",
        "response_ids",
        "output_ids",
        "completion_ids",
        "output_token_ids",
        "token_ids",
    ),
    "generated_tokens": ("generated_tokens", "num_generated_tokens", "num_generation_tokens", "gen_tokens"),
    "token_basis": ("token_basis",),
    "reward": ("reward", "score", "total_reward", "final_reward"),
    "rewards": ("rewards", "reward_components", "scores"),
    "correct": ("correct", "is_correct", "acc", "accuracy", "passed"),
    "advantage": ("advantage",),
    "finish_reason": (
        "finish_reason",
        "finish",
        "stop_reason",
        "finished_reason",
        "truncated",
        "is_truncated",
    ),
    "started_at": (
        "started_at",
        "start",
        "started",
        "start_time",
        "begin",
        "begin_time",
        "submitted_at",
        "sent_at",
        "arrival_time",
        "start_ts",
    ),
    "completed_at": (
        "completed_at",
        "end",
        "completed",
        "end_time",
        "finished_at",
        "finish_time",
        "completion_time",
        "done_at",
        "end_ts",
    ),
    "queue_s": ("queue_s", "queue_time", "queue_time_s", "wait_time", "queue_ms"),
    "generate_s": (
        "generate_s",
        "latency",
        "latency_s",
        "duration",
        "duration_s",
        "elapsed",
        "elapsed_s",
        "generation_time",
        "e2e_latency",
        "latency_ms",
        "duration_ms",
        "elapsed_ms",
    ),
    "tool_s": ("tool_s", "tool_time", "tool_time_s", "env_time"),
    "reward_s": ("reward_s", "reward_time", "reward_time_s", "scoring_time"),
    "turns": ("turns", "num_turns", "n_turns"),
    "engine": ("engine", "replica", "server", "worker", "engine_id", "replica_id", "dp_rank"),
    "policy_version_first": ("policy_version_first", "policy_version", "weight_version", "model_version"),
    "policy_version_last": ("policy_version_last",),
}
"""Column -> keys, the surest first. Case, blanks and dashes do not matter."""

CLAIMING = ("response", "response_tokens", "generated_tokens")
"""A file is rollouts when it has one of these, or both ends of a time."""

MILLISECONDS = frozenset({"queue_ms", "latency_ms", "duration_ms", "elapsed_ms"})

_ASSUMED_STEP = 1

_COMPONENT = re.compile(r"^(?:rewards?|scores?)[_/.]\w|^\w+_(?:reward|score)$")
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ODD = re.compile(r"[\s-]+")

_BY_ALIAS = {alias: column for column, aliases in ALIASES.items() for alias in aliases}
_RANK = {alias: rank for aliases in ALIASES.values() for rank, alias in enumerate(aliases)}


def normal(key: str) -> str:
    """A key in the spelling of the table: `responseLength`, `Response Length` -> `response_length`."""
    return _ODD.sub("_", _WORD_BREAK.sub("_", key.strip())).lower()


def resolve(keys: Iterable[str]) -> dict[str, list[str]]:
    """Column -> the keys that mean it, the surest first."""
    found: dict[str, list[str]] = {}
    for key in keys:
        column = _BY_ALIAS.get(normal(key))
        if column is not None:
            found.setdefault(column, []).append(key)
    return {column: sorted(names, key=lambda k: _RANK[normal(k)]) for column, names in found.items()}


def component_keys(keys: Iterable[str]) -> list[str]:
    """Keys that name components of the reward (`reward_format`, `rewards/accuracy`, `format_score`)."""
    return [key for key in keys if normal(key) not in _BY_ALIAS and _COMPONENT.match(normal(key))]


def usable(columns: Iterable[str]) -> bool:
    """Whether these columns make rollouts: a response, its length, or its times."""
    have = set(columns)
    timed = "completed_at" in have and "started_at" in have
    return timed or "generate_s" in have or not have.isdisjoint(CLAIMING)


def step_of_name(stem: str) -> int:
    """The step that a file's name says (`7.jsonl`), else the assumed one."""
    return int(stem) if stem.isdigit() and len(stem) < 10 else _ASSUMED_STEP
