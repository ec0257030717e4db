"""Driftline: continuous queries over streams that arrive late, out of order, and are corrected."""

__version__ = "0.1.0"
