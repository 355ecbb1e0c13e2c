"""Settings without what looks like a secret: neither output nor dataset ever holds a key or a token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_NAME = re.compile(
    r"(?:^|[._/-])(?:\w*_)?(?:api_?key|secret\w*|passwo?r?d|passphrase|access_key\w*|private_key|credentials?|"
    r"(?:auth|hf|hub|wandb|access|bearer|api|github|gitlab|session)_?(?:token|key)|token|authorization|cookie)$",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"(?:\bhf_[A-Za-z0-9]{20,}|\bsk-[\w-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|"
    r"\bAKIA[0-9A-Z]{16}\b|\bxox[abpr]-[\w-]{10,}|\bglpat-[\w-]{16,}|\bwandb_v\d_\w{20,}|"
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\beyJ[\w-]{10,}\.[\w-]{10,}\.|://[^/\s:@]+:[^/\s@]+@|"
    r"^[0-9a-f]{40}$)"
)
"""Tokens of Hugging Face, OpenAI, GitHub, AWS, Slack, GitLab and W&B (which were 40 hex digits), private
keys, JSON web tokens, URLs with a password."""

MAX_DEPTH = 32


def is_secret(name: str, value: Any = None) -> bool:
    """True where the name or the value of a setting looks like a key or a token."""
    if isinstance(value, str) and _VALUE.search(value) is not None:
        return True
    return value is not None and not isinstance(value, bool | int | float) and bool(_NAME.search(name))


def without_secrets(config: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """The settings that may be kept, nested mappings and lists included."""
    return {
        str(key): _cleaned(value, depth + 1)
        for key, value in config.items()
        if not is_secret(str(key), value) and depth < MAX_DEPTH
    }


def _cleaned(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value, depth)
    if isinstance(value, list) and depth < MAX_DEPTH:
        return [_cleaned(item, depth + 1) for item in value if not is_secret("", item)]
    return value
