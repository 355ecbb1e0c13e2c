"""Idle GPUs: from evidence of one generation phase to figures of phases, of steps and of the run."""
