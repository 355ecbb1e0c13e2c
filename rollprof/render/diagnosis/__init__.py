"""The diagnosis of a log as text and as JSON."""
