"""Runs side by side: what changed, whether it is noise, and what a change in generation time is made of."""
