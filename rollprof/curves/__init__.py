"""Samples over time as curves: what joining them to steps and computing figures from them both stand on."""
