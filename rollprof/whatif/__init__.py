"""Which remedy would pay on this run: its own rollouts replayed under the remedies that the field knows."""
