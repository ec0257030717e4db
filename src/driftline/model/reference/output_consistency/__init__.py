"""Outputs that belong to a prefix of the inputs: definitions, and mechanisms that keep to them.

    trace        what is recorded of an execution, by whatever engine
    definitions  update-complete, input-prefix update-complete, closed, input-prefix consistent,
                 synchronised: functions of inputs, trace and output so far
    plan         small plans: operators as functions of bags
    execution    their execution, one element at a time, in any order
    heeding      labels on elements tell which output states are consistent
    tokens       marks in the channels make output states consistent
    drain        one event after the other

The definitions decide. They know nothing of plans and executions but the trace, and so also hold
an engine to its word that records one.
"""

from driftline.model.reference.output_consistency.definitions import (
    OutputState,
    closed_prefixes,
    consistent_prefixes,
    cut,
    is_closed,
    is_cut_at_one_time,
    is_input_prefix_consistent,
    is_input_prefix_update_complete,
    is_synchronised_input_prefix_consistent,
    is_update_complete,
    prefixes,
    synchronised_prefixes,
    update_complete_prefixes,
)
from driftline.model.reference.output_consistency.drain import drain
from driftline.model.reference.output_consistency.execution import Channel, Execution, Mark
from driftline.model.reference.output_consistency.heeding import Heeding
from driftline.model.reference.output_consistency.plan import Change, Operator, Plan, PlanNode
from driftline.model.reference.output_consistency.tokens import TokenExecution
from driftline.model.reference.output_consistency.trace import Inbound, Prefix, Trace, Work

__all__ = [
    "Change",
    "Channel",
    "Execution",
    "Heeding",
    "Inbound",
    "Mark",
    "Operator",
    "OutputState",
    "Plan",
    "PlanNode",
    "Prefix",
    "TokenExecution",
    "Trace",
    "Work",
    "closed_prefixes",
    "consistent_prefixes",
    "cut",
    "drain",
    "is_closed",
    "is_cut_at_one_time",
    "is_input_prefix_consistent",
    "is_input_prefix_update_complete",
    "is_synchronised_input_prefix_consistent",
    "is_update_complete",
    "prefixes",
    "synchronised_prefixes",
    "update_complete_prefixes",
]
