"""Runs made from a decode model, and rollprof on them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from run_fixtures import made, rollprof

__all__ = ["made", "rollprof"]
