"""Findings: plain sentences with their numbers, the cause and the next step. Silent when a run is healthy."""
