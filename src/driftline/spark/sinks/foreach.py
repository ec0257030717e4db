"""Results as DataFrames, for a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from driftline.plan.errors import PlanError
from driftline.plan.fragments import RESULT
from driftline.spark.views import ViewName, view_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from driftline.spark.update import SparkUpdate


class ForeachBatch:
    """Gives a view of every micro-batch to a function, as a DataFrame and with its number, as
    Spark's own foreachBatch does. After a crash the last micro-batch may come again, with the same
    number. `output`: which result it is, where there are several."""

    def __init__(
        self,
        function: Callable[[DataFrame, int], object],
        view: ViewName = "changes",
        output: str = RESULT,
    ) -> None:
        if not callable(function):
            raise PlanError(
                f"ForeachBatch takes a function of a DataFrame and a number, not {function!r}"
            )
        view_of(view)
        self.function, self.view, self.output = function, view, output

    def __call__(self, update: SparkUpdate) -> None:
        from pyspark.sql import SparkSession

        if self.output not in update.batches:
            raise PlanError(
                f"there is no result {self.output}; there are {', '.join(update.batches)}"
            )
        table = view_of(self.view)(update.micro_batch(self.output))
        spark = SparkSession.builder.getOrCreate()
        self.function(spark.createDataFrame(table), update.batch_id)
