"""The standard dataset: its tables, how it is stored and checked, and the ledger of what was lost."""
