"""The engine, free running, is held to the definitions by its own trace."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.core.graph import Graph
from driftline.engine.core.marks import Mark
from driftline.engine.core.plain import batch_of
from driftline.model.event import CLOSE, Event
from driftline.model.reference.output_consistency import (
    OutputState,
    is_closed,
    is_input_prefix_update_complete,
    is_update_complete,
)
from driftline.testing.driving import as_batched
from driftline.testing.tracing import Recorder
from tests.engine.core.free_runs import Run, cut
from tests.engine.held_to_reference import KX
from tests.engine.test_plans import ARRIVALS, PLANS, Both


class Recorded(Run):
    """A run with a trace; at every token, its prefix and how much had come out."""

    def made(self) -> Graph:
        graph = super().made()
        self.recorder = Recorder(graph)
        self.tokens: list[tuple[dict[str, int], int]] = []
        return graph

    def _token(self, mark: Mark) -> None:
        super()._token(mark)
        prefix = dict(zip("st", self.prefixes[mark.number - 1], strict=True))
        self.tokens.append((prefix, self.recorder.so_far))

    def admit(self, port: int, events: list[Event]) -> None:
        if "st"[port] in self.graph.sources and events:
            came = as_batched(events)
            self.came[port] += came
            self.recorder.admit("st"[port], batch_of(events, KX), len(came))


@settings(max_examples=12)
@given(PLANS, ARRIVALS, st.randoms(use_true_random=False))
def test_every_token_of_the_engine_is_a_closed_state(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random
) -> None:
    run = Recorded(plan)
    for stretch in cut([*arrivals, (0, CLOSE), (1, CLOSE)], random):
        for port, events in enumerate(stretch):
            run.admit(port, events)
        if random.random() < 0.5:
            run.insert_tokens()
        run.work_at_random(random)
    run.finish()
    for prefix, so_far in run.tokens:
        state = OutputState(run.recorder.trace, run.recorder.output, so_far)
        assert is_closed(state, prefix)
        assert is_input_prefix_update_complete(state, prefix)
        assert is_update_complete(state)
