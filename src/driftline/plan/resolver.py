"""From SQL to expressions: names are looked up, types are found, mistakes are explained.

>>> from driftline.plan.types import Schema
>>> trades = Schema.of({"symbol": "STRING", "price": "DOUBLE", "qty": "INT"})
>>> expression = parse_expression("price * qty > 100 AND symbol LIKE 'A%'", trades)
>>> print(expression)
(((price * CAST(qty AS DOUBLE)) > 100.0D) AND (symbol LIKE 'A%' ESCAPE '\\\\'))
>>> sorted(expression.columns())
['price', 'qty', 'symbol']
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, cast

from sqlglot import exp

from driftline.plan.constants import (
    boolean,
    has_suffix,
    hex_string,
    interval,
    literal,
    null,
    raw_text,
    suffixed_literal,
    typed_literal,
)
from driftline.plan.dialect import OfMatch, parse_sql
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Cast, Column, Expression, Lambda, Literal, Variable
from driftline.plan.functions import (
    AGGREGATES,
    FUNCTIONS,
    aggregate_value,
    operators,
    ordered_aggregate,
)
from driftline.plan.functions.base import Arguments, cast_to
from driftline.plan.functions.collections import field, item, struct
from driftline.plan.functions.conditionals import choose
from driftline.plan.functions.dates import UNITS, extract, timestamp_add, timestamp_diff
from driftline.plan.functions.higher_order import HIGHER_ORDER, Unbound, higher_order
from driftline.plan.functions.strings import concat, like, trim
from driftline.plan.literals import number_literal
from driftline.plan.names import find_column
from driftline.plan.types import (
    BOOLEAN,
    INTERVAL_MONTHS,
    DataType,
    Schema,
    type_of,
)
from driftline.plan.used import mark, place_of, refuse_unused, uses, uses_all

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
}
"""The functions that give several rows for one: whether a row without items is kept, and whether
places are given."""
_UNIT_FUNCTIONS = ("timestampadd", "timestampdiff", "dateadd", "datediff", "date_add", "date_diff")
_WITH_UNIT = 3
_TAKING_FUNCTIONS = HIGHER_ORDER.keys() - {"array_sort"}


def parse_expression(text: str, schema: Schema) -> Expression:
    """The expression that a text means over the columns of a schema.

    >>> parse_expression("pric * 2", Schema.of({"price": "INT"}))
    Traceback (most recent call last):
    driftline.plan.errors.ExpressionError: there is no column pric; did you mean price? \
(line 1, column 1)
    """
    return resolve(parse_sql(text), schema)


def resolve(node: exp.Expr, schema: Schema) -> Expression:
    """The expression that a parsed piece of SQL means over the columns of a schema.

    The tree should come from `driftline.plan.dialect`, which keeps function calls as they were
    written.
    """
    return resolve_by(Resolver(schema), node)


def resolve_by(resolver: Resolver, node: exp.Expr) -> Expression:
    """The expression that a resolver finds for a parsed piece of SQL, all of which it has used."""
    mark(node)
    value = resolver.resolve(node)
    refuse_unused(node)
    return value


class Resolver:
    """From syntax to expressions over the columns of a schema. Where names or functions have a
    meaning of their own, a subclass has methods of its own for them."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.known: tuple[Any, Expression] | None = None
        self.variables: dict[str, Variable] = {}

    def resolve(self, node: Any) -> Expression:
        """The expression of a node; an error is given the place of the innermost node."""
        known, self.known = self.known, None
        if known is not None and known[0] is node:
            return known[1]
        chain = [node]  # of a + b + …, which may be long, the left operands come first
        while type(chain[-1]) in _CHAINED and _is_chained(chain[-1].this):
            chain.append(chain[-1].this)
        while len(chain) > 1:
            operand = chain.pop()
            self.known = operand, self._resolve(operand)
        return self._resolve(node)

    def _resolve(self, node: Any) -> Expression:
        try:
            if type(node) in _METHODS:
                method, *used = _METHODS[type(node)]
                uses(node, *used)
                read = getattr(self, method) if isinstance(method, str) else method
                return cast("Expression", read(node))
            if type(node) in _BINARY:
                uses(node, "this", "expression", *_BY_DIALECT)
                build, name = _BINARY[type(node)]
                return build(name, self.resolve(node.this), self.resolve(node.expression))
            if isinstance(node, exp.Func):
                return self.plain_function(node)
            raise ExpressionError(f"{node.sql('spark')} is not supported in an expression")
        except ExpressionError as error:
            if error.line is not None:
                raise
            raise error.at(*place_of(node)) from None

    def all(self, nodes: list[exp.Expr]) -> Arguments:
        """The expressions of several nodes."""
        return tuple(self.resolve(node) for node in nodes)

    # Names

    def column(self, node: exp.Column) -> Expression:
        """`name`, `relation.name`, and fields of structs after either."""
        if isinstance(node.this, exp.Star):
            return self.star(node.this)
        names = [part.name for part in node.parts]
        value: Expression
        if names[0].lower() in self.variables:
            value, fields = self.variables[names[0].lower()], names[1:]
            for name in fields:
                value = field(value, name)
            return value
        value, fields = find_column(self.schema, names)
        for name in fields:
            value = field(value, name)
        return value

    def star(self, node: exp.Star) -> Expression:
        """`*` has its place in a select list, and in count(*)."""
        raise ExpressionError("* stands for all columns and is not an expression")

    def dot(self, node: exp.Dot) -> Expression:
        """`value.field`."""
        return field(self.resolve(node.this), node.expression.name)

    def bracket(self, node: exp.Bracket) -> Expression:
        """`value[index]`."""
        if len(node.expressions) != 1:
            raise ExpressionError("[ ] takes one index")
        return item(self.resolve(node.this), self.resolve(node.expressions[0]))

    def paren(self, node: exp.Paren) -> Expression:
        """`( value )`."""
        return self.resolve(node.this)

    def tuple_(self, node: exp.Tuple) -> Expression:
        """`(a, b)`, a struct."""
        return self.make_struct(node.expressions)

    def alias(self, node: exp.Alias) -> Expression:
        """A name has its place in a select list, and in struct( )."""
        raise ExpressionError(f"a name (AS {node.alias}) cannot be given inside an expression")

    # Constants

    def concatenated(self, node: exp.Concat) -> Expression:
        """Texts written side by side are one text."""
        return concat(self.all(node.expressions))

    def negative(self, node: exp.Neg) -> Expression:
        """`- value`; a number and its sign are one constant."""
        number = node.this
        if isinstance(number, exp.Literal) and not number.is_string:
            uses(number, "this", "is_string")
            return Literal(*number_literal(f"-{number.this}"))
        if _is_suffixed(number):
            uses_all(number)
            return suffixed_literal(f"-{number.this.this}", type_of(number.to))
        value = self.resolve(number)
        if isinstance(value, Literal) and value.value is not None and value.kind == INTERVAL_MONTHS:
            return Literal(-value.value, value.kind, value.unit)
        return operators.negate(value)

    def cast(self, node: exp.Cast) -> Expression:
        """CAST, TRY_CAST, `::`, and constants such as DATE '…' and 10L."""
        kind = type_of(node.to)
        source = node.this
        if isinstance(source, exp.Literal):
            uses(source, "this", "is_string")
            if type(node) is exp.Cast and source.is_string:
                return typed_literal(source.this, kind)
            if has_suffix(node):
                return suffixed_literal(source.this, kind)
        value = self.resolve(source)
        if node.args.get("safe"):
            cast_to(value, kind)
            return Cast(value, kind, lenient=True) if value.type != kind else value
        checked = cast_to(value, kind)
        is_null = isinstance(value, Literal) and value.value is None
        return checked if is_null or value.type == kind else Cast(value, kind)

    # Conditions

    def not_(self, node: exp.Not) -> Expression:
        """`NOT condition`."""
        return operators.logical("not", self.resolve(node.this))

    def bitwise_not(self, node: exp.BitwiseNot) -> Expression:
        """`~ value`."""
        return operators.bitwise_not((self.resolve(node.this),))

    def is_(self, node: exp.Is) -> Expression:
        """`IS NULL`, `IS TRUE`, `IS FALSE`."""
        value, what = self.resolve(node.this), node.expression
        if isinstance(what, exp.Null):
            uses(what)
            return operators.is_null((value,))
        if isinstance(what, exp.Boolean):
            uses(what, "this")
            truth = Literal(bool(what.this), BOOLEAN)
            return operators.compare("null_safe_equal", value, truth)
        raise ExpressionError(f"IS {what.sql('spark')} is not supported")

    def distinct_from(self, node: exp.NullSafeNEQ) -> Expression:
        """`IS DISTINCT FROM`."""
        same = operators.compare(
            "null_safe_equal", self.resolve(node.this), self.resolve(node.expression)
        )
        return operators.logical("not", same)

    def between(self, node: exp.Between) -> Expression:
        """`value BETWEEN low AND high`; SYMMETRIC: whichever of both is the lower one."""
        value = self.resolve(node.this)
        low, high = self.resolve(node.args["low"]), self.resolve(node.args["high"])

        def within(low: Expression, high: Expression) -> Expression:
            above = operators.compare("greater_equal", value, low)
            return operators.logical("and", above, operators.compare("less_equal", value, high))

        if not node.args.get("symmetric"):
            return within(low, high)
        return operators.logical("or", within(low, high), within(high, low))

    def in_(self, node: exp.In) -> Expression:
        """`value IN (…)`."""
        if node.args.get("query") is not None or node.args.get("unnest") is not None:
            raise ExpressionError("IN (SELECT …) is a join, and is not supported here")
        if not node.expressions:
            raise ExpressionError("IN needs at least one value")
        return operators.is_in(
            self.compared(node.this), tuple(self.compared(each) for each in node.expressions)
        )

    def compared(self, node: exp.Expr) -> Expression:
        """A value; several in brackets are a struct, whose fields go by their places."""
        while isinstance(node, exp.Paren):
            uses(node, "this")
            node = node.this
        if not isinstance(node, exp.Tuple):
            return self.resolve(node)
        uses(node, "expressions")
        names = [f"col{place}" for place in range(1, len(node.expressions) + 1)]
        return struct(names, self.all(node.expressions))

    def like(self, node: exp.Like | exp.ILike) -> Expression:
        """`[NOT] LIKE`, with any, all and some of several patterns."""
        return self.liked(node, "\\")

    def escape(self, node: exp.Escape) -> Expression:
        """`LIKE … ESCAPE '…'`."""
        pattern, escape = node.this, node.expression
        if not isinstance(pattern, (exp.Like, exp.ILike)):
            raise ExpressionError("ESCAPE belongs to LIKE and ILIKE")
        if not isinstance(escape, exp.Literal):
            raise ExpressionError("ESCAPE takes a character, such as ESCAPE '!'")
        uses(pattern, "this", "expression", "negate")
        uses(escape, "this", "is_string")
        return self.liked(pattern, escape.name)

    def liked(self, node: exp.Expr, escape: str) -> Expression:
        """LIKE or ILIKE with an escape character."""
        name = "ilike" if isinstance(node, exp.ILike) else "like"
        text, pattern = self.resolve(node.this), node.expression
        if isinstance(pattern, (exp.Any, exp.All)):
            uses(pattern, "this")
            uses(pattern.this, "this", "expressions")
            options = pattern.this.expressions or [pattern.this.unnest()]
            tests = [like(name, text, self.resolve(option), escape) for option in options]
            joined = tests[0]
            for test in tests[1:]:
                operator = "or" if isinstance(pattern, exp.Any) else "and"
                joined = operators.logical(operator, joined, test)
        else:
            joined = like(name, text, self.resolve(pattern), escape)
        return operators.logical("not", joined) if node.args.get("negate") else joined

    def case(self, node: exp.Case) -> Expression:
        """Both forms of CASE."""
        subject = None if node.this is None else self.resolve(node.this)
        branches = []
        for branch in node.args["ifs"]:
            uses(branch, "this", "true")
            when = self.resolve(branch.this)
            if subject is not None:
                when = operators.compare("equal", subject, when)
            branches.append((when, self.resolve(branch.args["true"])))
        default = node.args.get("default")
        otherwise = operators.NULL if default is None else self.resolve(default)
        return operators.case(tuple(branches), otherwise)

    def if_(self, node: exp.If) -> Expression:
        """`if(condition, then, otherwise)`."""
        parts = (node.this, node.args.get("true"), node.args.get("false"))
        if None in parts:
            raise ExpressionError("if takes 3 arguments")
        return choose(self.all(list(cast("tuple[exp.Expr, ...]", parts))))

    # Functions

    def function(self, node: exp.Anonymous) -> Expression:
        """A function by its name."""
        name, nodes = str(node.this).lower(), node.expressions
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
        if name not in FUNCTIONS:
            near = get_close_matches(name, [*FUNCTIONS, *AGGREGATES], n=1, cutoff=0.75)
            hint = f"; did you mean {near[0]}?" if near else ""
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

    def variable(self, node: exp.Identifier) -> Expression:
        """A parameter of the function around it."""
        uses(node, "this", "quoted")
        return self.variables[node.name.lower()]

    def unit_function(self, name: str, nodes: list[exp.Expr]) -> Expression:
        """`timestampadd(HOUR, 1, ts)` and its like, whose first argument is a unit of time."""
        uses(nodes[0], "this", "is_string")
        unit = UNITS.get(nodes[0].name.upper())
        if unit is None:
            raise ExpressionError(f"{name}: {nodes[0].name} is not a unit of time")
        first, second = self.resolve(nodes[1]), self.resolve(nodes[2])
        adds = name in ("timestampadd", "dateadd", "date_add")
        return (timestamp_add if adds else timestamp_diff)(unit, first, second)

    def make_struct(self, nodes: list[exp.Expr]) -> Expression:
        """`struct(a, b AS c)`: fields have the names of columns or aliases, else col1, col2, …"""
        for node in nodes:
            if isinstance(node, exp.Alias):
                uses(node, "this", "alias")
        names = [
            node.alias_or_name
            if isinstance(node, (exp.Alias, exp.Column, exp.Dot, exp.Identifier))
            else f"col{place}"
            for place, node in enumerate(nodes, start=1)
        ]
        return struct(names, self.all([node.unalias() for node in nodes]))

    def aggregate(
        self, node: exp.Expr, filtered: exp.Expr | None = None, ignore_nulls: bool = False
    ) -> Expression:
        """An aggregate function, with DISTINCT, FILTER and IGNORE NULLS."""
        if not isinstance(node, _AGGREGATES):
            raise ExpressionError(f"{node.sql('spark')} is not an aggregate function")
        uses(node, *_METHODS[type(node)][1:])
        if isinstance(node, exp.IgnoreNulls):
            return self.aggregate(node.this, filtered, ignore_nulls=True)
        if isinstance(node, exp.RespectNulls):
            return self.aggregate(node.this, filtered, ignore_nulls)
        if isinstance(node, exp.WithinGroup):
            return self.within_group(node, filtered)
        name = str(node.this).lower() if isinstance(node, exp.Anonymous) else "any"
        if name not in AGGREGATES:
            raise ExpressionError(f"{node.sql('spark')} is not an aggregate function")
        nodes = node.expressions if isinstance(node, exp.Anonymous) else [node.this]
        distinct = bool(nodes) and isinstance(nodes[0], exp.Distinct)
        if distinct:
            uses(nodes[0], "expressions")
            nodes = nodes[0].expressions
        star = bool(nodes) and isinstance(nodes[0], exp.Star)
        if star:
            uses(nodes[0])
        args = () if star else self.all(nodes)
        if star and distinct:  # rows in which no column is null
            schema = self.schema
            args = tuple(Column(schema.key(each), each.type, each.qualifier) for each in schema)
        if not args and not nodes:
            raise ExpressionError(f"{name} takes at least 1 argument, or * to count rows")
        where = None if filtered is None else self.resolve(filtered)
        return aggregate_value(name, args, distinct, where, ignore_nulls)

    def within_group(self, node: exp.WithinGroup, filtered: exp.Expr | None) -> Expression:
        """`percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`; so are listagg and mode written."""
        call, ordered = node.this, node.expression.expressions
        name = str(call.this).lower()
        uses(call, "this", "expressions")
        uses(node.expression, "expressions")
        where = None if filtered is None else self.resolve(filtered)
        order: list[tuple[Expression, bool, bool]] = []
        for each in ordered:
            uses(each, "this", "desc", "nulls_first")
            descending = bool(each.args.get("desc"))
            order.append((self.resolve(each.this), descending, bool(each.args.get("nulls_first"))))
        nodes = call.expressions
        distinct = bool(nodes) and isinstance(nodes[0], exp.Distinct)
        if distinct:
            uses(nodes[0], "expressions")
            nodes = [*nodes[0].expressions, *nodes[1:]]
        return ordered_aggregate(name, self.all(nodes), order, distinct, where)

    def filter_(self, node: exp.Filter) -> Expression:
        """`aggregate(…) FILTER (WHERE condition)`."""
        uses(node.expression, "this")
        return self.aggregate(node.this, node.expression.this)

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


_AGGREGATES = (exp.Anonymous, exp.Any, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
_NO_PARENTHESES = (
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.Localtimestamp,
    exp.CurrentUser,
)


_BY_DIALECT = ("typed", "safe")
"""Arguments of a division that come from the dialect and not from the text."""

_BINARY: dict[type, tuple[Callable[[str, Expression, Expression], Expression], str]] = {
    exp.Add: (operators.arithmetic, "add"),
    exp.Sub: (operators.arithmetic, "subtract"),
    exp.Mul: (operators.arithmetic, "multiply"),
    exp.Div: (operators.arithmetic, "divide"),
    exp.Mod: (operators.arithmetic, "remainder"),
    exp.IntDiv: (operators.arithmetic, "integral_divide"),
    exp.EQ: (operators.compare, "equal"),
    exp.NEQ: (operators.compare, "not_equal"),
    exp.LT: (operators.compare, "less"),
    exp.LTE: (operators.compare, "less_equal"),
    exp.GT: (operators.compare, "greater"),
    exp.GTE: (operators.compare, "greater_equal"),
    exp.NullSafeEQ: (operators.compare, "null_safe_equal"),
    exp.And: (operators.logical, "and"),
    exp.Or: (operators.logical, "or"),
    exp.BitwiseAnd: (operators.bitwise, "bitwise_and"),
    exp.BitwiseOr: (operators.bitwise, "bitwise_or"),
    exp.BitwiseXor: (operators.bitwise, "bitwise_xor"),
    exp.BitwiseLeftShift: (lambda _, a, b: FUNCTIONS["shiftleft"]((a, b)), ""),
    exp.BitwiseRightShift: (lambda _, a, b: FUNCTIONS["shiftright"]((a, b)), ""),
    exp.DPipe: (lambda _, a, b: concat((a, b)), ""),
    exp.RegexpLike: (lambda _, a, b: FUNCTIONS["rlike"]((a, b)), ""),
}

_METHODS: dict[type, tuple[Any, ...]] = {
    exp.Column: ("column", "this", "table", "db", "catalog"),
    exp.Identifier: ("variable", "this", "quoted"),
    exp.Star: ("star",),
    exp.Dot: ("dot", "this", "expression"),
    exp.Bracket: ("bracket", "this", "expressions"),
    exp.Paren: ("paren", "this"),
    exp.Tuple: ("tuple_", "expressions"),
    exp.Alias: ("alias", "this", "alias"),
    exp.Literal: (literal, "this", "is_string"),
    exp.RawString: (raw_text, "this"),
    exp.HexString: (hex_string, "this"),
    exp.Boolean: (boolean, "this"),
    exp.Null: (null,),
    exp.Concat: ("concatenated", "expressions", "safe", "coalesce"),
    exp.Interval: (interval, "this", "unit"),
    exp.Neg: ("negative", "this"),
    exp.Cast: ("cast", "this", "to", "safe"),
    exp.TryCast: ("cast", "this", "to", "safe"),
    exp.Not: ("not_", "this"),
    exp.Is: ("is_", "this", "expression"),
    exp.NullSafeNEQ: ("distinct_from", "this", "expression"),
    exp.Between: ("between", "this", "low", "high", "symmetric"),
    exp.In: ("in_", "this", "expressions", "query", "unnest"),
    exp.Like: ("like", "this", "expression", "negate"),
    exp.ILike: ("like", "this", "expression", "negate"),
    exp.Escape: ("escape", "this", "expression"),
    exp.Case: ("case", "this", "ifs", "default"),
    exp.If: ("if_", "this", "true", "false"),
    exp.Anonymous: ("function", "this", "expressions"),
    exp.Any: ("aggregate", "this"),
    exp.Filter: ("filter_", "this", "expression"),
    exp.IgnoreNulls: ("aggregate", "this"),
    exp.RespectNulls: ("aggregate", "this"),
    exp.WithinGroup: ("aggregate", "this", "expression"),
    exp.Substring: ("substring", "this", "start", "length"),
    exp.Trim: ("trim", "this", "expression", "position"),
    exp.Overlay: ("overlay", "this", "expression", "from_", "for_"),
    exp.StrPosition: ("position", "this", "substr", "position"),
    exp.Extract: ("extract", "this", "expression"),
    exp.BitwiseNot: ("bitwise_not", "this"),
    OfMatch: ("of_match", "this", "final"),
}
"""How each kind of node is resolved, by a method or as a constant, and which of its arguments that
uses."""

_CHAINED = frozenset(_BINARY) | {
    exp.Paren,
    exp.Dot,
    exp.Bracket,
    exp.Neg,
    exp.Cast,
    exp.TryCast,
    exp.Not,
    exp.Is,
    exp.NullSafeNEQ,
    exp.Between,
    exp.In,
    exp.Like,
    exp.ILike,
}
"""What resolves its first operand before anything else."""


def _is_chained(operand: Any) -> bool:
    return type(operand) in _CHAINED and not _is_suffixed(operand)


def _is_suffixed(node: Any) -> bool:
    """Is it a number with a suffix, which is one constant with the sign before it?"""
    return isinstance(node, exp.TryCast) and has_suffix(node)
