"""bytes -> records. Knows files and formats, and no framework."""
