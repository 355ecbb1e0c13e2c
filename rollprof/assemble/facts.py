"""The user's own facts (`--config KEY=VALUE`), and how facts are written into the metadata."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from rollprof.adapters.base import CONFIG_OVERRIDES, Fact
from rollprof.errors import UsageProblem


def parse_overrides(settings: Mapping[str, str]) -> dict[str, float]:
    """`--config` settings as positive numbers. Raises UsageProblem for an unknown key or a bad value."""
    parsed: dict[str, float] = {}
    for key, text in settings.items():
        if key not in CONFIG_OVERRIDES:
            near = get_close_matches(key, CONFIG_OVERRIDES, 1)
            hint = f"did you mean {near[0]}?" if near else f"keys: {', '.join(CONFIG_OVERRIDES)}"
            raise UsageProblem(f"--config {key}: no such key", hint=hint)
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value < 1e12 or (key != "gpus" and value != int(value)):
            raise UsageProblem(f"--config {key}={text}: a positive whole number is wanted")
        parsed[key] = int(value) if value == int(value) else value
    return parsed


def with_overrides(facts: Mapping[str, Fact], overrides: Mapping[str, float]) -> dict[str, Fact]:
    """Facts, the user's word first."""
    said = {key: Fact(value, "user", f"--config {key}={value:g}") for key, value in overrides.items()}
    return {**facts, **said}


def as_meta(facts: Mapping[str, Fact]) -> dict[str, dict[str, Any]]:
    """Facts as the metadata keeps them."""
    return {
        name: {"value": fact.value, "origin": fact.origin, "how": fact.how}
        for name, fact in sorted(facts.items())
        if fact.value is not None
    }
