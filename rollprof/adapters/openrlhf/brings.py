"""Which option of OpenRLHF brings what a log lacks. Much of it none does: the trainer logs means only, and
no release writes its rollouts to a file."""

from __future__ import annotations

from collections.abc import Mapping

from rollprof.adapters.base import Brings

_NO_DUMP = Brings(
    "a reward function (reward.remote_url=FILE.py) that appends each response to a JSON lines file, for "
    "OpenRLHF itself writes none",
    "response by response since 0.9.1",
)
_MEANS_ONLY = Brings(
    "a reward function that appends each response to a JSON lines file, with --tokenizer (OpenRLHF logs mean "
    "lengths only)",
    "",
)
_TIMERS = Brings("a newer OpenRLHF: timing/* is in every step line", "0.9.6, asynchronous 0.9.7, and later")
_STATS = Brings("a newer OpenRLHF: rollout/* is in every step line", "0.9.8 and later")
_ENGINES = Brings("no option since 0.9.1, until 0.9.0 RAY_DEDUP_LOGS=0 (one progress bar per engine)", "")
_TICKS = Brings("no option since 0.9.1, until 0.9.0 RAY_DEDUP_LOGS=0 (one tick per response)", "")
_GROUPS = Brings("standard error in the same log (the bar `Generate samples`)", "0.9.1 and later")
_NO_STATS = Brings("no option: its engines do not log their statistics", "since 0.9.1")
_ASYNC = Brings("train.async_enable (--async_train until 0.10.1)", "0.9.7 and later")
_ARGS = Brings("the console log from its beginning (OpenRLHF prints its arguments)", "0.7.1 and later")
_NO_VERSIONS = Brings("no option of OpenRLHF logs policy versions", "")
_EVAL = Brings("eval.dataset and eval.steps (--eval_dataset, --eval_steps until 0.10.1)", "0.7.0 and later")

BRINGS: Mapping[str, Brings] = {
    **dict.fromkeys(
        (
            "rollouts",
            "prompt_id",
            "prompt_chars",
            "response_chars",
            "reward",
            "rewards",
            "correct",
            "group_id",
            "sample_index",
            "dataset",
            "finish_reason",
            "started_at",
            "completed_at",
            "queue_s",
            "tool_s",
            "turns",
        ),
        _NO_DUMP,
    ),
    "response_tokens": _MEANS_ONLY,
    "response_tokens_max": _MEANS_ONLY,
    "response_tokens_min": _MEANS_ONLY,
    "response_tokens_mean": Brings(
        "a newer OpenRLHF: response_length is in every step line", "0.8.1 and later"
    ),
    "reward_mean": Brings("a newer OpenRLHF: reward is in every step line", "0.8.1 and later"),
    "truncated_share": _STATS,
    "generate_s": _TIMERS,
    "step_s": Brings("several step lines with their stamps and timing/step_total", "0.9.6 and later"),
    "update_s": _TIMERS,
    "weight_sync_s": Brings("a synchronous run: timing/broadcast in every step line", "0.9.6 and later"),
    "old_logprob_s": Brings("no option: timing/make_experience is one number for all models", ""),
    "reference_s": Brings("no option: timing/make_experience is one number for all models", ""),
    "values_s": Brings("no option: timing/make_experience is one number for all models", ""),
    "reward_s": Brings("no option: responses are scored inside generation", "since 0.9.1"),
    "eval_s": _EVAL,
    "checkpoint_s": Brings("no option of OpenRLHF times its checkpoints", ""),
    "wait_s": _ASYNC,
    "trainer_idle": _ASYNC,
    "rollout_idle": _ASYNC,
    "group_s_mean": _GROUPS,
    "group_s_p90": _GROUPS,
    "group_s_max": _GROUPS,
    "rollout_s_mean": _TICKS,
    "rollout_s_max": _TICKS,
    "engine_s_mean": _ENGINES,
    "engine_s_max": _ENGINES,
    "engine": Brings("no option: since 0.9.1 no line says which engine served a response", ""),
    "engines.running": _NO_STATS,
    "engines.waiting": _NO_STATS,
    "engines.generation_tokens_s": _NO_STATS,
    "gen_batches": Brings("algo.dynamic_filtering_enable (--dynamic_filtering)", "0.8.1 to 0.9.0"),
    "sampling_pass_rate": Brings("algo.dynamic_filtering_enable (--dynamic_filtering)", "0.8.1 and later"),
    "logged_at": Brings("logger.tensorboard_dir (--use_tensorboard)", "0.4.4 and later"),
    "policy_version_first": _NO_VERSIONS,
    "policy_version_last": _NO_VERSIONS,
    "staleness_mean": _NO_VERSIONS,
    "staleness_max": _NO_VERSIONS,
    "max_num_seqs": Brings("no option: OpenRLHF leaves it to vLLM; --config max_num_seqs=N", ""),
    **dict.fromkeys(
        (
            "gpus",
            "rollout_gpus",
            "trainer_gpus",
            "gpus_per_engine",
            "engines",
            "response_cap",
            "group_size",
            "prompts_per_step",
            "responses_per_step",
            "model",
            "engine_name",
        ),
        _ARGS,
    ),
}
"""Column of rollouts or steps, `table.column` of engine samples, or fact -> the option."""
