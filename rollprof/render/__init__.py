"""figures -> text. No arithmetic beyond formatting."""
