"""Why functions of Spark SQL are refused here, and how those differ that do."""

from __future__ import annotations

_EACH_TIME = "another value each time: an answer must be the same when it is computed again"
_SESSION = "about a session of Spark, which a query here has none of"
_NO_NANOS = "times are microseconds"

REFUSED_CLASSES = {
    "st_funcs": "there are no types of geometry",
    "avro_funcs": "Avro is not read",
    "protobuf_funcs": "Protobuf is not read",
}
"""By Spark's class of functions."""


def _each(reason: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


REFUSED = {
    **_each(
        _EACH_TIME,
        "rand randn random uniform randstr shuffle uuid monotonically_increasing_id "
        "spark_partition_id current_date curdate current_timestamp current_time now "
        "localtimestamp localtime input_file_name input_file_block_length input_file_block_start",
    ),
    **_each(
        _SESSION,
        "current_path current_user session_user user version collations sql_keywords "
        "python_worker_logs",
    ),
    **_each("it would run Java", "java_method reflect try_reflect"),
    **_each(_NO_NANOS, "timestamp_nanos unix_nanos"),
    **_each("there are no metric views", "measure"),
}

_ORDER = "of several values that would do, the same whatever the order of arrival"
_BY_START = "in the order of the starts of lifetimes, and of rows with one start by their values"

DIFFERS = {
    **_each(_ORDER, "any_value first first_value last last_value mode"),
    **_each(_BY_START, "array_agg collect_list"),
    **_each(
        "counts are exact, and of equal ones the least item comes first",
        "approx_top_k approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate",
    ),
    **_each("there is one collation, UTF8_BINARY", "collate"),
    **_each("by GCM and CBC with an iv: without one it has another value each time", "aes_encrypt"),
    **_each("of equal gaps between bins the first is closed", "histogram_numeric"),
    **_each("with an argument: without one it reads the clock", "unix_timestamp"),
}
