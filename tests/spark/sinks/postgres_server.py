"""A real PostgreSQL server for tests: in a folder of its own, reached through a Unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PATIENCE = 60.0
USERS = ("postgres", "nobody")
"""Who runs the server when the tests run as root, which it refuses to be run by."""


def binaries() -> Path | None:
    """Where the server is: on the PATH, or where Debian puts it."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return places[-1].parent if places else None


def _user() -> str | None:
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(user for user in USERS if user in known)


@contextmanager
def server() -> Iterator[str]:
    """A server, as psycopg connects to it."""
    programs = binaries()
    if programs is None:
        pytest.skip("there is no PostgreSQL server: apt install postgresql")
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="driftline-pg-"))
    if user is not None:
        shutil.chown(folder, user)
    try:
        data = folder / "data"
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "driftline", "--auth=trust", "--no-sync"],
            user=user, cwd=folder, check=True, capture_output=True,
        )  # fmt: skip
        settings = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off"]
        flags = [part for setting in settings for part in ("-c", setting)]
        process = subprocess.Popen(
            [programs / "postgres", "-D", data, *flags],
            user=user, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            conninfo = f"host={folder} user=driftline dbname=postgres"
            _wait(conninfo)
            yield conninfo
        finally:
            process.send_signal(signal.SIGINT)  # end now, without waiting for clients
            process.wait(PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(conninfo: str) -> None:
    import psycopg

    until = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(conninfo).close()
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return
