"""Names and constants: columns, parameters, fields, signs and casts."""

from __future__ import annotations

from sqlglot import exp

from driftline.plan.constants import has_suffix, suffixed_literal, typed_literal
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Cast, Expression, Literal
from driftline.plan.functions import FUNCTIONS, operators
from driftline.plan.functions.base import cast_to
from driftline.plan.functions.collections import field, item, struct
from driftline.plan.functions.strings import concat
from driftline.plan.functions.variants import cast_variant
from driftline.plan.literals import number_literal
from driftline.plan.names import find_column
from driftline.plan.resolver.base import Resolving
from driftline.plan.resolver.syntax import is_suffixed
from driftline.plan.types import INTERVAL_MONTHS, STRING, VARIANT, VOID, type_of
from driftline.plan.used import uses, uses_all


class Names(Resolving):
    """What names and constants mean."""

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
        if isinstance(node.expression, exp.Func):
            call = node.expression.sql("spark")
            raise ExpressionError(f"a function has no name before it: {call}")
        return field(self.resolve(node.this), node.expression.name)

    def bracket(self, node: exp.Bracket) -> Expression:
        """`value[index]`, and ARRAY[a, b] and MAP[k, v] as other engines write them."""
        name = self.constructor(node.this)
        if name:
            uses_all(node.this)
            return FUNCTIONS[name](self.all(node.expressions))
        if isinstance(node.this, exp.Bracket) and self.constructor(node.this.this) == "array":
            raise ExpressionError(
                "ARRAY[…][i] counts from 1 elsewhere, and [i] from 0 here: write "
                "element_at(ARRAY[…], i), from 1"
            )
        if len(node.expressions) != 1:
            raise ExpressionError("[ ] takes one index")
        value, index = self.resolve(node.this), self.resolve(node.expressions[0])
        if value.type == VARIANT and isinstance(index, Literal) and index.type == STRING:
            return self.part_of_variant(value, str(index.value))
        return item(value, index)

    def part_of_variant(self, value: Expression, name: str) -> Expression:
        """`variant['name']`: a field of an object, or null."""
        if "'" in name:
            raise ExpressionError(f"a path cannot have the name {name!r}: it has a quotation mark")
        path = Literal(f"$['{name}']", STRING)
        return FUNCTIONS["variant_get"]((value, path, Literal("variant", STRING)))

    def constructor(self, node: exp.Expr) -> str:
        """The word ARRAY or MAP, if no column has that name."""
        name = node.name.lower() if isinstance(node, exp.Column) and len(node.parts) == 1 else ""
        is_word = name in ("array", "map") and not node.this.args.get("quoted")
        return "" if not is_word or self.schema.find(name) or name in self.variables else name

    def paren(self, node: exp.Paren) -> Expression:
        """`( value )`."""
        return self.resolve(node.this)

    def tuple_(self, node: exp.Tuple) -> Expression:
        """`(a, b)`, a struct."""
        return self.make_struct(node.expressions)

    def alias(self, node: exp.Alias) -> Expression:
        """A name has its place in a select list, and in struct( )."""
        raise ExpressionError(f"a name (AS {node.alias}) cannot be given inside an expression")

    def variable(self, node: exp.Identifier) -> Expression:
        """A parameter of the function around it."""
        uses(node, "this", "quoted")
        return self.variables[node.name.lower()]

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
        if is_suffixed(number):
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
        if VARIANT in (value.type, kind) and value.type not in (kind, VOID):
            return cast_variant(value, kind, lenient=bool(node.args.get("safe")))
        if node.args.get("safe"):
            cast_to(value, kind)
            return Cast(value, kind, lenient=True) if value.type != kind else value
        checked = cast_to(value, kind)
        is_null = isinstance(value, Literal) and value.value is None
        return checked if is_null or value.type == kind else Cast(value, kind)
