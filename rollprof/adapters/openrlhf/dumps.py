"""Rows of `openrlhf.cli.batch_inference` (until 0.9.5): `{"input", "output"}`, with `"reward"` where a reward
model read them. No step, no token count and no finish reason.

With best_of_n the file holds all prompts, then all again: responses of one prompt are told by its text. The
ranks of a reward model leave their shards (`OUT0`, `OUT1`) beside the joined file. `--post_processor
iter_dpo` keeps the best and the worst response of each prompt, which are no sample of its responses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Claim, Dropped, MapperContext, Row
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

COLUMNS = ("prompt", "response", "reward")

_GENERATED = frozenset({"input", "output"})
_SCORED = frozenset({"input", "output", "reward"})
_PAIR = frozenset({"prompt", "chosen", "chosen_reward", "rejected", "rejected_reward"})
_CONDITIONED = re.compile(r" <rm_score>: -?\d+\.\d\d $")
_SHARD = re.compile(r"^(?P<joined>.*\.jsonl?)(?P<rank>\d{1,4})$")


def claim_rows(file: SniffedFile, name: str) -> Claim | None:
    """What of batch inference's these rows are, or None."""
    rows = file.objects
    if not rows:
        return None
    shard = _SHARD.match(file.name)
    series = shard["joined"] if shard is not None else file.name
    hints = {"shard": shard["rank"]} if shard is not None else {}
    if all(set(r) == _SCORED for r in rows) and all(type(r["reward"]) in (int, float) for r in rows):
        conditioned = all(type(r["input"]) is str and _CONDITIONED.search(r["input"]) for r in rows)
        why = "responses scored by OpenRLHF's batch inference (input, output, reward per line)"
        return Claim(name, "rollouts", 0.9 if conditioned else 0.6, why, series=series, hints=hints)
    if all(set(r) == _GENERATED for r in rows):
        why = "responses of OpenRLHF's batch inference (input and output per line)"
        return Claim(name, "rollouts", 0.45, why, series=series, hints=hints)
    if all(set(r) == _PAIR for r in rows):
        why = (
            "preference pairs that OpenRLHF picked by reward (the best and the worst response of a prompt, "
            "not a sample of its responses)"
        )
        return Claim(name, "config", 0.9, why)
    return None


class RowMapper:
    """One row of batch inference as columns."""

    columns = COLUMNS

    def __init__(self, context: MapperContext) -> None:
        del context  # no key depends on the file

    def __call__(self, record: dict[str, Any]) -> Row | Dropped:
        prompt, response = values.passage(record.get("input")), values.passage(record.get("output"))
        if prompt is None and response is None:
            raise ValueError("no input and no output: not a row of batch inference")
        if type(prompt) is str:
            prompt = _CONDITIONED.sub("", prompt)
        return prompt, response, values.number(record.get("reward"))


def without_shards(
    files: Sequence[tuple[SniffedFile, Claim]], ledger: Ledger
) -> list[tuple[SniffedFile, Claim]]:
    """The joined file alone where it is there, else the shards of all ranks."""
    joined = [item for item in files if "shard" not in item[1].hints]
    if not joined:
        return list(files)
    for file, claim in files:
        if "shard" in claim.hints:
            ledger.note(file.name, 0, "shard of one rank: its rows stand in the joined file as well")
    return joined
