"""Literal and random executions, and the verdicts of all definitions about their states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from driftline.model.reference.output_consistency import (
    Change,
    Channel,
    Execution,
    Operator,
    Plan,
    PlanNode,
    Prefix,
    Work,
    cut,
    is_closed,
    is_input_prefix_consistent,
    is_input_prefix_update_complete,
    is_synchronised_input_prefix_consistent,
    is_update_complete,
)
from driftline.model.reference.output_consistency.plan import (
    Bag,
    aggregate,
    bag,
    distinct,
    join,
    minus,
    project,
    select,
    union,
)

Inputs = Mapping[str, Sequence[Change]]


def rows(*values: Any) -> list[Change]:
    """Inserts of rows, at times 1, 2, 3 …"""
    return [Change(value, at=at) for at, value in enumerate(values, start=1)]


def follow(execution: Execution, steps: str, *observers: Callable[[Work], None]) -> None:
    """Take from the channels that are named, one word for each: "A" is an emitter, "join.1" the
    second port of a node; "join.1*3" takes from it three times."""
    for step in steps.split():
        channel, _, times = step.partition("*")
        name, _, port = channel.partition(".")
        for _ in range(int(times or 1)):
            work = execution.take(Channel(name, int(port or 0)))
            if work is not None:
                for observe in observers:
                    observe(work)


class Verdicts(NamedTuple):
    """What each definition says about one output state."""

    update_complete: bool
    input_prefix_update_complete: bool
    closed: bool
    consistent: bool
    synchronised: bool


def verdicts(execution: Execution, output: str, so_far: int) -> Verdicts:
    """Of a state of an execution that has come to its end."""
    state = execution.state(output, so_far)
    answer = bag(execution.put_out[output][:so_far])
    read = {stream: state.read.get(stream, 0) for stream in execution.plan.streams}

    def query(inputs: Inputs) -> Bag:
        return execution.plan.answer(output, inputs)

    return Verdicts(
        is_update_complete(state),
        is_input_prefix_update_complete(state),
        is_closed(state),
        is_input_prefix_consistent(cut(execution.inputs, read), query, answer),
        is_synchronised_input_prefix_consistent(
            execution.inputs, query, answer, lambda change: change.at, read
        ),
    )


def is_exact(execution: Execution, output: str, prefix: Prefix, changes: Iterable[Change]) -> bool:
    """Whether changes add up to the answer for a prefix."""
    return execution.plan.answer(output, cut(execution.inputs, prefix)) == bag(changes)


# Random plans: rows are pairs of small integers everywhere, so that any operator can take any
# other's output. They are made from a seed: what is interesting needs several things at once,
# which small examples of Hypothesis seldom have.
SELECTS = [
    select(lambda row: bool(row[1] >= 2)),
    select(lambda row: bool(row[1] <= 2)),
    select(lambda row: bool(row[1] % 2)),
    select(lambda row: not row[1] % 2),
]
PROJECTS = [project(lambda row: (row[1] % 3, row[0])), project(lambda row: (0, row[1] % 3))]
AGGREGATES = [
    aggregate(lambda row: row[0], lambda group: sum(row[1] for row in group)),
    aggregate(lambda row: row[0] % 2, lambda group: max(row[1] for row in group)),
    aggregate(lambda row: 0, len),
]
JOINS = [
    join(lambda a, b: bool(a[0] == b[0]), lambda a, b: (a[0], (a[1] + b[1]) % 4)),
    join(lambda a, b: bool(a[1] <= b[0]), lambda a, b: (a[1] % 3, b[1] % 4)),
]
LINEAR_OF_ONE = [*SELECTS, *PROJECTS]
LINEAR_OF_TWO = [*JOINS, union(), union()]
"""Operators whose answer is a sum over combinations of rows: no row takes another's away."""
OTHERS_OF_ONE = [*AGGREGATES, *AGGREGATES, distinct()]
OTHERS_OF_TWO = [minus()]

STREAMS = ("X", "Y", "Z")


def random_plan(random: Random, linear: bool = False) -> Plan:
    """A few operators; each takes streams or others before it, rather those not yet taken."""
    streams = STREAMS[: random.randint(1, 3)]
    one = LINEAR_OF_ONE + ([] if linear else OTHERS_OF_ONE)
    two = LINEAR_OF_TWO + ([] if linear else OTHERS_OF_TWO)
    nodes: dict[str, PlanNode] = {}
    if random.random() < 0.4:
        return _filtered_beside_direct(random, streams, random.choice(one), random.choice(two))
    for number in range(1, random.randint(2, 5) + 1):
        taken = {name for node in nodes.values() for name in node.takes}
        fresh = [name for name in [*streams, *nodes] if name not in taken]
        ports = random.choice([1, 2, 2])
        takes = tuple(
            random.choice(fresh if fresh and random.random() < 0.6 else [*streams, *nodes])
            for _ in range(ports)
        )
        nodes[f"n{number}"] = PlanNode(random.choice(one if ports == 1 else two), takes)
    outputs = {f"n{len(nodes)}", random.choice([*nodes])}
    return Plan(streams, nodes, tuple(sorted(outputs)))


def _filtered_beside_direct(
    random: Random, streams: tuple[str, ...], one: Operator, two: Operator
) -> Plan:
    """What a filter drops leaves nothing in the output; what comes directly has to agree with it.

    streams ─┬▶ two ─▶ one ─▶ filter ─▶ ┐
             └────────────────────────▶ ┴▶ last
    """
    nodes = {
        "two": PlanNode(two, (streams[0], streams[-1])),
        "one": PlanNode(one, (random.choice(["two", *streams]),)),
        "filter": PlanNode(random.choice(SELECTS), ("one",)),
        "direct": PlanNode(union(), streams),
        "last": PlanNode(union(), ("filter", "direct")),
    }
    return Plan(streams, nodes, ("last",))


def random_inputs(random: Random, plan: Plan) -> dict[str, list[Change]]:
    """Streams that insert rows and retract some of those that are there."""
    inputs: dict[str, list[Change]] = {}
    for stream in plan.streams:
        changes: list[Change] = []
        for _ in range(random.randint(random.randint(0, 1), 4)):
            at = (changes[-1].at if changes else 0) + random.randint(0, 2)
            present = [*bag(changes)]
            if present and random.random() < 0.3:
                changes.append(Change(random.choice(present), -1, at))
            else:
                changes.append(Change((random.randint(0, 1), random.randint(0, 3)), 1, at))
        inputs[stream] = changes
    return inputs


def random_schedule(random: Random) -> Iterator[int]:
    """One that prefers some channels for a while, so that queues fill and elements overtake."""
    while True:
        favourite = random.randrange(12)
        for _ in range(random.randint(1, 5)):
            yield favourite if random.random() < 0.7 else random.randrange(12)


def random_sizes(random: Random) -> Iterator[int]:
    """How many elements are taken at once."""
    while True:
        yield random.choice([1, 1, 2, 3, 9])


def random_execution(seed: int, linear: bool = False) -> Execution:
    """A random plan over random inputs, run to its end by a random schedule."""
    random = Random(seed)
    plan = random_plan(random, linear)
    execution = Execution(plan, random_inputs(random, plan))
    sizes = random_sizes(random) if random.random() < 0.3 else ()
    execution.run(random_schedule(random), sizes=sizes)
    return execution


seeds = st.integers(0, 2**32 - 1)
