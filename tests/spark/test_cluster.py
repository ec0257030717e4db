"""A cluster is only configuration: one master and two workers from PySpark's own scripts."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from tests.cli.run import COMMAND
from tests.spark.test_crash import EVENTS, arguments, come_to_the_end, write_events

pytestmark = pytest.mark.spark

PATIENCE = 60  # seconds


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The URL of a cluster's master."""
    start = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment["JAVA_TOOL_OPTIONS"] = os.environ["SPARK_SUBMIT_OPTS"]  # executors', too
    where = ["--host", "127.0.0.1", "--webui-port", "0"]
    of_worker = ["--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / "work")]
    commands = [
        [start, "org.apache.spark.deploy.master.Master", *where, "--port", str(port)],
        *[[start, "org.apache.spark.deploy.worker.Worker", *where, *of_worker, url]] * 2,
    ]
    processes = []
    try:
        for each in commands:
            with (tmp_path / "cluster.log").open("ab") as log:
                processes.append(subprocess.Popen(each, env=environment, stdout=log, stderr=log))
            if len(processes) == 1:
                _wait_for(port)
        yield url
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(PATIENCE)


def _wait_for(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the master does not start")


def test_a_query_on_a_cluster(master: str, tmp_path: Path) -> None:
    """Two executors of one core each; the answer is the local runner's."""
    (tmp_path / "query.sql").write_text(EVENTS)
    write_events(tmp_path / "events.input.jsonl", seed=3)
    come_to_the_end(tmp_path, "local", "expected.jsonl")
    on_cluster = [*arguments(tmp_path, "spark", "out.jsonl", batch=200), "--master", master]
    done = subprocess.run(
        [*COMMAND, *on_cluster], timeout=400, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.jsonl").read_text() == (tmp_path / "expected.jsonl").read_text()
    applications = list((tmp_path / "work").iterdir())
    executors = [each for application in applications for each in application.iterdir()]
    assert len(executors) == 2
    assert any((each / "driftline_package").exists() for each in executors)
