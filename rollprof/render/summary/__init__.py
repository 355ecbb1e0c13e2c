"""The parts of the terminal summary, one to a file."""
