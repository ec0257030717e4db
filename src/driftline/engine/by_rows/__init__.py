"""Snapshot operators that need the rows of every snapshot, not only sums of them.

    kept_rows                 `KeptRows`: the rows of each partition, and what was emitted
    rows_operator             `RowsOperator`: answers computed for the whole partition
    pieces                    `PiecesOperator`: answers computed snapshot by snapshot
    snapshot_kernel           which rows are alive in each snapshot ("piece") of a partition
    general_aggregates        GROUP BY with any aggregate (median, collect_list, user-defined …)
    aggregates                what each aggregate makes of totals, counts and ranks
    piece_values              these, of the values in pieces
    piece_kernels             from all rows of a piece
    change_kernels            from the rows that come and go between one piece and the next
    exact_numbers             numbers as they are added up, and results that are rounded once
    moment_kernels            skewness and kurtosis;  counting_kernels: bits, and modes
    ordered                   `OrderedRows`: a row of the answer for every row, by its place
    order_words               the order of rows, as words;  near_kernel: what is near a change
    place_kernels             places among rows in their order
    block_totals              what comes before it, as totals of blocks;  block_kernels: its kernels
    prefix_values             and as the values of all rows up to there
    operands                  what a value adds to totals
    rank, rank_kernels        ROW_NUMBER, RANK, top-k;  over, over_kernels: window functions

A late row becomes one of the members of its partition (`state.held_rows`), the pieces from its
start on are computed again, and what no longer holds is retracted (`state.emitted_rows`).
"""
