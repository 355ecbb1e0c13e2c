"""What `rollprof doctor` finds out: what a log is, what it gives, what would bring the rest, and a sample of
it that can be shown to strangers."""
