"""Ready reward functions that write rollouts to a file, for trainers that have no option to."""

from __future__ import annotations

from collections.abc import Collection

from rollprof.doctor.results import Snippet
from rollprof.doctor.versions import written_by

_APPEND = '''

def append(rows):
    """One JSON line per response, whole lines only: processes and threads share the file."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\\n" for row in rows)
    with open(LOG, "a", encoding="utf-8") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        log.write(lines)
        log.flush()
'''

OPENRLHF = Snippet(
    file="logged_reward.py",
    use="reward.remote_url=logged_reward.py (--remote_rm_url until 0.10.1), with your own function in "
    "my_reward.py beside it and ROLLOUTS_PER_STEP in the environment of the job",
    code='''"""Scores with my_reward.reward_func and appends every response to a JSON lines file."""

import fcntl
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from my_reward import reward_func as score  # your function: queries, prompts, labels -> rewards

LOG = os.environ.get("ROLLOUT_LOG", "/tmp/rollouts.jsonl")  # a path that all nodes share
PER_STEP = int(os.environ["ROLLOUTS_PER_STEP"])  # rollout.batch_size x rollout.n_samples_per_prompt


def reward_func(queries, prompts, labels, **kwargs):
    now = time.time()  # since 0.9.1 each response is scored alone, as soon as it is complete
    result = score(queries, prompts, labels, **kwargs)
    rewards = result["rewards"] if isinstance(result, dict) else result
    first = count(len(queries))
    append(
        {
            "step": (first + i) // PER_STEP + 1,
            "prompt": prompt,
            "response": query[query.find(prompt) + len(prompt) :] if prompt in query else query,
            "reward": float(reward),
            "completed_at": now,
        }
        for i, (query, prompt, reward) in enumerate(zip(queries, prompts, rewards))
    )
    return result


def count(more):
    """Responses so far. The reward function is not told the step: it is counted, which is exact for a
    synchronous run without dynamic filtering and without evaluation."""
    with open(LOG + ".count", "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        so_far = int(file.read() or 0)
        file.truncate(0)
        file.write(str(so_far + more))
        file.flush()
    return so_far
'''
    + _APPEND,
)

TRL = Snippet(
    file="logged_reward.py",
    use="reward_funcs=[logged(your_reward), ...]: wrap one of them",
    code='''"""Wraps a reward function of TRL, so that it appends every response to a JSON lines file."""

import fcntl
import functools
import json
import os
import time

LOG = os.environ.get("ROLLOUT_LOG", "rollouts.jsonl")


def logged(score):
    @functools.wraps(score)  # TRL names its metrics after the function
    def reward_func(prompts, completions, **kwargs):
        now = time.time()  # the whole batch of this process is complete
        rewards = score(prompts=prompts, completions=completions, **kwargs)
        state = kwargs.get("trainer_state")  # since TRL 0.19
        ids = kwargs.get("completion_ids") or [None] * len(completions)
        splits = kwargs.get("split") or ["train"] * len(completions)  # a column "split" in your data sets
        append(
            {
                "step": None if state is None else state.global_step + 1,
                "split": split,
                "prompt": prompt,
                "response": completion if isinstance(completion, str) else completion[-1]["content"],
                "response_tokens": None if tokens is None else len(tokens),
                "reward": None if reward is None else float(reward),
                "logged_at": now,
            }
            for prompt, completion, tokens, reward, split in zip(prompts, completions, ids, rewards, splits)
        )
        return rewards

    return reward_func
'''
    + _APPEND,
)

DUMPS_SINCE = (0, 28)
"""GRPO writes completions/*.parquet from this release of TRL on; no other trainer of it does."""


def snippet_for(
    framework: str, trainer: str | None, version: str | None, have: Collection[str]
) -> Snippet | None:
    """The code for this trainer; None where the log has rollouts, or an option of the framework brings them.

    `have` names what the run has (`rollouts.reward`).
    """
    if any(name.startswith("rollouts.") for name in have):
        return None
    if framework == "openrlhf":
        return OPENRLHF
    wrote = written_by(version)
    older = wrote is not None and wrote.high < DUMPS_SINCE
    if framework == "trl" and (older or (trainer or "").startswith(("RLOO", "AsyncGRPO", "PPO"))):
        return TRL
    return None
