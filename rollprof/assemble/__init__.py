"""parts -> one run: which parts belong together, what wins per column, what the facts are."""
