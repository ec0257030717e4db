"""Random valid streams, for testing operators and pipelines with Hypothesis.

    streams      random valid streams;  histories: random canonical histories
    features     which hard cases a stream holds
    driving      feeds physical operators with plain events, batch by batch
    tracing      records what a graph does, for the definitions of output consistency
    sources      simulated sources and a network that keep to given bounds
    delays       delays of a dozen sorts, and how estimated heartbeats fare with them

`pip install driftline[testing]`; `python -m driftline.testing` prints how often the hard cases
come up.
"""

from driftline.testing.features import features
from driftline.testing.histories import histories, rows
from driftline.testing.streams import interleaved, streams, streams_of

__all__ = ["features", "histories", "interleaved", "rows", "streams", "streams_of"]
