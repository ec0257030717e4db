"""When is a moment over? Heartbeats from bounds on skew, disorder and latency, or by estimation.

bounds, presets       the matrix B of skew bounds, and common environments
closure               B*: what follows from it; is a timeout needed?
heartbeats            the generator for any bounds;  generator_kernel: its kernels
uniform               the same for very many sources that are alike: what CREATE STREAM declares
groups                sources in groups
rate                  clocks that advance at a least rate, also while nothing comes
arrivals              what generators take in
estimate              heartbeats for a stream without bounds, by its `lateness`
live, live_sources    what `uniform` and `estimate` share: many sources that come and go
estimated_bounds      B′, all of it, for few sources;  adaptive: one adaptive estimate
labels                heartbeats inside a plan
describe, chart       tables and charts of all this, for people

Nothing here reads a clock: arrivals come with theirs. All generators have `arrive`, `at`,
`heartbeat`, `violations`, `describe`, `snapshot` and `restore`, and are functions of the arrivals.
"""
