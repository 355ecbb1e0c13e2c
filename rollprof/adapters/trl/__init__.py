"""TRL, releases 0.14 to 1.16: completions, trainer_state.json, console logs, saved arguments."""

from __future__ import annotations

from rollprof.adapters.trl.adapter import ADAPTER

__all__ = ["ADAPTER"]
