"""The settings that TRL saves with a checkpoint (`training_args.bin`), and the versions on its model card.

The archive is never unpickled: `sources.pickled` reads plain values and imports nothing.
"""

from __future__ import annotations

import re
from typing import Any

from rollprof.adapters.base import Claim, MetricPart
from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import open_bytes
from rollprof.sources.pickled import Opaque, read_torch_archive
from rollprof.sources.records import SniffedFile

KEPT = (
    "per_device_train_batch_size",
    "per_device_eval_batch_size",
    "gradient_accumulation_steps",
    "steps_per_generation",
    "generation_batch_size",
    "num_iterations",
    "num_generations",
    "num_generations_eval",
    "max_completion_length",
    "max_prompt_length",
    "max_steps",
    "logging_steps",
    "use_cpu",
    "use_vllm",
    "vllm_mode",
    "vllm_tensor_parallel_size",
    "vllm_enable_sleep_mode",
    "use_transformers_paged",
    "use_transformers_continuous_batching",
    "max_inflight_tasks",
    "max_staleness",
    "beta",
    "loss_type",
    "scale_rewards",
    "reward_weights",
    "multi_objective_aggregation",
    "mask_truncated_completions",
    "log_completions",
    "log_completions_hub_repo",
    "log_unique_prompts",
    "seed",
)
"""Arguments that say something about rollouts. Paths, tokens and names stay in the file."""

CARD = re.compile(rb"^- TRL: \d", re.MULTILINE)
_VERSION = re.compile(r"^- (TRL|Transformers|Pytorch|Datasets|Tokenizers): (\d[\w.+]*)", re.MULTILINE)
_BASE_MODEL = re.compile(r"^base_model: (\S+)\s*$", re.MULTILINE)
_METHOD = re.compile(r"^- (grpo|rloo|ppo|online-dpo|async-grpo)\s*$", re.MULTILINE)


def read_training_args(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """The arguments of a run, and its number of processes, as settings."""
    saved = read_torch_archive(file, ledger)
    if not isinstance(saved, Opaque) or not isinstance(saved.state, dict):
        return []
    state = saved.state
    config = {name: plain for name in KEPT if (plain := _plain(state.get(name))) is not None}
    config["args_class"] = saved.name.rpartition(".")[2]
    shared = state.get("distributed_state")
    if isinstance(shared, Opaque) and isinstance(shared.state, dict):
        processes = shared.state.get("num_processes")
        if type(processes) is int and processes > 0:
            config["num_processes"] = processes
        config["cpu"] = shared.state.get("_cpu") is True
    return [MetricPart(file, claim, config=config)]


def _plain(value: Any) -> Any:
    """Numbers, text, switches and lists of them; an enum member as its value."""
    if isinstance(value, Opaque):
        return value.args[0] if len(value.args) == 1 and isinstance(value.args[0], str) else None
    if isinstance(value, list):
        return value if all(type(v) in (int, float, str) for v in value) else None
    return value if type(value) in (int, float, str, bool) else None


def read_model_card(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """Versions, the base model and the method, from the README that TRL writes beside a model."""
    with open_bytes(file.path, file.compression) as stream:
        text = stream.read(1 << 20).decode("utf-8", "replace")
    ledger.ok(text.count("\n") + (not text.endswith("\n")))
    config: dict[str, Any] = {f"version.{m[1].lower()}": m[2] for m in _VERSION.finditer(text)}
    base = _BASE_MODEL.search(text)
    if base is not None:
        config["model"] = base[1].strip("'\"")
    method = _METHOD.search(text)
    if method is not None:
        config["method"] = method[1]
    return [MetricPart(file, claim, config=config)]
