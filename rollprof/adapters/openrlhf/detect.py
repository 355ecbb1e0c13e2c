"""Is this file OpenRLHF's, and which of its files is it? Told by content, with the reason in words.

Only what OpenRLHF itself writes counts: a step line with its dict at the start of a message, its printed
arguments, the bars of its own actors, the rows of its batch inference.
"""

from __future__ import annotations

import re

from rollprof.adapters.base import Claim
from rollprof.adapters.openrlhf.dumps import claim_rows
from rollprof.sources.records import SniffedFile
from rollprof.sources.searching import search_text

NAME = "openrlhf"

_COLOUR = rb"(?:\x1b\[[0-9;]*[A-Za-z])*"
_BEFORE = (
    rb"(?:^|\r)[ \t]*" + _COLOUR + rb"(?:\([^()\n]{1,120}\)" + _COLOUR + rb"\s?)?"
    rb"(?:[^\]{}\n]{0,120}\][ \t]*)?(?:\xe2\x9c\xa8[ \t]*)?"
)
_KNOWN = (
    rb"(?:policy_loss|actor_lr|actor_grad_norm|critic_loss|response_length|total_length|response_clip_ratio|"
    rb"group_reward_std|logprobs_diff|ppo_kl|ppo_clip_ratio|entropy_loss|vllm_kl|math_accuracy|truncated|"
    rb"return|values|reward|score|kl|timing/\w+|rollout/\w+)"
)
_STEP = re.compile(
    _BEFORE + rb"Global step \d{1,12}(?: \[\w+\])?:\s*\{\s*(?:['\"][^'\"\n]{1,200}['\"]: [^'\"\n]{1,60}, )*?"
    rb"['\"]" + _KNOWN + rb"['\"]:",
    re.MULTILINE,
)
_REFORMATTED = re.compile(_BEFORE + rb"Global step \d{1,12}:[ \t]*\r?\n", re.MULTILINE)
_REFORMATTED_KEY = re.compile(rb"^\s+" + _KNOWN + rb":\s+[-\d]", re.MULTILINE)
_ARGS = (
    rb"(?:^[ \t]*(?:\(\w+\)[ \t]*)?[Nn]amespace\()"
    rb"(?=[^\n]*(?:colocate_all|vllm_num_engines|n_samples_per_prompt))"
)
_ACTOR = (
    rb"\((?:PPOTrainer(?:Async)?|TrainingActor|GenerateSamplesActor|PolicyModelActor|ActorModelRayActor|"
    rb"LLMRayActor(?:Async)?|RolloutRayActor|RemoteRewardModel)(?: pid=\d+[^()\n]{0,60})?\)" + _COLOUR
)
_BARS = (
    _ACTOR + rb"(?:\x1b\[A|\s){0,8}(?:Generate samples|Processed prompts|Episode \[\d+/\d+\]|"
    rb"Train epoch \[\d+/\d+\]|make_experience|forward|append):\s"
)
_MESSAGE = (
    rb"\w+\.py:\d+\] "
    rb"(?:\xf0\x9f\x9a\x80 Starting experience making with \d+ samples|Sample: \[|queue_size=\d)"
)
_ACTOR_LINE = _ACTOR + rb" ?[A-Z]{4,8} \d\d-\d\d \d\d:\d\d:\d\d \w+\.py:\d+\] "
_PROGRAM = rb"'-m', 'openrlhf\.cli\.train_ppo(?:_ray)?',"  # the launcher's list of arguments
_OTHER = re.compile(
    b"|".join(
        b"(?P<" + name + b">" + pattern + b")"
        for name, pattern in (
            (b"arguments", _ARGS),
            (b"bars", _BARS),
            (b"messages", _MESSAGE),
            (b"actors", _ACTOR_LINE),
            (b"program", _PROGRAM),
        )
    ),
    re.MULTILINE,
)
_STEP_MARKS = (b"Global step ",)
_OTHER_MARKS = (
    b"amespace(",
    b"(PPOTrainer",
    b"(TrainingActor",
    b"(GenerateSamplesActor",
    b"(PolicyModelActor",
    b"(ActorModelRayActor",
    b"(LLMRayActor",
    b"(RolloutRayActor",
    b"(RemoteRewardModel",
    b"Starting experience making with ",
    b"] Sample: [",
    b"] queue_size=",
    b"'openrlhf.cli.train_ppo",
)
_WHY = {
    "arguments": (0.85, "arguments that OpenRLHF prints when it starts"),
    "bars": (0.8, "console log of OpenRLHF (progress bars of its actors)"),
    "messages": (0.7, "console log of OpenRLHF (messages of its trainer)"),
    "actors": (0.5, "console log of OpenRLHF (lines of its actors)"),
    "program": (0.4, "console log of a job that ran openrlhf.cli"),
}
_RETOUCHED = (
    "metrics of OpenRLHF that somebody reformatted (`key: value` lines in place of the {...} that it prints) "
    "and that cannot be read safely"
)


def claim(file: SniffedFile) -> Claim | None:
    """What of OpenRLHF's this file is, or None."""
    if file.kind in ("json_lines", "json_document"):
        return claim_rows(file, NAME)
    if file.kind == "text":
        return _claim_text(file)
    return None


def _claim_text(file: SniffedFile) -> Claim | None:
    if search_text(file, _STEP, _STEP_MARKS):
        return Claim(NAME, "console", 0.97, "console log of OpenRLHF (step lines)")
    if _REFORMATTED.search(file.head) and _REFORMATTED_KEY.search(file.head):
        return Claim(NAME, "console", 0.6, _RETOUCHED)
    found = search_text(file, _OTHER, _OTHER_MARKS)
    if found is None or found.lastgroup is None:
        return None
    return Claim(NAME, "console", *_WHY[found.lastgroup])
