"""Calls of functions: by their names, those that take functions, and those with a syntax of their
own."""

from __future__ import annotations

from difflib import get_close_matches

from sqlglot import exp

from driftline.plan.dialect import InOrder, OfMatch, parse_sql
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Expression, Lambda, Literal, Variable
from driftline.plan.functions import AGGREGATES, FUNCTIONS
from driftline.plan.functions.dates import UNITS, extract, timestamp_add, timestamp_diff
from driftline.plan.functions.higher_order import HIGHER_ORDER, Unbound, higher_order
from driftline.plan.functions.rewritten import values_in_order
from driftline.plan.functions.strings import trim
from driftline.plan.resolver.aggregates import Aggregates
from driftline.plan.resolver.arguments import in_order
from driftline.plan.resolver.names import Names
from driftline.plan.types import STRING, DataType
from driftline.plan.used import place_of, uses, uses_all

NOT_DETERMINISTIC = frozenset(
    [
        "current_timestamp",
        "current_date",
        "current_time",
        "curdate",
        "now",
        "localtimestamp",
        "rand",
        "random",
        "randn",
        "uuid",
        "randstr",
        "uniform",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "shuffle",
        "proctime",
        "generate_uuid",
        "gen_random_uuid",
    ]
)
GENERATORS = {
    "explode": (False, False),
    "explode_outer": (True, False),
    "posexplode": (False, True),
    "posexplode_outer": (True, True),
    "inline": (False, False),
    "inline_outer": (True, False),
    "stack": (False, False),
    "json_tuple": (False, False),
    "variant_explode": (False, False),
    "variant_explode_outer": (True, False),
}
"""The functions that give several rows for one: whether a row without items is kept, and whether
places are given."""
_ELSEWHERE = {
    **dict.fromkeys(("json_extract", "jsonb_extract_path_text"), "get_json_object"),
    **dict.fromkeys(("approx_top_count", "topk"), "approx_top_k"),
    **dict.fromkeys(("list", "grouparray"), "array_agg"),
    "approx_quantiles": "percentile_approx",
    "farm_fingerprint": "xxhash64",
    "latest_by_offset": "max_by(x, ts)",
    "map_agg": "map_from_entries(array_agg(struct(k, v)))",
    "match_rowtime": "last(ts)",
    "regexp_match": "regexp_extract(text, pattern, n)",
    "time_slice": "time_bucket(INTERVAL …, ts)",
    "to_hex": "hex",
    "uniq": "approx_count_distinct",
}
"""Functions of other engines, and what does nearly the same here."""
_UNIT_FUNCTIONS = ("timestampadd", "timestampdiff", "dateadd", "datediff", "date_add", "date_diff")
_WITH_UNIT = 3
_TAKING_FUNCTIONS = HIGHER_ORDER.keys() - {"array_sort"}
_NO_PARENTHESES = (
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.Localtimestamp,
    exp.CurrentUser,
)


class Calls(Names, Aggregates):
    """What calls mean."""

    def function(self, node: exp.Anonymous) -> Expression:
        """A function by its name."""
        name = str(node.this).lower()
        nodes = in_order(name, node.expressions)
        refuse_if_not_deterministic(name, len(nodes))
        if name in AGGREGATES:
            return self.aggregate(node)
        if name == "struct":
            return self.make_struct(nodes)
        if name in _UNIT_FUNCTIONS and len(nodes) == _WITH_UNIT:
            return self.unit_function(name, nodes)
        if any(isinstance(each, exp.Lambda) for each in nodes) or name in _TAKING_FUNCTIONS:
            return self.higher_order(name, nodes)
        if name in GENERATORS:
            raise ExpressionError(
                f"{name} makes several rows of one: it stands alone in the select list of SQL, or "
                "in LATERAL VIEW; in Python it is a method, explode(…)"
            ).at(*place_of(node))
        if name in ("window", "session_window"):
            raise ExpressionError(
                f"{name}(…) has its place in GROUP BY and the select list of a query; in Python "
                "windows are tumble(…), hop(…) and session(…)"
            ).at(*place_of(node))
        if name not in FUNCTIONS:
            near = get_close_matches(name, [*FUNCTIONS, *AGGREGATES], n=1, cutoff=0.75)
            hint = f"; did you mean {near[0]}?" if near else ""
            if name in _ELSEWHERE:
                hint = f": {_ELSEWHERE[name]} is near to it"
            raise ExpressionError(f"there is no function {name}{hint}").at(*place_of(node))
        return FUNCTIONS[name](self.all(nodes))

    def higher_order(self, name: str, nodes: list[exp.Expr]) -> Expression:
        """A function that takes functions, such as `transform(xs, x -> x + 1)`."""
        if name not in HIGHER_ORDER:
            raise ExpressionError(f"{name} does not take a function")
        return higher_order(
            name,
            tuple(
                self.unbound(each) if isinstance(each, exp.Lambda) else self.resolve(each)
                for each in nodes
            ),
        )

    def unbound(self, node: exp.Lambda) -> Unbound:
        """`(x, y) -> body`: the names in it are parameters before they are columns."""
        uses(node, "this", "expressions", "colon")
        names = tuple(each.name for each in node.expressions)

        def bind(kinds: tuple[DataType, ...]) -> Lambda:
            parameters = tuple(map(Variable, names, kinds))
            outer = self.variables
            self.variables = {**outer, **{each.name.lower(): each for each in parameters}}
            try:
                return Lambda(parameters, self.resolve(node.this))
            finally:
                self.variables = outer

        return Unbound(names, bind)

    def unit_function(self, name: str, nodes: list[exp.Expr]) -> Expression:
        """`timestampadd(HOUR, 1, ts)` and its like, whose first argument is a unit of time."""
        if not isinstance(nodes[0], (exp.Column, exp.Var, exp.Literal)):
            raise ExpressionError(f"{name} takes a unit of time first: {name}(DAY, …, …)")
        uses(nodes[0], "this", "is_string")
        unit = UNITS.get(nodes[0].name.upper())
        if unit is None:
            raise ExpressionError(f"{name}: {nodes[0].name} is not a unit of time")
        first, second = self.resolve(nodes[1]), self.resolve(nodes[2])
        adds = name in ("timestampadd", "dateadd", "date_add")
        return (timestamp_add if adds else timestamp_diff)(unit, first, second)

    def plain_function(self, node: exp.Func) -> Expression:
        """A function that another dialect has parsed: it is written out and read again."""
        if isinstance(node, _NO_PARENTHESES):
            refuse_if_not_deterministic(node.sql_name().lower(), 0)
        uses_all(node)
        again = parse_sql(node.sql("spark"))
        if type(again) is type(node) or not isinstance(again, exp.Func):
            raise ExpressionError(f"{node.sql('spark')} is not supported")
        return self.resolve(again)

    def of_match(self, node: OfMatch) -> Expression:
        """`RUNNING f(…)`, `FINAL f(…)`."""
        raise ExpressionError("RUNNING and FINAL have a meaning in MATCH_RECOGNIZE alone")

    def in_order(self, node: InOrder) -> Expression:
        """What listagg(…) WITHIN GROUP (ORDER BY …) joins."""
        return values_in_order(self.resolve(node.this), node.args["directions"])

    def substring(self, node: exp.Substring) -> Expression:
        """`SUBSTRING(text, start, length)` and `SUBSTRING(text FROM start FOR length)`."""
        parts = [node.this, node.args.get("start"), node.args.get("length")]
        return FUNCTIONS["substring"](self.all([part for part in parts if part is not None]))

    def trim(self, node: exp.Trim) -> Expression:
        """`TRIM([BOTH | LEADING | TRAILING] [characters FROM] text)`."""
        names = {"LEADING": "ltrim", "TRAILING": "rtrim"}
        characters = node.args.get("expression")
        return trim(
            names.get((node.args.get("position") or "").upper(), "trim"),
            self.resolve(node.this),
            None if characters is None else self.resolve(characters),
        )

    def variant_path(self, node: exp.JSONExtract) -> Expression:
        """`v:a.b[0]` and `v -> 'a'`: what a path leads to in a VARIANT; after an arrow also in a
        text of JSON, as a text of JSON."""
        root, *steps = node.expression.expressions
        uses(node.expression, "expressions")
        uses(root)
        path = "$"
        for step in steps:
            uses(step, "this", "quoted")
            name = step.this
            if isinstance(step, exp.JSONPathKey) and isinstance(name, str):
                path += f"['{name}']" if "'" not in name else f'["{name}"]'
            elif isinstance(step, exp.JSONPathSubscript) and isinstance(name, int):
                path += f"[{name}]"
            else:
                raise ExpressionError("a path in a VARIANT has names and numbers: v:a.b[0]")
        value = self.resolve(node.this)
        if value.type != STRING or node.args.get("variant_extract"):
            return FUNCTIONS["variant_get"]((value, Literal(path, STRING)))
        part = FUNCTIONS["variant_get"](
            (FUNCTIONS["try_parse_json"]((value,)), Literal(path, STRING))
        )
        return FUNCTIONS["to_json"]((part,))

    def collate(self, node: exp.Collate) -> Expression:
        """`text COLLATE name`."""
        uses(node.expression, "this")
        name = Literal(node.expression.name, STRING)
        return FUNCTIONS["collate"]((self.resolve(node.this), name))

    def overlay(self, node: exp.Overlay) -> Expression:
        """`OVERLAY(text PLACING other FROM start FOR length)`."""
        parts = [node.this, node.expression, node.args.get("from_"), node.args.get("for_")]
        return FUNCTIONS["overlay"](self.all([part for part in parts if part is not None]))

    def position(self, node: exp.StrPosition) -> Expression:
        """`POSITION(part IN text)`."""
        parts = [node.args["substr"], node.this, node.args.get("position")]
        return FUNCTIONS["locate"](self.all([part for part in parts if part is not None]))

    def extract(self, node: exp.Extract) -> Expression:
        """`EXTRACT(field FROM value)`."""
        uses(node.this, "this")
        return extract(node.name, self.resolve(node.expression))


def refuse_if_not_deterministic(name: str, arguments: int) -> None:
    """An error for functions that would give another answer if they were evaluated again."""
    reads_clock = name in ("unix_timestamp", "to_unix_timestamp") and arguments == 0
    if name in NOT_DETERMINISTIC or reads_clock:
        raise ExpressionError(
            f"{name}() has another value each time, and a continuous query must give the same "
            "answer whenever it is run again: put the value in a column"
        )
