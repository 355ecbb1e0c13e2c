"""The option that switches a remedy on, by policy and framework, with the releases that have it. Where a
framework has none, the fork or the recipe that does.

Read in the sources: verl 0.5.0 to 0.9.1 and verl-recipe (August 2026), OpenRLHF 0.8.0 to 0.11.0, TRL 0.26 to
1.9, slime 0.1.0 to 0.3.1.
"""

from __future__ import annotations

from collections.abc import Mapping

NONE = "no option"
FORK = "fork"
"""Stands for a framework where a system has code of its own."""

ENABLE: Mapping[str, Mapping[str, str]] = {
    "truncate": {
        "verl": "data.max_response_length=N",
        "openrlhf": "--generate_max_len N (to 0.9.7), --max_new_tokens N (0.9.8 to 0.10.1), "
        "--rollout.max_new_tokens N (from 0.10.2)",
        "trl": "max_completion_length=N (mask_truncated_completions=True keeps cut ones out of the loss)",
        "slime": "--rollout-max-response-len N",
    },
    "partial": {
        "verl": "async_training.partial_rollout=True with staleness_threshold above 0 in the fully "
        "asynchronous trainer (from 0.6.1), or recipe/partial_rollout of verl-recipe; no token budget",
        "openrlhf": "--async_train --partial_rollout (0.9.7 to 0.10.1), --train.async_enable "
        "--train.partial_rollout_enable (from 0.10.2): pauses for the weights, no token budget",
        "trl": NONE,
        "slime": "--partial-rollout with --over-sampling-batch-size; no token budget",
    },
    "april": {
        "verl": "trainer.v1.trainer_mode=colocate_async (from 0.9.0; one batch more in flight: over=2); "
        "recipe/partial_rollout of verl-recipe",
        "openrlhf": NONE,
        "trl": NONE,
        "slime": "--partial-rollout --over-sampling-batch-size N' (to mask older tokens, from 0.2.2: "
        "--mask-offpolicy-in-partial-rollout)",
        FORK: "APRIL, on slime (github.com/RLsys-Foundation/APRIL)",
    },
    "rollpacker": {
        "verl": NONE,
        "openrlhf": NONE,
        "trl": NONE,
        "slime": NONE,
        FORK: "RollPacker, on ROLL (github.com/Farrrrland/RollPacker)",
    },
    "dapo": {
        "verl": "algorithm.filter_groups.enable=True algorithm.filter_groups.metric=acc: main trainer from "
        "0.9.0 (mode=stream), recipe/dapo before it (mode=rounds, max_num_gen_batches)",
        "openrlhf": "--dynamic_filtering --dynamic_filtering_reward_range 0 1 (0.8.1 to 0.10.1), "
        "--algo.dynamic_filtering_enable --algo.dynamic_filtering_range 0 1 (from 0.10.2)",
        "trl": f"{NONE} (frac_reward_zero_std shows what it would drop)",
        "slime": "--dynamic-sampling-filter-path "
        "slime.rollout.filter_hub.dynamic_sampling_filters.check_reward_nonzero_std "
        "--over-sampling-batch-size N",
    },
    "oversample-drop": {
        "verl": "actor_rollout_ref.rollout.over_sample_rate=X with SGLang (0.6.0 and 0.6.1; later ones do "
        "not read it)",
        "openrlhf": NONE,
        "trl": NONE,
        "slime": "--over-sampling-batch-size N without --partial-rollout (unit=prompt)",
    },
    "length-aware": {
        "verl": f"{NONE}; requests go to the server with the fewest in flight",
        "openrlhf": NONE,
        "trl": NONE,
        "slime": NONE,
    },
    "one-step-off": {
        "verl": "recipe.one_step_off_policy.main_ppo (0.5.0 to 0.7.0), "
        "verl.experimental.one_step_off_policy.main_ppo (from 0.7.1)",
        "openrlhf": "--async_train --async_queue_size 1 (0.9.1 to 0.10.1), --train.async_enable "
        "--train.async_queue_size 1 (from 0.10.2)",
        "trl": "trl.experimental.async_grpo with max_staleness=1 (from 1.0.0)",
        "slime": "train_async.py in place of train.py",
    },
    "async": {
        "verl": "async_training.staleness_threshold=X: recipe.fully_async_policy.fully_async_main (0.6.1, "
        "0.7.0), verl.experimental.fully_async_policy.fully_async_main (from 0.7.1); "
        "trainer.v1.trainer_mode=separate_async (from 0.9.0)",
        "openrlhf": "--async_train --async_queue_size N (0.9.1 to 0.10.1), --train.async_enable "
        "--train.async_queue_size N (from 0.10.2)",
        "trl": "trl.experimental.async_grpo with max_staleness=N (from 1.0.0)",
        "slime": "train_async.py with the rollout function of examples/fully_async (from 0.2.0)",
    },
    "speculative-tail": {
        "verl": "actor_rollout_ref.rollout.engine_kwargs.vllm (or .sglang): the engine's speculative "
        "decoding; actor_rollout_ref.model.mtp.enable_rollout=True for models with MTP layers (from 0.7.1)",
        "openrlhf": NONE,
        "trl": "trl vllm-serve --speculative_config JSON (from 1.3.0, vllm_mode=server, for the whole batch)",
        "slime": "--sglang-speculative-algorithm EAGLE (for the whole batch)",
        FORK: "FastRL, on verl and SGLang: for the tail only (github.com/mit-han-lab/fastrl)",
    },
}


def enable(policy: str) -> dict[str, str]:
    """Options by framework; of a composition those of every part."""
    found: dict[str, str] = {}
    for name in policy.split("+"):
        for framework, option in ENABLE.get(name, {}).items():
            found[framework] = f"{found[framework]}; {option}" if framework in found else option
    return found


def options_of(found: Mapping[str, str], framework: str) -> dict[str, str]:
    """What a user of `framework` can set; where it has no option, or is not one of these, that of others."""
    own = found.get(framework, NONE)
    if not own.startswith(NONE):
        return {framework: own}
    others = {k: v for k, v in found.items() if k != framework and not v.startswith(NONE)}
    return {framework: own, **others} if framework in found else others


def others_with_one(found: Mapping[str, str], framework: str) -> list[str]:
    """The other frameworks that have an option, by name."""
    return [k for k in options_of(found, framework) if k not in (framework, FORK)]
