"""Runs side by side, as text."""
