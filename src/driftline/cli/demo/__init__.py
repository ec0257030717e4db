"""`driftline demo`: the tour.

tour          its pages
feed          the market feed: trades that come late, and trades that are corrected
corners       the question to Driftline, at the three corners of the consistency triangle
sparks_own    the same question to Spark itself
measured      what is measured of each run
"""

from driftline.cli.demo.tour import demo

__all__ = ["demo"]
