"""Completion curves of a launch -> what each step's generation took, in figures the bars really support.

Records are named after the bar they come from. `bar/generate_samples/group_s_mean` is the mean time until
a prompt group is done, never that of a single response; `bar/processed_prompts/engine_s_max` is the
slowest engine. Bars and steps are matched by order, and only where their numbers agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rollprof.adapters.openrlhf.buffer import served_from_buffer
from rollprof.adapters.openrlhf.curves import GROUPS, REQUESTS, Call, Curve, curve, pinned
from rollprof.adapters.openrlhf.launches import Launch, Process, Step
from rollprof.sources.records import EngineSample, MetricRecord

Found = tuple[list[MetricRecord], list[EngineSample], dict[str, str]]

SURE_SLOTS = 256
"""vLLM's smallest default of max_num_seqs: an engine with no more requests than this decodes all of them."""

_BAR_OUTLASTS = 1.0
"""Seconds by which a bar may seem longer than the generation call around it: both are cut to seconds."""


def generation_records(launch: Launch) -> Found:
    """(records, engine samples, hints) of the bars of a launch."""
    if not launch.steps:
        return [], [], {}
    records, samples, hints = _groups(launch)
    more = _requests(launch)
    return [*records, *more[0]], [*samples, *more[1]], {**hints, **more[2]}


def _groups(launch: Launch) -> Found:
    calls = launch.training_calls(GROUPS)
    if not calls:
        return [], [], {}
    generating = [s for s, served in zip(launch.steps, _served(launch.steps), strict=True) if not served]
    chosen = _one_each(generating, calls)
    if chosen is None:
        return [], [], {"bars": f"{len(calls)} bars of generation for {len(generating)} steps: left out"}
    records: list[MetricRecord] = []
    samples: list[EngineSample] = []
    for step, call in zip(generating, chosen, strict=False):
        found = curve(call)
        if found is not None:
            records += _records(step, _group_figures(call, found))
            if _group_size(launch, step, call) == 1:  # of a larger one the bar does not tell
                samples += _in_flight(step.said.generated_at, call, found, "all engines")
    return records, samples, {"bars": "groups"}


def _served(steps: Sequence[Step]) -> list[bool]:
    return served_from_buffer([dict(s.pairs).get("timing/generation") for s in steps])


def _one_each(steps: Sequence[Step], calls: Sequence[Call]) -> Sequence[Call] | None:
    """The calls of `steps` in order: as many, or a few more for what was generated ahead when the log ends.

    None where the numbers do not agree or a bar outlasts the generation call it should be part of.
    """
    if not len(steps) <= len(calls) <= len(steps) + 2:
        return None
    for step, call in zip(steps, calls, strict=False):
        took = dict(step.pairs).get("timing/generation")
        if took is not None and call.finished and call.seconds > took + _BAR_OUTLASTS:
            return None
    return calls[: len(steps)]


def _group_figures(call: Call, found: Curve) -> Iterator[tuple[str, float | None]]:
    low, high = found.mean_bounds
    yield "seconds", found.seconds
    yield "groups", float(call.total)
    yield "prompts_consumed", None if call.consumed is None else float(call.consumed)
    yield "group_s_mean", found.mean()
    yield "group_s_p90", found.quantile(0.9)
    yield "group_s_mean_low", low
    yield "group_s_mean_high", high


def _records(
    step: Step, figures: Iterator[tuple[str, float | None]], bar: str = "generate_samples"
) -> Iterator[MetricRecord]:
    for name, value in figures:
        if value is not None:
            yield MetricRecord(step.number, f"bar/{bar}/{name}", value, step.time, step.offset)


def _group_size(launch: Launch, step: Step, call: Call) -> int | None:
    size = launch.config.get("rollout.n_samples_per_prompt")
    if isinstance(size, int) and size > 0:
        return size
    count = step.said.samples
    return count // call.total if count and count % call.total == 0 else None


def _in_flight(end: float | None, call: Call, found: Curve, engine: str) -> Iterator[EngineSample]:
    """Requests of one engine in flight over time, where a clock tells when the call ended and so few came
    that none had to queue."""
    if end is None or call.total > SURE_SLOTS:
        return
    begin = end - found.seconds
    yield EngineSample(begin, engine, float(call.total), 0.0, None, None, None)
    for done, (low, high) in enumerate(zip(found.low, found.high, strict=True), 1):
        time = begin + (low + high) / 2
        yield EngineSample(time, engine, float(call.total - done), 0.0, None, None, None)


def _requests(launch: Launch) -> Found:
    by_engine: dict[Process, list[Call]] = {}
    for call in launch.training_calls(REQUESTS):
        by_engine.setdefault((call.actor, call.pid), []).append(call)
    if not by_engine:
        return [], [], {}
    rounds = _rounds(launch, by_engine)
    if rounds is None:
        shown = ", ".join(str(sum(c.finished for c in calls)) for calls in by_engine.values())
        wanted = sum(s.said.rounds + 1 for s in launch.steps)
        return [], [], {"bars": f"finished bars per engine: {shown}; calls: {wanted}; left out"}
    records: list[MetricRecord] = []
    samples: list[EngineSample] = []
    at = 0
    for step, count in zip(launch.steps, rounds, strict=True):
        own = [[c for c in calls if c.finished][at : at + count] for calls in by_engine.values()]
        at += count
        records += _records(step, _engine_figures(own), "processed_prompts")
        if count == 1:
            samples += _engine_samples(step, [calls[0] for calls in own])
    return records, samples, {"bars": "requests", "engines_seen": str(len(by_engine))}


def _rounds(launch: Launch, by_engine: Mapping[Process, Sequence[Call]]) -> list[int] | None:
    """Calls of each engine per step; None where some engine's bars are not all there."""
    engines = launch.config.get("vllm.num_engines")
    if isinstance(engines, int) and engines != len(by_engine):
        return None
    counts = {sum(c.finished for c in calls) for calls in by_engine.values()}
    if len(counts) != 1:
        return None
    count = counts.pop()
    rounds = [s.said.rounds + 1 for s in launch.steps]
    if count in (sum(rounds), sum(rounds) + 1):
        return rounds
    if sum(rounds) == len(rounds) and count % len(rounds) == 0:
        return [count // len(rounds)] * len(rounds)
    return None


def _engine_figures(own: Sequence[Sequence[Call]]) -> Iterator[tuple[str, float | None]]:
    """Figures of one step from the calls of each engine, one per round and engine."""
    rounds = [[calls[i].seconds for calls in own] for i in range(len(own[0]))]
    yield "seconds", sum(max(r) for r in rounds)
    yield "engines", float(len(own))
    yield "rounds", float(len(rounds))
    yield "requests", float(sum(c.total for calls in own for c in calls))
    yield "engine_s_mean", sum(sum(r) / len(r) for r in rounds)
    yield "engine_s_max", sum(max(r) for r in rounds)
    if len(rounds) == 1:
        yield "rollout_s_mean", _pooled_mean([calls[0] for calls in own])


def _pooled_mean(calls: Sequence[Call]) -> float | None:
    """Mean completion time of all responses, where the bars pin it."""
    found = [c for call in calls if (c := curve(call)) is not None]
    if len(found) != len(calls):
        return None
    low = [t for c in found for t in c.low]
    high = [t for c in found for t in c.high]
    return pinned(sum(low) / len(low), sum(high) / len(high), max(c.seconds for c in found))


def _engine_samples(step: Step, calls: Sequence[Call]) -> Iterator[EngineSample]:
    """All engines begin together; generation ends with the slowest."""
    found = [(call, c) for call in calls if (c := curve(call)) is not None]
    slowest = max((c.seconds for _, c in found), default=0.0)
    for call, c in found:
        end = step.said.generated_at
        own_end = None if end is None else end - slowest + c.seconds
        yield from _in_flight(own_end, call, c, f"{call.actor} {call.pid}")
