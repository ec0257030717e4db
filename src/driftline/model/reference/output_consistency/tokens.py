"""Synchronisation tokens: marks in the channels that cut every stream in the same way.

An emitter puts its n-th token behind some event. A channel whose first item is a token is not read
until every channel of the operator has one; then one token goes on to all that take its output. So
when the n-th token comes out, every operator before the output has worked on exactly the events
before the n-th tokens of all emitters: the state is closed for that prefix. What an operator has
stored when it passes the token on is its part of a consistent snapshot of the whole plan.

An emitter's token is due after every so many events of its stream; streams may differ. Tokens are
put in

    together    by all emitters at once when one of them is due: no token waits for the rows of a
                stream that is slow or silent
    separately  by each emitter when it is due, as in the paper if its periods differ. That is
                right as well, but a channel may stay blocked until the slowest stream has moved

A stream that has ended has all further tokens: its last one has the number ∞ and is taken for
every other. When all have ended, the token ∞ marks the whole input.

The paper says that the numbers of tokens on two paths to an operator differ by no more than the
number of operators on them. They do not: while one path is slow, any number of tokens may pass on
the other and lie in the channel that is blocked. Only bounded channels limit that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from driftline.model.reference.output_consistency.execution import (
    Channel,
    Execution,
    Item,
    Mark,
    Token,
)
from driftline.model.reference.output_consistency.plan import Bag, Change, Plan
from driftline.model.reference.output_consistency.trace import Work


class TokenExecution(Execution):
    """An execution whose emitters put tokens in, each after `every` so many events."""

    def __init__(
        self,
        plan: Plan,
        inputs: Mapping[str, Sequence[Change]],
        every: Mapping[str, int],
        together: bool = True,
        ends: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(plan, inputs)
        self.every = every
        self.together = together
        self.ends = ends  # the streams of which it is known that nothing follows their events
        self.tokens = dict.fromkeys(plan.streams, 0)
        self.cuts: dict[tuple[str, float], int] = {}
        self.marks: list[Mark] = []
        self.snapshots: dict[tuple[str, float], list[Bag]] = {}
        for stream in plan.streams:
            self._end(stream)

    def ready(self) -> list[Channel]:
        """The channels that are not blocked. A token is taken from all channels of an operator at
        once, for which the first of them stands."""
        return [
            channel
            for channel in super().ready()
            if isinstance(self.channels[channel][0], Item)
            or (channel.port == 0 and self._aligned(channel.target))
        ]

    def take(self, channel: Channel, most: int = 1) -> Work | None:
        if isinstance(self.channels[channel][0], Token):
            self._pass_on(channel.target)
            return None
        work = super().take(channel, most)
        stream = channel.target
        if stream in self.plan.streams:
            if self.admitted[stream] % self.every[stream] == 0:
                for each in self.plan.streams if self.together else [stream]:
                    self._put_token(each)
            self._end(stream)
        return work

    def _put_token(self, stream: str) -> None:
        if (stream, inf) not in self.cuts:
            self.tokens[stream] += 1
            self._put(stream, Token(self.tokens[stream]))

    def _end(self, stream: str) -> None:
        if stream in self.ends and self.admitted[stream] == len(self.inputs[stream]):
            self._put(stream, Token(inf))

    def _put(self, stream: str, token: Token) -> None:
        self.cuts[stream, token.number] = self.admitted[stream]
        for channel in self.consumers[stream]:
            self.channels[channel].append(token)

    def _channels_of(self, name: str) -> list[Channel]:
        return [Channel(name, port) for port in range(len(self.plan.nodes[name].takes))]

    def _aligned(self, name: str) -> bool:
        queues = [self.channels[channel] for channel in self._channels_of(name)]
        return all(queue and isinstance(queue[0], Token) for queue in queues)

    def _pass_on(self, name: str) -> None:
        """Take a token from every channel of an operator; that of an ended stream stays."""
        channels = self._channels_of(name)
        token = min(self._first_tokens(channels))
        for channel in channels:
            if self.channels[channel][0] == token:
                self.channels[channel].popleft()
        self.snapshots[name, token.number] = [self._taken(channel) for channel in channels]
        for channel in self.consumers[name]:
            self.channels[channel].append(token)
        if name in self.plan.outputs:
            self.marks.append(Mark(name, self.prefix(name, token), len(self.put_out[name])))

    def _first_tokens(self, channels: list[Channel]) -> list[Token]:
        firsts = [self.channels[channel][0] for channel in channels]
        return [first for first in firsts if isinstance(first, Token)]

    def prefix(self, name: str, token: Token) -> dict[str, int]:
        """What the emitters before an operator had admitted when they put this token in."""
        return {
            stream: self.cuts.get((stream, token.number), self.admitted[stream])
            for stream in self.plan.streams
            if stream in self.plan.ancestors(name)
        }
