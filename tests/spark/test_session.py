"""Sessions of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from driftline.spark.session import (
    BOUNDED,
    JAVA_OPTIONS,
    JVM_VARIABLES,
    THROUGHPUT,
    _throughput,
    configured,
    unless_set,
)


@pytest.mark.spark
def test_what_the_session_says_is_left_alone(spark: Any) -> None:
    assert unless_set(spark, BOUNDED) == BOUNDED
    chosen, *others = BOUNDED
    with configured(spark, {chosen: "100"}):
        assert list(unless_set(spark, BOUNDED)) == others


def test_a_jvm_has_the_collector_that_somebody_has_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in (*JVM_VARIABLES, "SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    other = "-Xss4m -XX:+UseZGC"
    assert _throughput({"spark.driver.extraJavaOptions": "-Dfile=UseGC"}) == THROUGHPUT
    assert _throughput({"spark.driver.extraJavaOptions": other}) == {}
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert _throughput({}) == THROUGHPUT
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/spark-defaults.conf").write_text(f"spark.driver.extraJavaOptions {other}")
    assert _throughput({}) == {}
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.setenv("JDK_JAVA_OPTIONS", other)
    assert _throughput({}) == {}


@pytest.mark.spark
def test_a_session_of_our_own_has_options_for_its_jvm(spark: Any) -> None:
    factory = spark.sparkContext._jvm.java.lang.management.ManagementFactory
    given = list(factory.getRuntimeMXBean().getInputArguments())
    assert (set(THROUGHPUT[JAVA_OPTIONS].split()) <= set(given)) == bool(_throughput({}))
