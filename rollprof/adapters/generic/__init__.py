"""Logs of no framework in particular: records whose keys are named as the schema names its columns."""

from __future__ import annotations

from rollprof.adapters.generic.adapter import ADAPTER

__all__ = ["ADAPTER"]
