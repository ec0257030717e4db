"""The commands of `driftline` and their options. Each imports what it needs when it runs.

app        the command itself, and what several commands take
run        `driftline run`
logs       `driftline check` and `driftline history`
queries    `driftline explain` and `driftline audit`
upkeep     `driftline state` and `driftline prepare`
"""
