"""What must be said of samples of engines, whichever engine wrote them."""

from __future__ import annotations

from collections.abc import Mapping

from rollprof.adapters.base import Alarm, Evidence, Fact, Interpretation
from rollprof.adapters.engines.collecting import REPEATED, SHARED


def interpret_engine(evidence: Evidence, name: str) -> Interpretation:
    """Facts that an engine's log knows of itself."""
    config, facts = evidence.config, {"engine_name": Fact(name, "logged", f"the log of {name}")}
    for fact, key in (("max_num_seqs", "max_num_seqs"), ("engines", "engines")):
        if key in config:
            facts[fact] = Fact(config[key], "logged", f"{key} in the engine's log")
    per_engine = config.get("tensor_parallel_size", 0) * config.get("pipeline_parallel_size", 1)
    if per_engine:
        facts["gpus_per_engine"] = Fact(per_engine, "logged", "tensor x pipeline parallel size in the log")
    return Interpretation(
        steps=[],
        facts=facts,
        version=evidence.hints.get("engine.version"),
        alarms=engine_alarms(evidence.hints),
    )


def engine_alarms(hints: Mapping[str, str]) -> list[Alarm]:
    """Traps that were met in an engine's log."""
    found = []
    if hints.get(REPEATED):
        found.append(
            Alarm(
                "engine_lines_deduplicated",
                f"Ray left out {hints[REPEATED]} lines of the engines' statistics as repetitions: what is "
                "left samples one engine or another, so that figures per engine are withheld "
                "(set RAY_DEDUP_LOGS=0, or read the workers' own files)",
                {"left_out": int(hints[REPEATED])},
            )
        )
    if hints.get(SHARED):
        found.append(
            Alarm(
                "engines_share_a_name",
                f"two servers write as engine {hints[SHARED]} into one log: their samples cannot be told "
                "apart, and figures of the engines are withheld",
                {"engine": hints[SHARED]},
            )
        )
    return found
