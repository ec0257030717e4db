"""Random queries without brackets, over the tables t(k, x, y) and u(k, z)."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

TABLES = {
    "t": {"k": "STRING", "x": "INT", "y": "BIGINT"},
    "u": {"k": "STRING", "z": "INT"},
}
TEXT, NUMBER = "text", "number"
KINDS = {"STRING": TEXT, "INT": NUMBER, "BIGINT": NUMBER}


@dataclass(frozen=True)
class Columns:
    """What can be written in a scope: expressions by kind."""

    text: tuple[str, ...]
    numbers: tuple[str, ...]

    def __add__(self, other: Columns) -> Columns:
        return Columns(self.text + other.text, self.numbers + other.numbers)


@dataclass(frozen=True)
class Made:
    """A query, and the kinds of its columns c0, c1, …"""

    sql: str
    kinds: tuple[str, ...]


class Queries:
    """Makes queries from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.aliases = 0

    def query(self, depth: int = 2) -> Made:
        makers = [self.plain, self.plain, self.grouped, self.grouped, self.using]
        if depth > 0:
            makers += [self.set_operation, self.top, self.ranked, self.cte, self.windowed]
        return self.random.choice(makers)(depth)

    # FROM

    def alias(self) -> str:
        self.aliases += 1
        return f"a{self.aliases}"

    def table(self, depth: int) -> tuple[str, Columns]:
        alias = self.alias()
        if depth > 0 and self.random.random() < 0.35:
            inner = self.query(depth - 1)
            names = [(f"{alias}.c{i}", kind) for i, kind in enumerate(inner.kinds)]
            return f"({inner.sql}) AS {alias}", self.columns(names)
        name = self.random.choice(list(TABLES))
        names = [(f"{alias}.{column}", KINDS[kind]) for column, kind in TABLES[name].items()]
        return f"{name} {alias}", self.columns(names)

    @staticmethod
    def columns(names: list[tuple[str, str]]) -> Columns:
        return Columns(
            tuple(name for name, kind in names if kind == TEXT),
            tuple(name for name, kind in names if kind == NUMBER),
        )

    def source(self, depth: int) -> tuple[str, Columns]:
        left, columns = self.table(depth)
        if self.random.random() < 0.55:
            return left, columns
        right, more = self.table(depth)
        kind = self.random.choice(
            ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL OUTER JOIN", ",", "LEFT SEMI JOIN",
             "LEFT ANTI JOIN", "CROSS JOIN"]
        )  # fmt: skip
        both = columns + more
        if kind in (",", "CROSS JOIN"):
            return f"{left} {kind} {right}", both
        condition = self.equality(columns, more)
        if self.random.random() < 0.3:
            condition += f" AND {self.comparison(both)}"
        kept = columns if "SEMI" in kind or "ANTI" in kind else both
        return f"{left} {kind} {right} ON {condition}", kept

    def equality(self, left: Columns, right: Columns) -> str:
        if left.text and right.text and (not (left.numbers and right.numbers) or self.coin()):
            return f"{self.random.choice(left.text)} = {self.random.choice(right.text)}"
        if left.numbers and right.numbers:
            return f"{self.random.choice(left.numbers)} = {self.random.choice(right.numbers)}"
        return "true"

    # Expressions

    def coin(self) -> bool:
        return self.random.random() < 0.5

    def number(self, columns: Columns) -> str:
        if not columns.numbers:
            return str(self.random.randint(-1, 3))
        one = self.random.choice(columns.numbers)
        other = self.random.choice(columns.numbers)
        return self.random.choice(
            [one, one, f"{one} + 1", f"{one} * 2 - {other}", f"coalesce({one}, {other}, 0)",
             f"CASE WHEN {one} > 1 THEN {other} ELSE {one} END", f"abs({one})"]
        )  # fmt: skip

    def text(self, columns: Columns) -> str:
        if not columns.text:
            return "'a'"
        one = self.random.choice(columns.text)
        return self.random.choice([one, one, f"upper({one})", f"concat({one}, 'x')"])

    def comparison(self, columns: Columns) -> str:
        if columns.text and self.random.random() < 0.3:
            one = self.text(columns)
            return self.random.choice(
                [f"{one} = 'a'", f"{one} <> 'b'", f"{one} IN ('a', 'c')", f"{one} IS NULL",
                 f"{one} IS NOT NULL", f"{one} LIKE '%a%'"]
            )  # fmt: skip
        one, other = self.number(columns), self.number(columns)
        return self.random.choice(
            [f"{one} > 0", f"{one} <= {other}", f"{one} = {other}", f"{one} IS NULL",
             f"{one} BETWEEN 0 AND 2", f"NOT {one} = 1", f"{one} IN (1, 2)"]
        )  # fmt: skip

    def condition(self, columns: Columns) -> str:
        one = self.comparison(columns)
        if self.coin():
            return one
        return f"({one} {self.random.choice(['AND', 'OR'])} {self.comparison(columns)})"

    def where(self, columns: Columns, depth: int) -> str:
        parts = [self.condition(columns)] if self.coin() else []
        if depth > 0 and self.random.random() < 0.35:
            parts.append(self.subquery(columns, depth - 1))
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def subquery(self, columns: Columns, depth: int) -> str:
        rows, inner = self.source(depth)
        negated = self.random.choice(["", "NOT "])
        if columns.numbers and inner.numbers and self.coin():
            wanted = self.random.choice(columns.numbers)
            query = f"SELECT {self.number(inner)} AS c FROM {rows}{self.where(inner, 0)}"
            return f"{wanted} {negated}IN ({query})"
        if columns.numbers and self.random.random() < 0.3:
            value = self.random.choice(["max", "min", "sum"])
            query = f"SELECT {value}({self.number(inner)}) AS c FROM {rows}{self.where(inner, 0)}"
            return f"{self.number(columns)} {self.random.choice(['<', '=', '>='])} ({query})"
        tie = self.equality(columns, inner)
        if self.coin():
            tie += f" AND {self.comparison(inner)}"
        return f"{negated}EXISTS (SELECT 1 FROM {rows} WHERE {tie})"

    # Queries

    def plain(self, depth: int) -> Made:
        rows, columns = self.source(depth)
        items: list[tuple[str, str]] = []
        for _ in range(self.random.randint(1, 3)):
            if columns.text and self.coin():
                items.append((self.text(columns), TEXT))
            else:
                items.append((self.number(columns), NUMBER))
        distinct = "DISTINCT " if self.random.random() < 0.25 else ""
        listed = ", ".join(f"{item} AS c{i}" for i, (item, _) in enumerate(items))
        where = self.where(columns, depth)
        return Made(
            f"SELECT {distinct}{listed} FROM {rows}{where}", tuple(kind for _, kind in items)
        )

    def aggregate(self, columns: Columns) -> str:
        one = self.number(columns)
        return self.random.choice(
            ["count(*)", f"count({one})", f"sum({one})", f"min({one})", f"max({one})",
             f"count(DISTINCT {one})", f"sum({one}) + count(*)",
             f"count(*) FILTER (WHERE {self.comparison(columns)})"]
        )  # fmt: skip

    def grouped(self, depth: int) -> Made:
        rows, columns = self.source(depth)
        keys: list[tuple[str, str]] = []
        if columns.text and self.coin():
            keys.append((self.text(columns), TEXT))
        if columns.numbers and self.coin():
            keys.append((self.number(columns), NUMBER))
        aggregates = [self.aggregate(columns) for _ in range(self.random.randint(1, 2))]
        items = [*keys, *((each, NUMBER) for each in aggregates)]
        listed = ", ".join(f"{item} AS c{i}" for i, (item, _) in enumerate(items))
        sql = f"SELECT {listed} FROM {rows}{self.where(columns, depth)}"
        if keys:
            by = [str(i + 1) if self.coin() else key for i, (key, _) in enumerate(keys)]
            word = self.random.choice(["", "", "", "ROLLUP", "CUBE"])
            sql += f" GROUP BY {word} ({', '.join(by)})" if word else f" GROUP BY {', '.join(by)}"
            if self.random.random() < 0.4:
                having = self.random.choice(["count(*) > 1", f"max({self.number(columns)}) > 0"])
                sql += f" HAVING {having}"
        else:
            sql += " HAVING count(*) > 0"  # no row is emitted of an empty snapshot
        return Made(sql, tuple(kind for _, kind in items))

    def using(self, depth: int) -> Made:
        kind = self.random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        rows = self.random.choice([f"t {kind} u USING (k)", f"t NATURAL {kind} u"])
        distinct = self.random.choice(["", "DISTINCT "])
        more = self.random.choice(["x + 1 AS c1, c1 * 2 AS c2", "x AS c1, z AS c2"])
        where = self.where(Columns(("k", "t.k", "u.k"), ("x", "t.y", "z")), 0)
        return Made(f"SELECT {distinct}k AS c0, {more} FROM {rows}{where}", (TEXT, NUMBER, NUMBER))

    def cte(self, depth: int) -> Made:
        inner = self.query(depth - 1)
        name, one, other = self.alias(), self.alias(), self.alias()
        listed = ", ".join(f"{one}.c{i} AS c{i}" for i in range(len(inner.kinds)))
        return Made(
            f"WITH {name} AS ({inner.sql}) SELECT {listed} FROM {name} {one} JOIN {name} {other} "
            f"ON {one}.c0 = {other}.c0",
            inner.kinds,
        )

    def set_operation(self, depth: int) -> Made:
        left = self.query(depth - 1)
        alias = self.alias()
        rows, columns = self.table(0)
        listed = ", ".join(
            f"{self.text(columns) if kind == TEXT else self.number(columns)} AS c{i}"
            for i, kind in enumerate(left.kinds)
        )
        word = self.random.choice(["UNION", "INTERSECT", "EXCEPT"])
        every = self.random.choice([" ALL", ""])
        sql = f"SELECT * FROM ({left.sql}) AS {alias} {word}{every} SELECT {listed} FROM {rows}"
        return Made(sql, left.kinds)

    def top(self, depth: int) -> Made:
        inner = self.query(depth - 1)
        order = ", ".join(
            f"c{i}{self.random.choice(['', ' DESC', ' NULLS LAST', ' DESC NULLS FIRST'])}"
            for i in self.random.sample(range(len(inner.kinds)), len(inner.kinds))
        )
        alias, count = self.alias(), self.random.randint(1, 4)
        offset = self.random.choice(["", "", f" OFFSET {self.random.randint(0, 3)}"])
        sql = f"SELECT * FROM ({inner.sql}) AS {alias} ORDER BY {order} LIMIT {count}{offset}"
        return Made(sql, inner.kinds)

    def ranked(self, depth: int) -> Made:
        inner = self.query(depth - 1)
        alias, outer = self.alias(), self.alias()
        width = len(inner.kinds)
        columns = ", ".join(f"c{i}" for i in range(width))
        function = self.random.choice(["row_number", "rank", "dense_rank"])
        per = f"PARTITION BY c{self.random.randrange(width)} " if self.coin() else ""
        over = f"{function}() OVER ({per}ORDER BY {columns})"
        ranked = f"SELECT {columns}, {over} AS c{width} FROM ({inner.sql}) AS {alias}"
        sql = f"SELECT * FROM ({ranked}) AS {outer}"
        if self.coin():
            sql += f" WHERE c{width} <= {self.random.randint(1, 3)}"
        return Made(sql, (*inner.kinds, NUMBER))

    def windowed(self, depth: int) -> Made:
        """An aggregate or a neighbour over rows in an order that only equal rows share."""
        inner = self.query(depth - 1)
        width = len(inner.kinds)
        columns = ", ".join(f"c{i}" for i in range(width))
        numbers = [f"c{i}" for i, kind in enumerate(inner.kinds) if kind == NUMBER]
        one = self.random.choice(numbers) if numbers else "1"
        function = self.random.choice(["sum", "count", "min", "max", "first_value", "last_value"])
        per = f"PARTITION BY c{self.random.randrange(width)} " if self.coin() else ""
        kind = self.random.choice(["plain", "rows", "range", "neighbour"])
        order, frame = f"ORDER BY {columns}", ""
        call = f"{function}({one})"
        if kind == "rows":
            frame = f" ROWS BETWEEN {self.random.randint(1, 3)} PRECEDING AND " + (
                self.random.choice(["CURRENT ROW", "1 PRECEDING", "2 FOLLOWING"])
            )
        elif kind == "range" and numbers:
            order = f"ORDER BY {one}{self.random.choice(['', ' DESC'])}"
            call = f"{function if 'value' not in function else 'sum'}({one})"
            frame = self.random.choice(
                [" RANGE BETWEEN 1 PRECEDING AND CURRENT ROW",
                 " RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING",
                 " RANGE BETWEEN CURRENT ROW AND 2 FOLLOWING"]
            )  # fmt: skip
        elif kind == "neighbour":
            call = self.random.choice([f"lag({one})", f"lead({one}, 2, 7)", f"lag({one}, 2)"])
            call += self.random.choice(["", " IGNORE NULLS"])
        alias = self.alias()
        over = f"{call} OVER ({per}{order}{frame})"
        sql = f"SELECT {columns}, {over} AS c{width} FROM ({inner.sql}) AS {alias}"
        return Made(sql, (*inner.kinds, NUMBER))
