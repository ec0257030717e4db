"""The functions of SQL: which there are, what they take, and the types they give.

base           the registry, and the shapes of signatures
operators      + - * / and comparisons;  conditionals: CASE, coalesce, nullif
mathematics, strings, encodings, dates, times, intervals, months, collections
calendar       make_interval;  ciphers: aes_encrypt
json_types     from_json, schema_of_json;  csv_types: from_csv, to_csv
numbers        to_number, to_char;  vectors: arrays of floats
variants       of VARIANT;  xml: xpath and its like;  xml_types: from_xml
aggregates     count, sum, avg …;  sketches: theta_sketch_agg …
higher_order   functions that take functions: transform, filter, aggregate …
rewritten      functions that are written with other functions
"""

from driftline.plan.functions import (
    calendar,
    ciphers,
    collections,
    conditionals,
    csv_types,
    dates,
    encodings,
    json_types,
    mathematics,
    months,
    numbers,
    operators,
    sketches,
    strings,
    times,
    variants,
    vectors,
    xml,
    xml_types,
)
from driftline.plan.functions.aggregates import AGGREGATES, aggregate
from driftline.plan.functions.base import FUNCTIONS
from driftline.plan.functions.rewritten import aggregate_value, ordered_aggregate

__all__ = [
    "AGGREGATES",
    "FUNCTIONS",
    "aggregate",
    "aggregate_value",
    "calendar",
    "ciphers",
    "collections",
    "conditionals",
    "csv_types",
    "dates",
    "encodings",
    "json_types",
    "mathematics",
    "months",
    "numbers",
    "operators",
    "ordered_aggregate",
    "sketches",
    "strings",
    "times",
    "variants",
    "vectors",
    "xml",
    "xml_types",
]
