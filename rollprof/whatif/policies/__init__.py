"""The remedies, one file each."""
