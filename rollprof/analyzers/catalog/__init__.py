"""The words and formulas of every figure, by topic. Text only: nothing here computes."""
