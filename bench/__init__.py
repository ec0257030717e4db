"""Benchmarks: `make bench`. Only ratios within one run mean anything."""
