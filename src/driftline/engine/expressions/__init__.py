r"""Expressions evaluated over Arrow columns, with Spark SQL's meaning.

One module for each family of functions; importing this package makes all of them known.

    evaluator          an expression over a batch;  registry: which function evaluates what
    frames             the columns an expression reads;  higher_order: functions of functions
    arithmetic, mathematics, decimals, comparison, conditionals
    strings            with characters and patterns (LIKE, regular expressions; java_patterns)
    bytes_and_texts    UTF-8, base 32, keyed hashes;  urls: parse_url;  hashes: hash, xxhash64
    sentences          words of texts
    bitmaps            of 32,768 bits;  ciphers: AES
    encodings          texts as bytes, codes and JSON;  formats: texts put together and taken apart
    datetimes          with datetime_fields, datetime_patterns and timezones;  times: TIME
    collections        lists, maps and structs;  sequences: sequence(…);  json_texts: JSON;
                       json_values: from_json
    csv_values         from_csv, to_csv;  decimal_patterns: format_number by a pattern
    number_formats     to_number, to_char;  vectors: arrays of floats
    variants           values of any shape
    sketches           summaries of many values, as bytes
    xpaths             paths in XML;  xml_values: from_xml, to_xml
    casts, text_casts  CAST;  literals: constants as columns
    arrays             between Arrow and NumPy;  lists: taken apart and put together again
    sets               arrays as sets: which of their items are equal
    expansion          how large a result may grow;  errors: a row whose value cannot be computed

Spark's meaning is that of Spark 4.3 in ANSI mode with the time zone UTC, evaluated as written:
Spark's optimiser may leave out a part that would fail, or (for the first argument of nullif)
evaluate one that is not needed; this does neither. Known differences:
- transcendental functions (exp, ln, sin, power, …) may differ in the last digit;
- a few FLOATs and DOUBLEs become texts with other digits in Java before 19 than are needed to name
  them;
- a time without a date, `now`, `today` and the like are malformed, because they depend on when
  they are read, and so are zones by their old three-letter names (PST);
- an INTERVAL does not remember its fields: all are DAY TO SECOND, which have no text, or YEAR TO
  MONTH, which have one; none is cast to a number or from a text;
- of regular expressions \G, \X, (?U) and named classes other than \p{Alpha} and its like and the
  categories of Unicode (\p{L}, \pN) are refused, and nothing matches inside of one character, as it
  does for Spark between the halves of one beyond U+FFFF;
- format_string writes DECIMALs by %f and %e, too, which Spark refuses; it has no # for them;
- rows of several values are IN a list whose rows have other, comparable types (an untyped NULL,
  another integer), which Spark refuses;
- sentences that have no words, such as … after a period, may be cut in other places, and those of
  Thai are refused;
- from_xml takes _corrupt_record in any place among the fields: Spark gives the others wrong values
  if it is not the last;
- min and max give 0.0 for -0.0, as docs/sql.md explains.
"""

from driftline.engine.expressions import (
    arithmetic,
    bitmaps,
    bytes_and_texts,
    ciphers,
    collections,
    comparison,
    conditionals,
    csv_values,
    datetime_fields,
    datetime_patterns,
    datetimes,
    encodings,
    formats,
    hashes,
    json_texts,
    json_values,
    maps,
    mathematics,
    number_formats,
    patterns,
    sentences,
    sequences,
    sets,
    sketches,
    strings,
    times,
    timezones,
    urls,
    variants,
    vectors,
    xml_values,
    xpaths,
)
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.evaluator import evaluate, evaluate_predicate

__all__ = [
    "EvaluationError",
    "arithmetic",
    "bitmaps",
    "bytes_and_texts",
    "ciphers",
    "collections",
    "comparison",
    "conditionals",
    "csv_values",
    "datetime_fields",
    "datetime_patterns",
    "datetimes",
    "encodings",
    "evaluate",
    "evaluate_predicate",
    "formats",
    "hashes",
    "json_texts",
    "json_values",
    "maps",
    "mathematics",
    "number_formats",
    "patterns",
    "sentences",
    "sequences",
    "sets",
    "sketches",
    "strings",
    "times",
    "timezones",
    "urls",
    "variants",
    "vectors",
    "xml_values",
    "xpaths",
]
