"""What the transformers Trainer prints, version by version. The forms are TRL's, the numbers made up."""

from __future__ import annotations

from rollprof.adapters.base import MetricPart
from rollprof.schema.ledger import Ledger


def metrics(step: int, **extra: float) -> dict[str, float]:
    """What GRPO 0.26 and later logs, in its order, in brief."""
    values = {
        "loss": -0.01234567 * step,
        "grad_norm": 1.0282684564590454,
        "learning_rate": 1e-6,
        "num_tokens": 1504.0 * step,
        "completions/mean_length": 28.75 + step,
        "completions/min_length": 11.0,
        "completions/max_length": 64.0,
        "completions/clipped_ratio": 0.125,
        "completions/max_terminated_length": 43.0,
        "rewards/exact/mean": 0.5,
        "rewards/exact/std": 0.25,
        "reward": 0.5,
        "reward_std": 0.25,
        "frac_reward_zero_std": 0.0,
        "entropy": 5.8,
        "step_time": 1.25,
    }
    values.update({k.replace("__", "/"): v for k, v in extra.items()})
    return values


def v4(values: dict[str, float], epoch: float) -> str:
    """transformers 4: raw floats, the loss with four decimals, the epoch with two."""
    shown = {**values, "epoch": round(epoch, 2)}
    if "loss" in shown:
        shown["loss"] = round(shown["loss"], 4)
    return repr(shown)


def v5(values: dict[str, float], epoch: float) -> str:
    """transformers 5: every float a string of four significant digits."""
    return repr({k: f"{v:.4g}" for k, v in {**values, "epoch": epoch}.items()})


def bar(done: int, total: int, elapsed: str) -> str:
    """The training bar as tqdm draws it."""
    share = done / total
    return f"{share:4.0%}|{'█' * int(10 * share):10}| {done}/{total} [{elapsed}<10:00,  3.27s/it]"


def panel(step: int) -> str:
    """The table of completions, in brief."""
    return (
        f"╭─────────────────────────────────── Step {step} ───────────────────────────────────╮\n"
        "│ ┃ Prompt      ┃ Completion   ┃ exact ┃ Advantage ┃ │\n"
        "│ │ What is 22  │ 5/12 [00:01< │  1.00 │     -1.30 │ │\n"
        "╰──────────────────────────────────────────────────────────────────────────────╯"
    )


def redrawn(step: int, total: int, elapsed: str, text: str) -> str:
    """A log line as `2>&1` leaves it: the bar, wiped, the dict, the bar again on the next line."""
    drawn = bar(step, total, elapsed)
    return f"\r{drawn}\r{' ' * 46}\r{text}\n\r{drawn}"


def by_step(part: MetricPart) -> dict[int | None, dict[str, float]]:
    """`values[step][key]` of a part."""
    found: dict[int | None, dict[str, float]] = {}
    for record in part.metrics:
        found.setdefault(record.step, {})[record.key] = record.value
    return found


def reasons(ledger: Ledger, kind: str = "note") -> list[str]:
    return [p.reason for p in ledger.problems if p.kind == kind]
