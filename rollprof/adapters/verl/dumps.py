"""Rollout and validation dumps (`trainer.rollout_data_dir`): one JSON object per response.

Every key era since 0.4.0 is read by the same rules: `input`, `output`, `score`, `step`, since 0.6 `gts`,
from the v1 trainer `uid`; whatever else a row has comes from the user's reward function.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Dropped, MapperContext, Row
from rollprof.adapters.mapping import components, small
from rollprof.adapters.verl import dump_columns as plain

BASE_KEYS = frozenset({"input", "output", "gts", "score", "step", "uid", "request_id"})

NOT_REWARDS = frozenset(
    {
        "pred",
        "prediction",
        "answer",
        "extracted_answer",
        "ground_truth",
        "gt",
        "label",
        "index",
        "num_turns",
        "__num_turns__",
        "data_source",
        "min_global_steps",
        "max_global_steps",
    }
)
"""Extras that may be numbers and are no component of the reward."""

_NEEDED = frozenset({"input", "output", "score", "step"})
_BARRED = frozenset({"uid", "reward"})
"""Keys of rows that are looked at together: all have the former, none the latter."""

_PADDING_UID = re.compile(r"^pad[0-9a-f]*_\d+_\d+$")
PADDING = Dropped("padding row of the v1 trainer (uid starts with pad)")

_REWARD_LIKE = re.compile(r"score|reward|acc|correct|overlong|penalt|bonus|format|length|pass", re.IGNORECASE)

COLUMNS = (
    "step",
    "prompt",
    "response",
    "group",
    "sample_index",
    "reward",
    "rewards",
    "correct",
    "turns",
    "dataset",
    "response_tokens",
    "token_basis",
)


class DumpMapper:
    """Rows of a dump as columns.

    Hints it heeds: `overlong` = `max_response_length,buffer,factor` (see `overlong_hint`), with which an
    `overlong_reward` below zero gives the exact length; `extras_aligned` = `no` where the extras belong
    to other rows than they stand in; `steps_per_version`, trainer steps of the fully asynchronous trainer
    that make one step of its metrics.
    """

    columns = COLUMNS

    def __init__(self, context: MapperContext) -> None:
        self._file_step = int(context.stem) if context.stem.isdigit() and len(context.stem) < 19 else None
        self._versions = int(context.hints.get("steps_per_version", "1"))
        self._aligned = context.hints.get("extras_aligned") != "no"
        self._overlong = _parse_overlong(context.hints.get("overlong")) if self._aligned else None

    def __call__(self, record: dict[str, Any]) -> Row | Dropped:
        get = record.get
        prompt, response, score = values.passage(get("input")), values.passage(get("output")), get("score")
        group, sample, padding = group_of(get("uid"))
        if padding and (padding == "sure" or not response):
            return PADDING
        if prompt is None and response is None:
            raise ValueError("no input and no output: not a rollout of verl")
        reward, rewards = self._rewards(score, record)
        tokens = None
        if self._overlong is not None:
            tokens = exact_length(values.number(get("overlong_reward")), *self._overlong)
        step = values.integer(get("step"))
        if step is None:  # what is no step goes on as it stands, for the converter to remark on
            step = self._file_step if self._file_step is not None else get("step")
        if self._versions > 1 and type(step) is int:
            step = (step - 1) // self._versions + 1
        return (
            step,
            prompt,
            response,
            group,
            sample,
            reward,
            rewards or None,
            values.boolean(get("acc")) if self._aligned else None,
            small(get("num_turns", get("__num_turns__"))),
            values.text(get("data_source")),
            tokens,
            None if tokens is None else "exact",
        )

    def batch(self, records: Sequence[dict[str, Any]]) -> Mapping[str, Sequence[Any]] | None:
        """The columns of plain records, as the rows one by one would give them; None for others."""
        if not self._aligned or self._overlong is not None or self._versions > 1:
            return None
        extras = plain.extras(records, needed=_NEEDED, barred=_BARRED, known=BASE_KEYS | NOT_REWARDS)
        if extras is None:
            return None
        prompts, responses = plain.texts(records, "input"), plain.texts(records, "output")
        steps, reward = plain.whole(records, "step"), plain.numbers([r["score"] for r in records])
        if prompts is None or responses is None or steps is None or reward is None:
            return None
        names = {key for key in extras if not _REWARD_LIKE.search(key)}
        rewards = plain.components(records, extras, names, reward)
        if rewards is None:
            return None
        absent = [None] * len(records)
        return {
            "step": steps,
            "prompt": prompts,
            "response": responses,
            "group": absent,
            "sample_index": absent,
            "reward": reward,
            "rewards": rewards,
            "correct": plain.optional(records, values.boolean, "acc"),
            "turns": plain.optional(records, small, "num_turns", "__num_turns__"),
            "dataset": plain.optional(records, values.text, "data_source"),
            "response_tokens": absent,
            "token_basis": absent,
        }

    def _rewards(self, score: Any, record: dict[str, Any]) -> tuple[Any, dict[str, float]]:
        """(reward, components). A value that is no finite number goes on as it stands, for the converter
        to remark on."""
        rewards: dict[str, float] = {}
        if isinstance(score, dict):
            if self._aligned:
                rewards.update(components(score) or {})
            score = score.get("score", score.get("reward"))
        reward = values.number(score)
        if reward is None:
            reward = values.number(record.get("reward"))
        if not self._aligned:
            return (score, {}) if reward is None else (reward, {"score": reward})
        for key, value in record.items():
            if key in BASE_KEYS or key in NOT_REWARDS:
                continue
            if isinstance(value, dict):
                found = components(value) or {}
                rewards.update((f"{key}.{name}", number) for name, number in found.items())
            elif type(value) is not str or _REWARD_LIKE.search(key):
                number = values.number(value)
                if number is not None or type(value) is float:
                    rewards[key] = value if number is None else number
        if reward is None:
            return score, rewards
        rewards["score"] = reward
        return reward, rewards


def group_of(uid: Any) -> tuple[str | None, int | None, str]:
    """(group, sample index, padding) of a `uid`.

    The v1 trainer writes `{uuid}_{session}_{index}`; sessions are the samples of a prompt. `padding` is
    "" for a real row, "sure" for a padding row, "perhaps" where only the first letters say so.
    """
    if type(uid) is not str or not uid:
        return None, None, ""
    padding = "sure" if _PADDING_UID.match(uid) else "perhaps" if uid.startswith("pad") else ""
    parts = uid.rsplit("_", 2)
    if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        return parts[0], values.integer(parts[1]), padding
    return uid, None, padding


def exact_length(overlong_reward: float | None, cap: int, buffer: int, factor: float) -> int | None:
    """Tokens of a response from DAPO's penalty `min(-(tokens - (cap - buffer)) / buffer * factor, 0)`.

    None for a response that was not penalised, or where the penalty is not that of a whole number.
    """
    if overlong_reward is None or overlong_reward >= 0:
        return None
    tokens = cap - buffer - overlong_reward * buffer / factor
    whole = round(tokens)
    return whole if abs(tokens - whole) < 0.02 and cap - buffer < whole <= cap else None


def overlong_hint(config: Mapping[str, Any]) -> str | None:
    """What `exact_length` needs, from the places where the releases keep it; None without a buffer."""
    places = (
        "reward_model.overlong_buffer",
        "reward_model.reward_kwargs.overlong_buffer_cfg",
        "reward.reward_kwargs.overlong_buffer_cfg",
        "reward.reward_model.overlong_buffer",
    )
    for place in places:
        if values.boolean(config.get(f"{place}.enable")) is not True:
            continue
        buffer = values.integer(config.get(f"{place}.len"))
        factor = values.number(config.get(f"{place}.penalty_factor"))
        above = place.rpartition(".")[0]
        cap = values.integer(config.get(f"{above}.max_resp_len"))
        if cap is None:
            cap = values.integer(config.get("data.max_response_length"))
        if buffer and factor and cap and 0 < buffer <= cap and factor > 0:
            return f"{cap},{buffer},{factor!r}"
    return None


def _parse_overlong(hint: str | None) -> tuple[int, int, float] | None:
    if not hint:
        return None
    cap, buffer, factor = hint.split(",")
    return int(cap), int(buffer), float(factor)


def extras_aligned(config: Mapping[str, Any]) -> bool:
    """Whether the DAPO recipe's reward extras stand in the rows they belong to: only without reordering
    and without filtering."""
    balanced = values.boolean(config.get("trainer.balance_batch", True))
    filtered = values.boolean(config.get("algorithm.filter_groups.enable", True))
    return balanced is False and filtered is False


def steps_per_version(config: Mapping[str, Any]) -> int | None:
    """Trainer steps between two synchronisations of the fully asynchronous trainer: it numbers dumps by
    trainer step and metrics by model version. None in other trainers' configurations."""
    steps = values.integer(config.get("async_training.trigger_parameter_sync_step"))
    return steps if steps is not None and steps > 0 else None
