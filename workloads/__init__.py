"""The papers' workloads, for the benchmarks (`bench`) and for the papers' experiments
(`experiments`).

    round_robin   a graph that runs round-robin in simulated time
    sales         Nile: counts and maxima over windows of sales, by every policy of expiry
    sale_costs    what the work of its operators takes, measured
    joins         WhiteWater: one to four joins over two streams; variants hand in hand
    coin_tosses   Flying Fixed-Point: the W query over tosses, by its operator and as a loop
    progress      Flying Fixed-Point: progress of that loop in simulated time
    sensors       STREAM: arrivals from sensors
    three_streams STREAM: figure 5's plan
    late_events   CEDR: sums over a window of events of which some come late
"""
