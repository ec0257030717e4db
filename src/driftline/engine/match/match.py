"""MATCH_RECOGNIZE.

    match, at every time: the rows of each partition of the snapshot are put in order; ties are
    broken by the whole row. From the first row on: the match that begins here is the first of all,
    in the pattern's order of preference; the search goes on where `skip` says.

State: see `by_rows.rows_operator`; whole rows are kept, and what was emitted of matches. Where rows
go by time and are only added, it is kept of each row where the attempts began that were open when
it was the last. A cti then evicts all rows before the first attempt that was open at the last row
before it (but those that conditions look back at; with WITHIN all of them, when that row's time is
over), and every match that was settled before it: it holds for ever.
Otherwise a cti evicts the rows and matches that end by then.

A batch costs, in order of time, the rows from the first open attempt before its first change on, up
to where open attempts begin as before; where attempts are simulated (`thread_kernel`,
`growth_kernel`) and rows come at the end, only these; otherwise the rows of the partitions that it
touches, and the attempts that look at what changes from one snapshot to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows.order_words import OrderBy
from driftline.engine.by_rows.rows_operator import Answers, RowsOperator
from driftline.engine.by_rows.snapshot_kernel import alive_entries
from driftline.engine.core.batch import Batch
from driftline.engine.core.snapshot_operator import NO_FLAGS, PERFECT
from driftline.engine.expressions import EvaluationError
from driftline.engine.limits import limits
from driftline.engine.match import eviction, sequence, sweep_state
from driftline.engine.match.conditions import ConditionMemory, Defines, check, machine
from driftline.engine.match.emitted import AnswersInOrder, EmittedMatches
from driftline.engine.match.growth_kernel import (
    CURSOR,
    HAS_FROM,
    HAS_SIZE,
    HAS_TIME,
    HAS_TO,
    PATH_COLUMNS,
    keep_paths,
)
from driftline.engine.match.measures import Measures, OutputRows, Versions
from driftline.engine.match.program import program_of
from driftline.engine.match.rules import rules_of
from driftline.engine.match.sequence import LOOK_AHEAD, Entries, arranged
from driftline.engine.match.sweep_kernel import sweep
from driftline.engine.match.sweep_state import MORE_AHEAD, MORE_BACK, THREAD, THREADED, SweepOutcome
from driftline.engine.match.sweep_state import Sequence as Sequences
from driftline.engine.match.version_kernel import CARRIED_ROW
from driftline.engine.state.emitted_rows import AnswerChanges, pieces_of
from driftline.engine.state.fields import Fields
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.held_rows import COPIES, END, HIGH, LOW, PLACE, START
from driftline.engine.state.row_runs import RowWords
from driftline.engine.state.runs import Runs
from driftline.model.arrays import Int64s, Mask
from driftline.model.level import Level
from driftline.model.patterns import Pattern, Skip, SkipError
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.expressions import Expression
from driftline.plan.nodes import RowsPerMatch

_IDENTITY = 5
_NOTHING, _NOTHING_KNOWN = np.empty(0, np.int64), np.empty((0, 0), np.int64)


class Match(RowsOperator):
    """`answer`: the columns of the output, of which those that are no measures are columns of the
    input. `whole`: the columns by which ties are broken (None: all). `in_order`: rows are only
    added, never end, and the first item of the order goes with their start. `settled`: the column
    of the output with the time when a match was settled."""

    fields = RowsOperator.fields | Fields(by_key=("known",))

    def __init__(
        self,
        schema: pa.Schema,
        answer: pa.Schema,
        partition: list[str],
        order: list[OrderBy],
        pattern: Pattern,
        conditions: Sequence[tuple[str, Expression]],
        measures: Sequence[tuple[str, Expression]],
        rows: RowsPerMatch,
        skip: Skip,
        within: int | None,
        level: Level,
        whole: list[str] | None = None,
        in_order: bool = False,
        settled: str | None = None,
    ) -> None:
        super().__init__(schema, partition, schema.names, answer, level, with_keys=False)
        self.order, self.skip, self.shows_rows = order, skip, rows != "one"
        self.whole = schema.names if whole is None else whole
        # At `perfect` an answer without end is emitted piece by piece, for which it has to be kept.
        self.in_order = in_order and level is not Level.PERFECT
        self.settled_column = settled
        self.program = program_of(pattern)
        variables = pattern.variables()
        self.defines = Defines(variables, dict(conditions), self.in_order)
        self.rules = rules_of(
            pattern, self.program, self.defines, [value for _, value in conditions],
            [value for _, value in measures], rows, skip, within, self.in_order,
        )  # fmt: skip
        # So long after a row begins nothing of the attempts up to it is open; 0: that is not known.
        # (Where matches are numbered, it would have to be known how many these have found.)
        self.over_after = 0 if self.rules.numbered else self.rules.bound
        self.measures = Measures(measures, variables, rows, self.rules.before)
        self.matches = EmittedMatches(answer)
        if self.in_order:
            self.segments = self.matches
        # By the place of a member: see `sweep_state.OPEN` and what follows it.
        threads = self.rules.threads
        known = THREAD + threads if threads else THREADED
        self.known = RowWords(self.members, known if self.in_order else 0)
        self.has_copies = False  # whether a member has stood for several rows
        self.changed = np.zeros(0, np.int64)  # by slot, the latest change of this batch
        # By slot, in memory alone: where a match goes on growing, the row that it begins with, and
        # its rows. Without them attempts are made again.
        self.cursors = np.empty((0, CURSOR + 2 * self.rules.growing), np.int64)
        self.begins_with = np.empty((0, _IDENTITY), np.int64)
        self.paths = Runs(PATH_COLUMNS)

    def _note_changes(self, slots: Int64s, batch: Batch) -> None:
        if self.in_order:
            self.changed = grown(self.changed, self.slots.used)
            self.changed[slots] = BEGINNING
            np.maximum.at(self.changed, slots, batch.vs)

    def _answers(self, slots: Int64s, earliest: Int64s, limit: int) -> Answers:
        if not self.in_order:
            number, member, begin, end = alive_entries(
                slots, earliest, limit, self.level == PERFECT, self.members.arrays
            )
            entries = self._arranged(number, member, begin, end, len(slots))
            open_end = limit if self.level == PERFECT else INFINITY
            nothing = np.zeros(len(slots), np.int64)
            found = Sequences(
                entries.bounds, entries.begin, entries.end, nothing, nothing, nothing,
                _NOTHING_KNOWN, nothing, nothing == 0, _NOTHING_KNOWN, _NOTHING_KNOWN, nothing,
                nothing,
            )  # fmt: skip
            versions, learned = self._swept(found, entries, earliest, open_end)
            return self._answered(versions, entries, slots, earliest, learned.same_from)
        return self._answers_in_order(slots, np.where(earliest > limit, INFINITY, earliest))

    def _answers_in_order(self, slots: Int64s, earliest: Int64s) -> Answers:
        """The answers from the first open attempt before each slot's first change on, or, where
        attempts have been open for long, from their threads on. Slots that do not come to be as
        they were before within the rows that are looked at get more of them, and those whose open
        attempts come to a match their rows."""
        self.changed = grown(self.changed, self.slots.used)
        changed = np.maximum(
            self.changed[slots], np.where(earliest < INFINITY, earliest, BEGINNING)
        )
        ahead = np.full(len(slots), LOOK_AHEAD, np.int64)
        from_threads = np.ones(len(slots), np.bool_)
        if self.rules.growing:
            self.cursors = grown(self.cursors, self.slots.used, BEGINNING)
            self.begins_with = grown(self.begins_with, self.slots.used)
            self.paths.make_slots(self.slots.used)
        while True:
            number, member, start, numbers, covered, threads, whole, resumed = sequence.from_open(
                slots, earliest, changed, ahead, from_threads, self.rules.back, self.over_after,
                self.members.arrays, self.known.values, self.cursors, self.has_copies,
            )  # fmt: skip
            begin = self.members.arrays.ints[member, START]
            entries = self._arranged(number, member, begin, begin, len(slots))
            self.has_copies |= bool(entries.copy.any())
            places = self.members.arrays.ints[entries.member, PLACE]
            # What was known of rows after the last change shows where all is as before.
            later = bool((begin > changed[number]).any())
            cursors, path, carried = _NOTHING_KNOWN, _NOTHING, _NOTHING
            if self.rules.growing:
                cursors = np.where(resumed[:, None], self.cursors[slots], BEGINNING)
                path = self.paths.arrays.first[slots]
                carried = np.where(resumed, self.paths.arrays.size[slots] - self.rules.before, 0)
            found = Sequences(
                entries.bounds, entries.begin, entries.end, start, numbers, covered, threads,
                changed, whole, self.known.values[places] if later else _NOTHING_KNOWN, cursors,
                path, carried,
            )  # fmt: skip
            versions, learned = self._swept(found, entries, earliest, INFINITY)
            if not learned.unfinished.any():
                break
            ahead[learned.unfinished == MORE_AHEAD] *= 8
            from_threads &= learned.unfinished != MORE_BACK
        sequence.learn(self.known.values, places, learned.known)
        carried = np.zeros(len(slots), np.int64)
        if self.rules.growing:
            carried[resumed] = self.cursors[slots[resumed], HAS_SIZE]
            self._carry(slots, entries, places, resumed, learned)
        return self._answered(versions, entries, slots, earliest, learned.same_from, carried)

    def _carry(
        self, slots: Int64s, entries: Entries, places: Int64s, resumed: Mask, learned: SweepOutcome
    ) -> None:
        """Keep where matches go on growing, and their rows."""
        is_growing = learned.cursors[:, HAS_TIME] > BEGINNING
        # What is as it was before from some time on goes on as it did.
        ended = slots[~is_growing & (learned.same_from == INFINITY)]
        self.cursors[ended] = BEGINNING
        self.paths.arrays.size[ended] = 0
        growing = np.flatnonzero(is_growing)
        if len(growing) == 0:
            return
        new = learned.cursors[growing, HAS_TO] - learned.cursors[growing, HAS_FROM]
        old = np.where(resumed[growing], self.paths.sizes(slots[growing]), self.rules.before)
        self.paths.reserve(slots[growing], old + new)
        keep_paths(
            slots, growing, learned.cursors, places, learned.symbol, learned.trail,
            self.rules.before, entries.bounds, self.paths.arrays,
        )  # fmt: skip
        self.cursors[slots[growing]] = learned.cursors[growing]
        fresh = growing[~resumed[growing]]
        first = learned.cursors[fresh, HAS_FROM]
        self.begins_with[slots[fresh]] = self._identity(entries, first)

    def _identity(self, entries: Entries, which: Int64s) -> Int64s:
        """What tells apart some entries."""
        ints = self.members.arrays.ints[entries.member[which]]
        return np.column_stack([ints[:, [LOW, HIGH, START, END]], entries.copy[which]])

    def _arranged(
        self, number: Int64s, member: Int64s, begin: Int64s, end: Int64s, slots: int
    ) -> Entries:
        return arranged(
            number, member, begin, end, slots, self.members.arrays, self.members.rows, self.order,
            self.whole, self.in_order,
        )  # fmt: skip

    def _rows_of(self, entries: Entries, which: Int64s, names: Sequence[str]) -> pa.RecordBatch:
        """Some columns of some entries."""
        if not names:
            return pa.RecordBatch.from_arrays([pa.nulls(len(which))], names=[""])
        places = CARRIED_ROW - which
        inside = which >= 0
        places[inside] = self.members.arrays.ints[entries.member[which[inside]], PLACE]
        return self.members.rows.take_some(places, names)

    def _swept(
        self, found: Sequences, entries: Entries, earliest: Int64s, open_end: int
    ) -> tuple[Versions, SweepOutcome]:
        """The matches over time, and what is known then. What the kernel asks for is answered,
        until it asks no more."""
        by = [self.order[0].column] if self.rules.within else []
        names = sorted({*self.defines.columns(), *by})
        rows = self._rows_of(entries, np.arange(len(entries.member)), names)
        by_order = rows.column(by[0]) if by else None
        conditions = self.defines.over(rows, entries.bounds, by_order)
        memory = ConditionMemory(self.defines.operands)
        while True:
            lookups, room = memory.lookups(), machine()
            versions, pool, learned, problem = sweep(
                found, earliest, open_end, self.program, conditions, lookups, room, self.rules,
                limits().max_steps, self.paths.arrays,
            )  # fmt: skip
            if not memory.learn(self.defines, lookups, rows):
                break
        check(room)
        self._check(int(problem))
        return Versions.of(versions, pool), SweepOutcome(*learned)

    def _check(self, problem: int) -> None:
        if problem == sweep_state.STEPS:
            most = limits().max_steps
            raise EvaluationError(
                "PATTERN_TOO_COSTLY",
                f"an attempt to match the pattern took more than {most:,} steps: make its "
                "conditions exclude each other, bound it with WITHIN, or "
                f"SET max_steps = {10 * most}",
            )
        if problem != sweep_state.FINE:
            raise SkipError(self.skip, present=problem == sweep_state.SKIPS_BACK)

    def _answered(
        self,
        versions: Versions,
        entries: Entries,
        slots: Int64s,
        earliest: Int64s,
        same_from: Int64s,
        carried: Int64s = _NOTHING,
    ) -> Answers:
        """The rows that versions put out; `carried`: see `Measures.output`."""
        output = self.measures.output(versions, carried)
        if self.in_order:
            # What was settled before the first change is as it was, or has been evicted.
            settled = versions.settled[output.last]
            output = output.take(np.flatnonzero(settled >= earliest[versions.slot[output.last]]))

        def rows_of(which: Int64s, names: Sequence[str]) -> pa.RecordBatch:
            return self._rows_of(entries, which, names)

        columns = self.measures.columns(versions, output, rows_of)
        own = [
            name
            for name in self.answer_schema.names
            if name not in columns and name != self.settled_column
        ]
        taken = rows_of(output.entry, own)
        columns |= {name: taken.column(name) for name in own}
        since, until = versions.since[output.version], versions.until[output.last]
        settled = versions.settled[output.last]
        if self.settled_column is not None:
            columns[self.settled_column] = pa.array(settled, mask=settled == INFINITY)
        rows = pa.RecordBatch.from_arrays(
            [columns[name] for name in self.answer_schema.names], schema=self.answer_schema
        )
        bounds = np.searchsorted(versions.slot[output.version], np.arange(len(slots) + 1))
        prints = self._identities(slots, versions, output, entries, rows)
        if not self.in_order:
            return Answers(bounds, pieces_of(prints, since, until), rows)
        keeps = carried > 0 if self.measures.keeps_rows else NO_FLAGS
        pieces = pieces_of(prints, since, until, settled)
        return AnswersInOrder(bounds, pieces, rows, same_from, keeps)

    def _corrected(self, slots: Int64s, since: Int64s, answers: Answers) -> AnswerChanges:
        if isinstance(answers, AnswersInOrder):
            return self.matches.correct_in_order(slots, since, answers)
        return super()._corrected(slots, since, answers)

    def _identities(
        self,
        slots: Int64s,
        versions: Versions,
        output: OutputRows,
        entries: Entries,
        rows: pa.RecordBatch,
    ) -> Fingerprints:
        """The fingerprint of each output row. Equal rows of different matches are told apart by the
        row that the match begins with."""
        first = versions.row[versions.first + np.where(versions.size > 0, self.rules.before, 0)]
        first = first[output.version]
        begins_with = np.empty((len(first), _IDENTITY), np.int64)
        inside = first >= 0
        begins_with[inside] = self._identity(entries, first[inside])
        begins_with[~inside] = self.begins_with[slots[versions.slot[output.version[~inside]]]]
        return fingerprints(rows.columns, len(rows)).with_numbers(
            *np.ascontiguousarray(begins_with.T),
            output.current if self.shows_rows else np.zeros(len(first), np.int64),
        )

    def _take_in(self, port: int, batch: Batch) -> tuple[Int64s, Int64s]:
        touched, earliest = super()._take_in(port, batch)
        self.known.make_places()
        return touched, earliest

    def _greatest_endpoint(self, slots: Int64s, limit: int) -> int:
        return self.watermark if self.in_order else super()._greatest_endpoint(slots, limit)

    def _settled(self) -> int:
        return self.cti if self.in_order else super()._settled()

    def _drop_final(self, slots: Int64s) -> None:
        if not self.in_order or self.cti == INFINITY:
            super()._drop_final(slots)
            return
        freed = np.empty(int(self.members.sizes(slots).sum()), np.int64)
        gone = eviction.settle_rows(
            slots, self.cti, self.rules.back, self.rules.numbered, self.over_after,
            self.members.arrays, self.known.values, self.has_copies, freed,
        )  # fmt: skip
        self.members.free(freed[:gone])
        self.matches.drop_settled(slots, self.cti)

    def _look_again(self, slots: Int64s) -> None:
        if not self.in_order:
            super()._look_again(slots)
            return
        stale = np.full(len(slots), INFINITY)
        eviction.next_rows(
            slots, self.cti, self.rules.back, self.rules.numbered, self.over_after,
            self.members.arrays, self.known.values, self.has_copies, stale,
        )  # fmt: skip
        self.stale.set(slots, np.minimum(stale, self.matches.first_settled(slots)))

    def state_size(self) -> tuple[int, int]:
        rows, held = super().state_size()
        growing = self.cursors.nbytes + self.begins_with.nbytes + self.paths.nbytes
        return rows, held + growing

    def _remove(self, slots: Int64s) -> None:
        super()._remove(slots)
        self._forget(slots)

    def _forget(self, slots: Int64s) -> None:
        """Forget where the matches of some slots go on growing."""
        known = slots[slots < len(self.cursors)]
        self.cursors[known] = BEGINNING
        self.paths.clear(known)

    def derive(self) -> None:
        members = self.members.of(self.slots.live_slots())
        self.has_copies = bool((members[:, COPIES] > 1).any())
