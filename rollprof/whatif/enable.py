"""The option that switches a remedy on, by policy and framework. What has none says which fork has it."""

from __future__ import annotations

from collections.abc import Mapping

ENABLE: Mapping[str, Mapping[str, str]] = {
    "truncate": {
        "verl": "data.max_response_length=N (or actor_rollout_ref.rollout.response_length=N)",
        "openrlhf": "--generate_max_len N (from 0.9.8 --max_new_tokens, then --rollout.max_new_tokens)",
        "trl": "max_completion_length=N",
        "slime": "--rollout-max-response-len N",
    },
    "partial": {
        "verl": "fully asynchronous trainer: async_training.partial_rollout=True",
        "openrlhf": "--async_train --partial_rollout (from 0.9.7; pauses for the weights, has no budget)",
        "trl": "no option",
        "slime": "--partial-rollout (with --over-sampling-batch-size)",
    },
    "april": {
        "verl": "v1 trainer: trainer.v1.trainer_mode=colocate_async (0.9 and later)",
        "openrlhf": "no option",
        "trl": "no option",
        "slime": "--partial-rollout --over-sampling-batch-size N' (and --mask-offpolicy-in-partial-rollout)",
    },
    "rollpacker": {
        "verl": "no option; the RollPacker fork of ROLL has it",
        "openrlhf": "no option",
        "trl": "no option",
        "slime": "no option",
    },
    "dapo": {
        "verl": "algorithm.filter_groups.enable=True (recipe/dapo), max_num_gen_batches for the rounds",
        "openrlhf": "--dynamic_filtering --dynamic_filtering_reward_range 0 1",
        "trl": "no option (frac_reward_zero_std shows what it would drop)",
        "slime": "--dynamic-sampling-filter-path ...check_reward_nonzero_std --over-sampling-batch-size N",
    },
    "oversample-drop": {
        "verl": "no option",
        "openrlhf": "no option",
        "trl": "no option",
        "slime": "--over-sampling-batch-size N without --partial-rollout",
    },
    "length-aware": {
        "verl": "no option; requests go to the least loaded server",
        "openrlhf": "no option",
        "trl": "no option",
        "slime": "no option",
    },
    "one-step-off": {
        "verl": "recipe/one_step_off_policy (0.5 to 0.7.0), verl.experimental.one_step_off_policy (0.7.1 on)",
        "openrlhf": "--async_train with --async_queue_size 1",
        "trl": "experimental AsyncGRPO trainer",
        "slime": "train_async.py",
    },
    "async": {
        "verl": "fully asynchronous trainer: async_training.staleness_threshold=X",
        "openrlhf": "--async_train --async_queue_size N",
        "trl": "experimental AsyncGRPO trainer",
        "slime": "train_async.py; fully asynchronous rollout in examples/fully_async",
    },
    "speculative-tail": {
        "verl": "actor_rollout_ref.rollout.engine_kwargs: the engine's own speculative decoding",
        "openrlhf": "no option",
        "trl": "no option",
        "slime": "--sglang-speculative-algorithm EAGLE (for the whole batch)",
    },
}


def enable(policy: str) -> dict[str, str]:
    """Options by framework; of a composition those of every part."""
    found: dict[str, str] = {}
    for name in policy.split("+"):
        for framework, option in ENABLE.get(name, {}).items():
            found[framework] = f"{found[framework]}; {option}" if framework in found else option
    return found
