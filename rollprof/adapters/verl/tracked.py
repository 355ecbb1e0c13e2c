"""verl's scalars in trackers: its keys verbatim, its step as the tracker's own.

Since 0.7.1 mlflow's keys have `_at_` where verl's have `@`. The whole configuration goes to wandb (nested),
SwanLab and trackio; mlflow flattens it with slashes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from rollprof.adapters.base import MetricPart
from rollprof.adapters.sinks import Rows, Vocabulary
from rollprof.adapters.verl import config as configuration
from rollprof.sources.records import MetricRecord

TELLING = ("timing_s/", "critic/", "actor/", "response_length/", "prompt_length/", "global_seqlen/")
ROOTS = ("actor_rollout_ref", "trainer", "data", "algorithm", "critic", "async_training", "rollout")
MIN_FAMILIES = 2
MAX_REFERENCES = 8

_REFERENCE = re.compile(r"\$\{([\w.]+)\}")


def telling(keys: Collection[str]) -> bool:
    """True for keys of at least two of verl's own families."""
    return len({family for key in keys for family in TELLING if key.startswith(family)}) >= MIN_FAMILIES


def fill(part: MetricPart, rows: Rows, config: Mapping[str, Any]) -> None:
    """Scalars under verl's own names, at the step that the tracker was given."""
    part.metrics = [
        MetricRecord(row.step, own_name(key), value, row.time, row.offset)
        for row in rows
        for key, value in row.values.items()
    ]
    part.config = settings(config)


def own_name(key: str) -> str:
    """`val-core/…/mean_at_8` is `val-core/…/mean@8`."""
    return key.replace("_at_", "@") if key.startswith("val") else key


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration as dotted paths, from nested mappings or paths with slashes."""
    nested = {k: v for k, v in config.items() if k in ROOTS and isinstance(v, dict)}
    flat = {k.replace("/", "."): v for k, v in config.items() if k.partition("/")[0] in ROOTS and "/" in k}
    return _resolved({**flat, **configuration.flatten(nested)})


def _resolved(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Hydra's own file keeps references (`${data.train_batch_size}`): those to other settings are followed,
    anything cleverer is left out."""
    found: dict[str, Any] = {}
    for path, value in flat.items():
        for _ in range(MAX_REFERENCES):
            reference = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
            if reference is None:
                break
            value = flat.get(reference[1])
        if not (isinstance(value, str) and "${" in value):
            found[path] = value
    return found


VOCABULARY = Vocabulary("verl", "verl", telling, fill, settings, ("actor_rollout_ref", "trainer", "data"))
