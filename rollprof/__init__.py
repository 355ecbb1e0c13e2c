"""rollprof: the long tail of an RL post-training run, from the logs it left behind."""

__version__ = "0.1.0"
