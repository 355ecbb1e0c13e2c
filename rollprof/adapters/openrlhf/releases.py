"""Which releases of OpenRLHF can have written a log, from what stands in it.

Nothing in a log names the release. Each trace below bounds it from one side or both; together they leave a
range. A trace that contradicts the others (a fork, a hand-made excerpt) leaves no range, and none is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Release = tuple[int, ...]

_TRACES: Mapping[str, tuple[str, str]] = {
    # trace: (first release that has it, first release that no longer has it)
    "mark.args_nested": ("0.10.2", ""),
    "mark.args_flat": ("0.7.1", "0.10.2"),
    "mark.args.prompt_max_len": ("", "0.9.8"),
    "mark.args.max_new_tokens": ("0.9.8", ""),
    "mark.actor.RolloutRayActor": ("0.10.2", ""),
    "mark.actor.LLMRayActor": ("", "0.10.2"),
    "mark.actor.LLMRayActorAsync": ("0.8.0", "0.9.1"),
    "mark.actor.PolicyModelActor": ("0.8.3", ""),
    "mark.actor.ActorModelRayActor": ("", "0.8.3"),
    "mark.actor.RemoteRewardModel": ("0.8.1", "0.9.1"),
    "mark.actor.PPOTrainer": ("0.7.1", ""),
    "mark.actor.PPOTrainerAsync": ("0.8.0", ""),
    "mark.bar.groups": ("0.9.1", ""),
    "mark.bar.requests": ("", "0.9.1"),
    "mark.episode_bar": ("", "0.8.1"),
    "mark.sparkles": ("0.8.1", ""),
    "mark.samples": ("0.6.3", ""),
    "mark.sample": ("0.9.9", ""),
    "mark.filtered": ("0.9.1", ""),
    "mark.round": ("0.8.1", "0.9.1"),
    "mark.kept": ("0.8.1", "0.9.1"),
    "mark.queue_full": ("0.8.2", "0.9.1"),
    "mark.queue": ("0.9.1", ""),
    "mark.eval_at": ("0.9.7", ""),
    "key.timing/generation": ("0.9.6", ""),
    "key.timing/step_total": ("0.9.6", ""),
    "key.rollout/num_samples": ("0.9.8", ""),
    "key.rollout/response_length_mean": ("0.9.8", ""),
    "key.actor_grad_norm": ("0.9.6", ""),
    "key.truncated": ("0.9.2", ""),
    "key.logprobs_diff": ("0.9.2", ""),
    "key.response_clip_ratio": ("0.8.3", ""),
    "key.group_reward_std": ("0.8.3", ""),
    "key.vllm_kl": ("0.8.9", ""),
    "key.eval_response_length_mean": ("0.9.7", ""),
}


def parse(text: str) -> Release:
    """`0.9.10` as a tuple that compares."""
    return tuple(int(part) for part in text.split("."))


class Range:
    """Releases from `low` (inclusive) to `high` (exclusive); either may be open ("")."""

    def __init__(self, low: str = "", high: str = "") -> None:
        self.low, self.high = low, high

    def __str__(self) -> str:
        return ",".join(filter(None, (self.low and f">={self.low}", self.high and f"<{self.high}")))

    @property
    def known(self) -> bool:
        return bool(self.low or self.high)

    def at_least(self, release: str) -> bool:
        """Surely `release` or later."""
        return bool(self.low) and parse(self.low) >= parse(release)

    def before(self, release: str) -> bool:
        """Surely before `release`."""
        return bool(self.high) and parse(self.high) <= parse(release)


def release_range(hints: Mapping[str, str], keys: Iterable[str]) -> Range:
    """The range that all traces leave; an open one where they contradict each other."""
    seen = {*hints, *(f"key.{key}" for key in keys)}
    if "mark.no_sparkles" in seen and "mark.actor.TrainingActor" in seen:
        seen.add("mark.eval_at")  # the asynchronous trainer lost its sparkles with 0.9.7 as well
    bounds = [_TRACES[trace] for trace in seen if trace in _TRACES]
    lows = sorted((low for low, _ in bounds if low), key=parse)
    highs = sorted((high for _, high in bounds if high), key=parse)
    low, high = (lows[-1] if lows else ""), (highs[0] if highs else "")
    if low and high and parse(low) >= parse(high):
        return Range()
    return Range(low, high)
