"""Spark's Python daemon with the engine loaded, so that the workers it forks start at once.

Set `spark.python.daemon.module` to this module. Without it all works the same; each worker then
loads the engine by itself, which takes seconds, and goes through all of its objects after every
task: Spark has workers collect garbage then, and the next task waits for that. What is loaded
before they start is frozen: it is no garbage, and is not looked at.
"""

from __future__ import annotations

import gc

from pyspark.daemon import manager

from driftline.spark.warm import warm_up

if __name__ == "__main__":
    warm_up()
    gc.collect()
    gc.freeze()
    manager()
