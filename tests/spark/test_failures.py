"""What went wrong on Spark, in a sentence."""

from __future__ import annotations

import pytest

from driftline.spark.failures import TOO_SLOW, cause, could_not_start

WHERE = "\tat org.apache.spark.Reader(Reader.scala:1)\n"
FOUND = "org.apache.spark.SparkException: [FAILED_READ_FILE"
READING = "Encountered error while reading file file:///in/a%20b.x."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{FOUND}.NO_HINT] {READING}  SQLSTATE: KD001\n{WHERE}"
            "Caused by: java.io.IOException: not a gzip file\n",
            "file:///in/a%20b.x: not a gzip file",
        ),
        (
            f"{FOUND}.PARQUET_COLUMN_DATA_TYPE_MISMATCH] {READING} Data type mismatches when "
            f"reading Parquet column `qty`. Expected Spark type int. SQLSTATE: KD001\n{WHERE}"
            "Caused by: a.b.Mismatch: column: [qty], physicalType: BINARY, logicalType: int\n",
            "file:///in/a%20b.x: Data type mismatches when reading Parquet column `qty`.",
        ),
        (
            f"{FOUND}.FILE_NOT_EXIST] {READING} File does not exist. SQLSTATE: KD001\n{WHERE}"
            "Caused by: java.io.FileNotFoundException: File file:///in/a%20b.x does not exist\n",
            "File file:///in/a%20b.x does not exist",
        ),
    ],
)
def test_the_file_is_named(text: str, said: str) -> None:
    assert cause(text).startswith(said)
    assert "\n" not in cause(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "An error occurred while calling None.a.JavaSparkContext.\n"
            f": org.apache.spark.SparkException: Could not parse Master URL: 'x'\n{WHERE}",
            "Could not parse Master URL: 'x'",
        ),
        (
            "a.B: Cannot call methods on a stopped SparkContext.\nThis stopped SparkContext was",
            "no cluster answered there",
        ),
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited", "is Java 17 or newer installed"),
    ],
)
def test_why_there_is_no_spark(text: str, said: str) -> None:
    told = could_not_start(text, "x")
    assert told.startswith("Spark could not be started with --master x: ")
    assert said in told
    assert "org.apache" not in told


def test_a_machine_that_is_too_busy_is_called_that() -> None:
    text = f"[STREAM_FAILED] Query [id = 1] terminated with exception: {TOO_SLOW}. SQLSTATE: XXKST"
    assert "the machine is too busy" in cause(text)
