"""Which option of verl brings what a log lacks."""

from __future__ import annotations

from collections.abc import Mapping

from rollprof.adapters.base import Brings

_DUMP = Brings("trainer.rollout_data_dir=DIR", "0.4.0 and later")
_TRACE = Brings(
    "actor_rollout_ref.rollout.trace.backend=mlflow, its spans exported as JSON lines "
    "(rollout mode async, trainer.use_v1=False)",
    "0.5.0 and later",
)
_STEPS = Brings("trainer.logger=['console','file']", "file since 0.6.0, console in all releases")
_AGENT = Brings(
    "actor_rollout_ref.rollout.mode=async (from 0.9 also trainer.use_v1=False)", "0.5.0 and later"
)
_RANKS = Brings("actor_rollout_ref.rollout.mode=sync with vLLM", "0.4.1 to 0.6.1")
_STATS = Brings(
    "actor_rollout_ref.rollout.disable_log_stats=False and VLLM_LOGGING_LEVEL=INFO", "all releases with vLLM"
)
_CONFIG = Brings("the console log from its beginning (verl prints its configuration)", "all releases")
_V1 = Brings("trainer.use_v1=True", "0.9.0 and later")
_ASYNC = Brings("the fully asynchronous trainer's own metrics (fully_async/*)", "0.6.1 and later")

BRINGS: Mapping[str, Brings] = {
    "rollouts": _DUMP,
    "prompt_id": _DUMP,
    "prompt_chars": _DUMP,
    "response_chars": _DUMP,
    "reward": _DUMP,
    "rewards": _DUMP,
    "correct": Brings(
        "trainer.rollout_data_dir=DIR and a reward function that returns acc", "0.4.0 and later"
    ),
    "group_id": _DUMP,
    "sample_index": Brings("trainer.rollout_data_dir=DIR with trainer.use_v1=True", "0.9.0 and later"),
    "dataset": Brings(
        "trainer.rollout_data_dir=DIR and a reward function that returns data_source", "0.4.0 and later"
    ),
    "response_tokens": Brings(
        "trainer.rollout_data_dir=DIR with --tokenizer, or reward_model.overlong_buffer.log=True",
        "0.4.0 and later",
    ),
    "started_at": _TRACE,
    "completed_at": _TRACE,
    "queue_s": _TRACE,
    "tool_s": _TRACE,
    "finish_reason": _TRACE,
    "turns": _TRACE,
    "step_s": _STEPS,
    "generate_s": _STEPS,
    "reward_s": _STEPS,
    "old_logprob_s": _STEPS,
    "reference_s": _STEPS,
    "values_s": _STEPS,
    "advantage_s": _STEPS,
    "update_s": _STEPS,
    "weight_sync_s": Brings("trainer.logger=['console','file']", "timing_s/update_weights since 0.7.1"),
    "eval_s": Brings("trainer.test_freq=N", "0.2 and later"),
    "checkpoint_s": Brings("trainer.save_freq=N", "0.2 and later"),
    "wait_s": Brings("an asynchronous trainer (trainer.v1.trainer_mode=separate_async)", "0.9.0 and later"),
    "response_tokens_mean": _STEPS,
    "response_tokens_max": _STEPS,
    "reward_mean": _STEPS,
    "tokens_total": _STEPS,
    "tokens_per_gpu_s": _STEPS,
    "truncated_share": Brings(
        "trainer.use_v1=False (clip_ratio of the v1 trainer is not the share at the cap)", "0.9.0"
    ),
    "logged_at": Brings("trainer.logger=['console','tensorboard']", "tensorboard since 0.3.0"),
    "rollout_s_min": _AGENT,
    "rollout_s_mean": _AGENT,
    "rollout_s_max": _AGENT,
    "tool_s_mean": _AGENT,
    "tool_s_max": _AGENT,
    "engine_s_mean": _RANKS,
    "engine_s_max": _RANKS,
    "engine": _STATS,
    "engines.running": _STATS,
    "engines.waiting": _STATS,
    "gen_batches": Brings("the DAPO recipe (recipe.dapo.main_dapo)", "0.3.0 and later"),
    "staleness_mean": _V1,
    "staleness_max": _V1,
    "trainer_idle": Brings(
        "an asynchronous trainer (trainer.v1.trainer_mode=separate_async)", "0.9.0 and later"
    ),
    "rollout_idle": _ASYNC,
    "gpus": _CONFIG,
    "rollout_gpus": _CONFIG,
    "trainer_gpus": _CONFIG,
    "gpus_per_engine": _CONFIG,
    "max_num_seqs": _CONFIG,
    "response_cap": _CONFIG,
    "group_size": _CONFIG,
    "prompts_per_step": _CONFIG,
    "responses_per_step": _CONFIG,
    "model": _CONFIG,
    "engine_name": _CONFIG,
}
"""Column of rollouts or steps, `table.column` of engine samples, or fact -> the option."""
