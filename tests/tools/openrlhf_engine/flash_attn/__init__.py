"""Stands in for flash_attn: OpenRLHF imports its names and, without packed samples, calls none of them."""
