"""The cost of decoding, the exact replay and their calibration: what analyzers and what-if stand on."""
