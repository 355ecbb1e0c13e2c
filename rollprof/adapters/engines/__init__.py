"""Inference engines: what their own logs say of requests running and waiting."""
