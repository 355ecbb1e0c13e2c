"""Colours by role, light and dark. One accent, and it always means the same: GPU time that was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Scheme = Literal["light", "dark"]

PALETTES: Mapping[Scheme, Mapping[str, str]] = {
    "light": {
        "page": "#fbfaf8",
        "card": "#ffffff",
        "ink": "#1c2127",
        "muted": "#5a636e",
        "line": "#e3e0da",
        "accent": "#c2410c",
        "accent-mid": "#e07b4c",
        "accent-soft": "#f8ded0",
        "work": "#3d5a73",
        "work-soft": "#cfd9e2",
        "n1": "#3d5a73",
        "n2": "#5f7d96",
        "n3": "#86a0b5",
        "n4": "#afc0cf",
        "n5": "#b9b3a6",
        "n6": "#d6d1c7",
        "n7": "#8d8778",
        "n8": "#d3dde6",
    },
    "dark": {
        "page": "#14171b",
        "card": "#1b1f24",
        "ink": "#e8e6e1",
        "muted": "#a0a8b1",
        "line": "#31363d",
        "accent": "#f58a4b",
        "accent-mid": "#c9703c",
        "accent-soft": "#4a2c1b",
        "work": "#9db8cf",
        "work-soft": "#33424f",
        "n1": "#9db8cf",
        "n2": "#7a96ad",
        "n3": "#5c778d",
        "n4": "#455b6d",
        "n5": "#6d6a62",
        "n6": "#4a4842",
        "n7": "#979184",
        "n8": "#2f3f4c",
    },
}


def painted(value: Any, scheme: Scheme) -> Any:
    """`value` with every `@role` in it replaced by the colour of that scheme. Other text is untouched."""
    colours = PALETTES[scheme]
    if isinstance(value, str):
        return colours.get(value[1:], value) if value.startswith("@") else value
    if isinstance(value, Mapping):
        return {key: painted(item, scheme) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [painted(item, scheme) for item in value]
    return value
