"""Which option of TRL brings what a log lacks."""

from __future__ import annotations

from collections.abc import Mapping

from rollprof.adapters.base import Brings

_DUMP = Brings(
    "log_completions=True, logging_steps=1 (completions/*.parquet in output_dir)", "GRPO 0.28 and later"
)
_LOGS = Brings("logging_steps=1", "GRPO 0.17 and later")
_TIME = Brings("logging_steps=1", "step_time since 0.26; the console's progress bar before")
_PROFILE = Brings(
    "report_to='wandb' or 'mlflow' (profiling/Time taken: ...generate)",
    "vLLM's: wandb 0.16, mlflow 0.18 and later; transformers' own generation: 0.20 and later",
)
_ARGS = Brings("the training_args.bin of a checkpoint beside the log (save_steps=N)", "all releases")
_ASYNC = Brings("AsyncGRPOTrainer (trl.experimental.async_grpo)", "1.11 and later")
_TOKENS = Brings("log_completions=True and --tokenizer checkpoint/tokenizer.json", "GRPO 0.28 and later")

BRINGS: Mapping[str, Brings] = {
    "rollouts": _DUMP,
    "prompt_id": _DUMP,
    "group_id": _DUMP,
    "sample_index": _DUMP,
    "prompt_chars": _DUMP,
    "response_chars": _DUMP,
    "reward": _DUMP,
    "rewards": _DUMP,
    "advantage": _DUMP,
    "response_tokens": _TOKENS,
    "prompt_tokens": _TOKENS,
    "engine": Brings("log_completions=True and the training_args.bin of a checkpoint", "GRPO 0.28 and later"),
    "dataset": Brings(
        "log_extra('dataset', ...) in a reward function, with --map dataset=dataset", "1.0 and later"
    ),
    "correct": Brings(
        "log_extra('correct', ...) in a reward function, with --map correct=correct", "1.0 and later"
    ),
    "response_tokens_mean": _LOGS,
    "response_tokens_min": _LOGS,
    "response_tokens_max": _LOGS,
    "truncated_share": _LOGS,
    "reward_mean": _LOGS,
    "tokens_total": Brings("save_steps=N (trainer_state.json keeps num_tokens exactly)", "0.16 and later"),
    "step_s": _TIME,
    "generate_s": _PROFILE,
    "reward_s": _PROFILE,
    "weight_sync_s": _PROFILE,
    "wait_s": _ASYNC,
    "update_s": _ASYNC,
    "trainer_idle": _ASYNC,
    "rollout_s_mean": _ASYNC,
    "staleness_max": _ASYNC,
    "logged_at": Brings("report_to='tensorboard'", "all releases"),
    "finish_reason": Brings(
        "no option of TRL writes why a response ended; --tokenizer counts its tokens", ""
    ),
    "gpus": Brings(
        "--config gpus=N, or the training_args.bin of a checkpoint beside the log", "all releases"
    ),
    "engines": _ARGS,
    "max_num_seqs": _ARGS,
    "response_cap": _ARGS,
    "group_size": _ARGS,
    "prompts_per_step": _ARGS,
    "responses_per_step": _ARGS,
}
"""Column of rollouts or steps, or fact -> the option."""
