"""The same conversion function over (file, byte range), in worker processes."""
