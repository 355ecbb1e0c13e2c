"""Thin statistics: scipy where it has the method, own code only where it has not."""
