"""Monitors: what samples of GPUs and of engines say beside the run's own logs."""
