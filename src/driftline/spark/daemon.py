"""Spark's Python daemon with the engine loaded, so that the workers it forks start at once.

Set `spark.python.daemon.module` to this module. Without it all works the same; each worker then
loads the engine by itself, which takes seconds.
"""

from __future__ import annotations

from pyspark.daemon import manager

from driftline.spark.warm import warm_up

if __name__ == "__main__":
    warm_up()
    manager()
