"""verl, releases 0.1 to 0.9.1: rollout dumps, file logger, console logs, printed configuration."""

from __future__ import annotations

from rollprof.adapters.verl.adapter import ADAPTER

__all__ = ["ADAPTER"]
