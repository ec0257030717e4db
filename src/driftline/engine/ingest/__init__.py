"""From raw events to valid streams: the first operators behind every source.

arrivals        raw events as a source takes them in
source          one source of a query: the four below, their counters and their state
source_time     the ctis that follow from declared bounds, or an estimate
generators      the generator of heartbeats for what is declared
admission       which events come in time, and how far the past is closed
chains          which lifetimes exist to be retracted, and retracts that came too early
finalize        both of them as the operator Finalize; what does not belong is a dead letter
dead_letters    such events as columns, with the reason
align           the operator Align: how long a change waits before the query speculates
held_back       the changes that wait, merged with the corrections that reach them meanwhile
consistency     `block` and `remember`: which Finalize and Align a query gets
holding         whose heartbeats a row waits for

arrivals → source_time → Finalize → Align → the query
"""
