"""records -> parts in the schema's words. One adapter per framework; none knows a byte format."""
