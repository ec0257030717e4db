"""What both runners and the command line know of a run, between the engine and those two.

    problems   an error that a user can put right, in one line
    environment  environment variables in scripts, whose values are never printed
    options    queries with their consistency, and what concerns a whole run
    streams    inputs that are read as they come
    kafka      topics of Kafka
    followed   inputs that the local runner follows: files, directories, topics
    files      files of plain records that the local runner reads while it runs
    local      the local runner of `driftline run`; the Spark one is `driftline.spark.runner`
    pace       inputs replayed at the pace at which they came
    progress   how far a run has come
    notes      notes that a run goes on from, with checksums
    locks      no two runs write one file, directory or table
    learned    what a run has learned of the time of streams
    letters    dead letters as the events they were

This layer knows the engine and not the runners' users: `cli` and `spark` import it, and `spark`
never imports `cli`.
"""
