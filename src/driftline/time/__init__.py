"""When is a moment over? Heartbeats from bounds on skew, disorder and latency, or by estimation.

bounds, presets       the matrix B of skew bounds, and common environments
closure               B*: what follows from it; is a timeout needed?
heartbeats            the generator for any bounds
uniform               the same for very many sources that are alike: what CREATE STREAM declares
groups                sources in groups
estimate              guesses for a stream without bounds, by its `lateness`
estimated_bounds      B′, all of it, for few sources
labels                heartbeats inside a plan
describe, chart       what people see of it

Nothing here reads a clock: arrivals come with theirs. All generators have `arrive`, `at`,
`heartbeat`, `violations`, `describe`, `snapshot` and `restore`, and are functions of the arrivals.
"""
