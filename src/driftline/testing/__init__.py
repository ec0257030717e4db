"""Random valid streams, for testing operators and pipelines with Hypothesis.

`pip install driftline[testing]`; `python -m driftline.testing` prints how often the hard cases
come up.
"""

from driftline.testing.features import features
from driftline.testing.histories import histories, rows
from driftline.testing.streams import interleaved, streams, streams_of

__all__ = ["features", "histories", "interleaved", "rows", "streams", "streams_of"]
