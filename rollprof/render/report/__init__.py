"""What a report says, in order, whatever form it takes: HTML and Markdown are made from the same sections."""
