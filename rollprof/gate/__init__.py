"""The gate: rules about figures, and whether a run keeps them."""
