"""The command line.

main             the `driftline` command;  commands: what each is called with
run              `driftline run`;  runners: what a runner is given and gives back
given            which input is which stream;  inputs: files as streams;  streams: inputs that are
                 read as they come
outputs          event logs, tables of lifetimes;  output_files: CSV, Parquet;  letters: dead
                 letters
resumed          what a run has written so far, so that the next goes on there
sinks            the sinks that a script declares, and databases as the output
now, live        the answer now: its changes, and a table that is redrawn in place
explain          `driftline explain`;  explain_time: `run --explain-time`
learned          what a run has learned of streams without bounds
check, history   `driftline check` and `driftline history`
audit            `driftline audit`;  behind: answers of shards that are behind
state, prepare   `driftline state` and `driftline prepare`
demo             `driftline demo`
scripts, errors, progress, tables, start   what the commands share
"""
