"""A sample of a log without its text: what is not known to be harmless is replaced, sign by sign."""
