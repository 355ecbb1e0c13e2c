"""A prompt as tokens."""

from __future__ import annotations

from typing import Any


def TokensPrompt(**fields: Any) -> dict[str, Any]:  # noqa: N802
    return fields
