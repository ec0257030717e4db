"""How each kind of node of the syntax tree is resolved, and which of its arguments that uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from driftline.plan.constants import (
    boolean,
    has_suffix,
    hex_string,
    interval,
    literal,
    null,
    raw_text,
)
from driftline.plan.dialect import InOrder, OfMatch
from driftline.plan.expressions import Expression
from driftline.plan.functions import FUNCTIONS, operators
from driftline.plan.functions.strings import concat

BY_DIALECT = ("typed", "safe")
"""Arguments of a division that come from the dialect and not from the text."""

BINARY: dict[type, tuple[Callable[[str, Expression, Expression], Expression], str]] = {
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

METHODS: dict[type, tuple[Any, ...]] = {
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
    exp.JSONExtract: ("variant_path", "this", "expression", "variant_extract", "requires_json"),
    exp.Collate: ("collate", "this", "expression"),
    exp.Overlay: ("overlay", "this", "expression", "from_", "for_"),
    exp.StrPosition: ("position", "this", "substr", "position"),
    exp.Extract: ("extract", "this", "expression"),
    exp.BitwiseNot: ("bitwise_not", "this"),
    InOrder: ("in_order", "this", "directions"),
    OfMatch: ("of_match", "this", "final"),
}
"""How each kind of node is resolved, by a method or as a constant, and which of its arguments that
uses."""

CHAINED = frozenset(BINARY) | {
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


def is_chained(operand: Any) -> bool:
    return type(operand) in CHAINED and not is_suffixed(operand)


def is_suffixed(node: Any) -> bool:
    """Is it a number with a suffix, which is one constant with the sign before it?"""
    return isinstance(node, exp.TryCast) and has_suffix(node)
