"""Two names on disk exchanged in one move, where the system can: whoever looks sees one or the other."""

from __future__ import annotations

import os
from pathlib import Path

_HERE = -100
"""AT_FDCWD: names are relative to the working directory."""
_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux 3.15: https://man7.org/linux/man-pages/man2/rename.2.html"""


def exchange(a: Path, b: Path) -> bool:
    """Whether `a` and `b` have changed places. False, and nothing done, where the system cannot."""
    try:
        import ctypes

        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, OSError, AttributeError, TypeError):
        return False
    return bool(rename(_HERE, os.fsencode(a), _HERE, os.fsencode(b), _EXCHANGE) == 0)
