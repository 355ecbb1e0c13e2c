"""OpenRLHF, releases 0.5 to 0.11.2: console logs (step lines, progress bars, arguments), batch inference."""

from __future__ import annotations

from rollprof.adapters.openrlhf.adapter import ADAPTER

__all__ = ["ADAPTER"]
