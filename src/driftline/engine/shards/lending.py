"""Shards that stay in the process that has them, and work for others.

Which worker process gets the messages of a shard is up to Spark, and may change from one
micro-batch to the next. To read the state again, and what was logged since, costs as much as many
micro-batches. So a process lends the shards it has: another one that gets their messages hands
these over, and is given what the shard sends.

    borrower   connects to the name of the lineage, and says which versions it can go on from
    lender     says which it has, and then steps, counts and takes a snapshot when it is asked to
    borrower   says the token of the new version, which it has written down

A lender that is at work gives the shard away instead, so that shards do not gather in one process:
then, as when it has ended, the borrower reads the state from its store. Names are abstract sockets
of Linux, which end with their process; elsewhere nothing is lent. Only processes of the same user
are answered.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from driftline.engine.core.operator import OperatorKey
from driftline.engine.shards.messages import Message
from driftline.engine.shards.stored import (
    Kept,
    Stepping,
    counters_in,
    counters_to_json,
    messages_from_bytes,
    messages_to_bytes,
    state_to_bytes,
)

STEP, COUNTERS, STATE, KEEP = b"S", b"C", b"N", b"K"
"""What a borrower asks for."""

PATIENCE = 10.0
"""Seconds that a lender may take to say what it has."""

UNUSED = 600.0
"""Seconds after which an unused shard is dropped: its query may have ended."""

_LENGTH = struct.Struct("<q")
_PEER = struct.Struct("3i")


class Gone(Exception):
    """The lender has ended, or could not do what it was asked to."""


class Borrowed:
    """A shard of another process: its token and number of shards, and what it can be asked for."""

    def __init__(self, connection: socket.socket, token: str, shards: int) -> None:
        self.connection, self.token, self.shards = connection, token, shards

    def step(self, messages: Sequence[Message]) -> list[Message]:
        return messages_from_bytes(self._asked(STEP, messages_to_bytes(messages)))

    def counters(self) -> dict[OperatorKey, dict[str, int]]:
        return counters_in(json.loads(self._asked(COUNTERS)))

    def state(self) -> bytes:
        """The whole state, packed."""
        return bytes(self._asked(STATE))

    def give_back(self, token: str) -> None:
        """Say which version the shard has come to, if the lender is still there."""
        with suppress(Gone):
            self._asked(KEEP, token.encode())
        self.connection.close()

    def _asked(self, *request: bytes) -> bytearray:
        try:
            _send(self.connection, *request)
            return _received(self.connection)
        except OSError as error:
            self.connection.close()
            raise Gone from error


class Lending:
    """What a process lends. `kept`: its shards, by lineage; `at_work`: how many it works on."""

    def __init__(self, kept: dict[str, Kept]) -> None:
        self.kept = kept
        self.at_work = 0
        self.lock = threading.Lock()
        self.offered: dict[str, socket.socket] = {}

    @contextmanager
    def working(self) -> Iterator[None]:
        """While this process works on a shard it lends none."""
        with self.lock:
            self.at_work += 1
        try:
            yield
        finally:
            with self.lock:
                self.at_work -= 1

    def borrowed(self, lineage: str, tokens: Sequence[str]) -> Borrowed | None:
        """The shard of another process, if one has it in one of these versions."""
        if sys.platform != "linux":
            return None
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        try:
            connection.connect(_name(lineage))
            if _is_ours(connection):
                _send(connection, json.dumps(list(tokens)).encode())
                answer: Mapping[str, Any] = json.loads(_received(connection))
                if answer:
                    connection.settimeout(None)
                    return Borrowed(connection, answer["token"], answer["shards"])
        except OSError:
            pass
        connection.close()
        return None

    def offer(self, lineage: str) -> None:
        """Lend a shard from now on; if another process offers it still, that has to do."""
        if sys.platform != "linux" or lineage in self.offered:
            return
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(_name(lineage))
        except OSError:
            listener.close()
            return
        listener.listen()
        self.offered[lineage] = listener
        threading.Thread(target=self._lend, args=(lineage, listener), daemon=True).start()

    def withdraw(self, lineage: str) -> None:
        """Lend a shard no longer: another process may offer it."""
        listener = self.offered.pop(lineage, None)
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def drop_unused(self) -> None:
        """Drop shards that were not used for long; the worker that gets their messages next reads
        their state from the store."""
        with self.lock:
            since = time.monotonic() - UNUSED
            gone = [lineage for lineage, kept in [*self.kept.items()] if kept.at < since]
            for lineage in gone:
                self.kept.pop(lineage, None)
        for lineage in gone:
            self.withdraw(lineage)

    def _lend(self, lineage: str, listener: socket.socket) -> None:
        while lineage in self.offered:
            try:
                connection, _ = listener.accept()
            except OSError:  # it is withdrawn
                return
            # Whatever goes wrong here goes wrong again where it is reported, with the borrower.
            with connection, suppress(Exception):
                if _is_ours(connection):
                    self._serve(lineage, connection)

    def _serve(self, lineage: str, connection: socket.socket) -> None:
        tokens = json.loads(_received(connection))
        with self.lock:
            is_free = self.at_work == 0
            kept = self.kept.pop(lineage, None)
            self.at_work += is_free
        try:
            if kept is None or not is_free or kept.token not in tokens:
                if kept is not None:  # it is given away, or is of no use
                    self.withdraw(lineage)
                _send(connection, b"{}")
                return
            about = {"token": kept.token, "shards": kept.shard.stage.shards}
            _send(connection, json.dumps(about).encode())
            self._work(lineage, kept, connection)
        finally:
            with self.lock:
                self.at_work -= is_free

    def _work(self, lineage: str, kept: Kept, connection: socket.socket) -> None:
        shard = kept.shard
        while True:
            request = _received(connection)
            kind, data = request[:1], memoryview(request)[1:]
            if kind == STEP:
                sent = shard.step(messages_from_bytes(data))
                _send(connection, messages_to_bytes(sent))
            elif kind == COUNTERS:
                _send(connection, _counted(shard))
            elif kind == STATE:
                _send(connection, state_to_bytes(shard.snapshot()))
            else:
                self.kept[lineage] = Kept(bytes(data).decode(), shard)
                _send(connection, b"")
                return


def _counted(shard: Stepping) -> bytes:
    return json.dumps({"counters": counters_to_json(shard.counters())}).encode()


def _name(lineage: str) -> str:
    return f"\0driftline-{lineage}"


def _is_ours(connection: socket.socket) -> bool:
    """Whether the process at the other end is of the same user."""
    if sys.platform != "linux":
        return False
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    _, user, _ = _PEER.unpack(peer)
    return bool(user == os.getuid())


def _send(connection: socket.socket, *parts: bytes) -> None:
    connection.sendall(_LENGTH.pack(sum(map(len, parts))))
    for part in parts:
        connection.sendall(part)


def _received(connection: socket.socket) -> bytearray:
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    return _exactly(connection, length)


def _exactly(connection: socket.socket, length: int) -> bytearray:
    data = bytearray(length)
    rest = memoryview(data)
    while rest:
        count = connection.recv_into(rest)
        if not count:
            raise ConnectionError("the other end has closed")
        rest = rest[count:]
    return data
