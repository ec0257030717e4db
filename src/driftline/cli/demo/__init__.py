"""`driftline demo`: the tour."""

from driftline.cli.demo.tour import demo

__all__ = ["demo"]
