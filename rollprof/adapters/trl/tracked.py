"""TRL's scalars in trackers: `train/` and `eval/` before the Trainer's keys (not in mlflow), the step in
`train/global_step`.

`profiling/Time taken: …` is logged by itself, at the step before the one it belongs to and in trackio without
any; the entry that follows in the file says which step that was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rollprof.adapters.base import MetricPart
from rollprof.adapters.sinks import LARGEST_STEP, Row, Rows, Vocabulary, since_before
from rollprof.adapters.trl.derived import derived_settings
from rollprof.adapters.trl.logdict import generates
from rollprof.adapters.trl.training_args import KEPT
from rollprof.adapters.trl.vocabulary import GENERATE, REWARD, SINCE, SUMMARY, SYNC
from rollprof.sources.records import MetricRecord

AXIS = "train/global_step"
PROFILING = "profiling/"
TRAINER = ("loss", "grad_norm", "learning_rate", "train_loss")
TEXTS = ("args/text_summary", "model_config/text_summary")
"""Tags under which TensorBoard has the settings."""

_TIMERS: Mapping[str, tuple[str, ...]] = {
    GENERATE: (".vLLM.generate", ".transformers.generate", ".transformers.generate_batch", ".generate"),
    REWARD: ("._calculate_rewards",),
    SYNC: ("._move_model_to_vllm", ".sync_weights"),
}
"""Where the first process's time went -> the ends of the timers' names."""


def telling(keys: Collection[str]) -> bool:
    """True for keys of a Trainer that generates its own responses."""
    own = {own_name(key): 0 for key in keys}
    return generates(own) and any(key in own for key in TRAINER)


def own_name(key: str) -> str:
    """`train/reward` is `reward`, `eval/reward` is `eval_reward`; mlflow has them so already."""
    if key.startswith("eval/"):
        return f"eval_{key.removeprefix('eval/')}"
    return key.removeprefix("train/")


def fill(part: MetricPart, rows: Rows, config: Mapping[str, Any]) -> None:
    """Scalars under the Trainer's own names at its global step, and what the timers between them say."""
    timers: dict[str, float] = {}
    times: list[tuple[int, float | None]] = []
    ended = finished = False
    for row in _merged(rows):
        step = _step(row)
        timed = {k: v for k, v in row.values.items() if k.startswith(PROFILING)}
        for key, value in timed.items():
            column = next((c for c, ends in _TIMERS.items() if key.endswith(ends)), None)
            if column is not None:
                timers[column] = timers.get(column, 0.0) + value
        # A timer's own step is not that of the log it belongs to; as it stood it is worth keeping.
        part.metrics += [MetricRecord(None, k, v, row.time, row.offset) for k, v in timed.items()]
        own = {own_name(k): v for k, v in row.values.items() if k not in timed and k != AXIS}
        if step is None or not own:
            continue
        part.metrics += [MetricRecord(step, k, v, row.time, row.offset) for k, v in own.items()]
        ended = any(k in SUMMARY for k in own)
        finished = finished or ended
        if any(k.startswith("eval_") for k in own):
            timers.clear()  # they were the evaluation's
            times.clear()  # and the next step's time would be its time too
        elif not ended and any(k in TRAINER for k in own):
            part.metrics += [MetricRecord(step, k, v, row.time, row.offset) for k, v in timers.items()]
            timers.clear()
            times.append((step, row.time))
            for at, seconds in since_before(times[-2:]):
                part.metrics.append(MetricRecord(at, SINCE, seconds, row.time, row.offset))
    part.config = {**settings(config), **derived_settings(part.metrics, finished=finished)}
    part.hints["steps"] = "logged"


def _step(row: Row) -> int | None:
    said = row.values.get(AXIS)
    if said is not None and abs(said) <= LARGEST_STEP:
        return int(said)
    return None if row.own_step else row.step


def _merged(rows: Rows) -> list[Row]:
    """TensorBoard has a row per scalar: those of one step, one after the other, are one log."""
    out: list[Row] = []
    for row in rows:
        last = out[-1] if out else None
        if (
            last is not None
            and not row.own_step
            and last.step == row.step
            and not last.values.keys() & row.values.keys()
            and _is_eval(last) == _is_eval(row)
            and not any(k.startswith(PROFILING) for k in (*last.values, *row.values))
        ):
            out[-1] = Row(row.step, False, row.time, {**last.values, **row.values}, last.offset)
        else:
            out.append(row)
    return out


def _is_eval(row: Row) -> bool:
    return any(own_name(key).startswith("eval_") for key in row.values)


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that say something about rollouts, the model, and transformers' release."""
    flat = dict(config)
    for tag in TEXTS:
        inner = config.get(tag)
        if isinstance(inner, dict):
            flat = {**inner, **flat}
    found = {name: flat[name] for name in KEPT if flat.get(name) is not None}
    for name, key in (("model", "_name_or_path"), ("version.transformers", "transformers_version")):
        if isinstance(flat.get(key), str) and flat[key]:
            found[name] = flat[key]
    return found


VOCABULARY = Vocabulary("trl", "TRL", telling, fill, settings, ("num_generations", "max_completion_length"))
