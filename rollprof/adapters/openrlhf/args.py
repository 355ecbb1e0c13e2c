"""The arguments OpenRLHF prints when it starts: `Namespace(actor_num_nodes=1, …)` until 0.10.1,
`namespace(actor=namespace(num_nodes=1, …), …)` since 0.10.2.

Both become dotted paths in the newer release's words (`actor.num_nodes`), so that the rest of the adapter
knows one vocabulary. Literals only, nothing is evaluated; a line that was cut gives what it still has.
The tracker's key stands in the line in clear and is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Config = dict[str, Any]

ARGS = re.compile(r"^\s*(?:\([\w ]+\)\s*)?[Nn]amespace\((?=\w+=)")
_NAME = re.compile(r"\s*([A-Za-z_]\w*)=")
_SETTING = re.compile(r"(?:^|[\s(,])[a-z_]\w*=\S")
_OPEN = re.compile(r"[Nn]amespace\(")
_MAX_CHARS = 1 << 20
_MAX_DEPTH = 8

OLD_NAMES: Mapping[str, str] = {
    "actor_num_nodes": "actor.num_nodes",
    "actor_num_gpus_per_node": "actor.num_gpus_per_node",
    "ref_num_nodes": "ref.num_nodes",
    "ref_num_gpus_per_node": "ref.num_gpus_per_node",
    "critic_num_nodes": "critic.num_nodes",
    "critic_num_gpus_per_node": "critic.num_gpus_per_node",
    "reward_num_nodes": "reward.num_nodes",
    "reward_num_gpus_per_node": "reward.num_gpus_per_node",
    "colocate_actor_ref": "train.colocate_actor_ref",
    "colocate_critic_reward": "train.colocate_critic_reward",
    "colocate_all_models": "train.colocate_all",
    "vllm_num_engines": "vllm.num_engines",
    "vllm_tensor_parallel_size": "vllm.tensor_parallel_size",
    "vllm_enable_sleep": "vllm.enable_sleep",
    "rollout_batch_size": "rollout.batch_size",
    "vllm_generate_batch_size": "rollout.vllm_generate_batch_size",
    "n_samples_per_prompt": "rollout.n_samples_per_prompt",
    "micro_rollout_batch_size": "rollout.micro_batch_size",
    "max_new_tokens": "rollout.max_new_tokens",
    "generate_max_len": "rollout.max_new_tokens",
    "prompt_max_len": "data.prompt_max_len",
    "max_len": "data.max_len",
    "train_batch_size": "train.batch_size",
    "micro_train_batch_size": "train.micro_batch_size",
    "num_episodes": "train.num_episodes",
    "async_train": "train.async_enable",
    "async_queue_size": "train.async_queue_size",
    "partial_rollout": "train.partial_rollout_enable",
    "use_dynamic_batch": "train.dynamic_batch_enable",
    "agent_func_path": "train.agent_func_path",
    "dynamic_filtering": "algo.dynamic_filtering_enable",
    "dynamic_filtering_reward_range": "algo.dynamic_filtering_range",
    "init_kl_coef": "algo.kl.init_coef",
    "advantage_estimator": "algo.advantage.estimator",
    "remote_rm_url": "reward.remote_url",
    "reward_pretrain": "reward.model_name_or_path",
    "critic_pretrain": "critic.model_name_or_path",
    "pretrain": "actor.model_name_or_path",
    "eval_dataset": "eval.dataset",
    "eval_steps": "eval.steps",
    "eval_n_samples_per_prompt": "eval.n_samples_per_prompt",
    "save_steps": "ckpt.save_steps",
    "load_checkpoint": "ckpt.load_enable",
    "logging_steps": "logger.logging_steps",
    "use_tensorboard": "logger.tensorboard_dir",
    "wandb_run_name": "logger.wandb.run_name",
}
"""Flat names of 0.5 to 0.10.1 and what 0.10.2 calls them. `prompt_max_len` has no heir."""

_SECRET = re.compile(r"(?:^|\.)(?:use_wandb|logger\.wandb\.key|\w*api_key|\w*token|\w*password)$")
_NOT_SECRET = re.compile(r"max_new_token|_tokens?$")


def begins(text: str) -> bool:
    """True for the line of the arguments."""
    return "amespace(" in text and ARGS.match(text) is not None


def unclosed(text: str) -> bool:
    """True for a line of arguments that goes on below it."""
    return begins(text) and len(text) < _MAX_CHARS and _balance(text) > 0


def continues(text: str) -> bool:
    """True for text that can be the rest of a wrapped line of arguments."""
    return _SETTING.search(text) is not None


@dataclass(frozen=True, slots=True)
class Args:
    """Settings by dotted path, and the names under which the line had them. `nested` is the style of 0.10.2
    and later."""

    settings: Config
    names: frozenset[str]
    nested: bool


def parse_args(text: str) -> Args:
    """The settings of a line of arguments; none where it is none."""
    start = _OPEN.search(text)
    if start is None:
        return Args({}, frozenset(), False)
    settings: Config = {}
    names: set[str] = set()
    stack: list[str] = []
    nested = False
    at = start.end()
    while at < min(len(text), _MAX_CHARS):
        if text[at] == ")":
            at += 1
            if not stack:
                break
            stack.pop()
            continue
        name = _NAME.match(text, at)
        if name is None:
            at += 1  # a comma, a blank, or what damage left there
            continue
        inner = _OPEN.match(text, name.end())
        if inner is not None and len(stack) < _MAX_DEPTH:
            nested = True
            stack.append(name[1])
            at = inner.end()
            continue
        end = _value_end(text, name.end())
        if end is None:
            break  # cut in the middle of a value
        path = ".".join([*stack, name[1]])
        names.add(path)
        if not _is_secret(path):
            settings[OLD_NAMES.get(path, path)] = _literal(text[name.end() : end])
        at = end
    return Args(settings, frozenset(names), nested)


def _is_secret(path: str) -> bool:
    return _SECRET.search(path) is not None and _NOT_SECRET.search(path) is None


def _value_end(text: str, at: int) -> int | None:
    """Where the value that starts at `at` ends: the comma or bracket behind it. None when it is cut."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char in "'\"":
            close = _string_end(text, at)
            if close is None:
                return None
            at = close
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}":
            if depth == 0:
                return at
            depth -= 1
        elif char == "," and depth == 0:
            return at
        at += 1
    return None


def _string_end(text: str, at: int) -> int | None:
    quote, at = text[at], at + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == quote:
            return at + 1
        at += 1
    return None


def _balance(text: str) -> int:
    depth, at = 0, 0
    while at < len(text):
        if text[at] in "'\"":
            at = _string_end(text, at) or len(text)
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return depth


def _literal(raw: str) -> Any:
    """The value of a literal, with `inf` and `nan`; anything else stays text."""
    text = raw.strip()
    if text in ("inf", "-inf", "nan"):
        return float(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return text
