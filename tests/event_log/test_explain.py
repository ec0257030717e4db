import pytest

from driftline.event_log.explain import ParsedLine, Refused, explain, parse_line
from driftline.model.columns import NO_CLOCK
from driftline.model.time import INFINITY


def test_an_insert() -> None:
    line = b'{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"a":[1]},"at":7}'
    assert parse_line(line) == ParsedLine("s", 0, 1, INFINITY, 0, 7, False, {"a": [1]})


def test_fields_that_a_kind_does_not_need_are_ignored() -> None:
    line = b'{"stream":"s","kind":"cti","t":"1970-01-01","vs":1.5,"row":7,"more":{}}'
    assert parse_line(line) == ParsedLine("s", 2, 0, 0, 0, NO_CLOCK, True, None)


def test_the_last_of_two_equal_keys_counts() -> None:
    assert parse_line(b'{"stream":"s","kind":"cti","t":1,"t":2}').vs == 2


@pytest.mark.parametrize(
    "line", [b'{"stream":"s","kind":"cti","t":null}', b'{"kind":"cti","stream":"s","t":1}  ']
)
def test_nothing_wrong(line: bytes) -> None:
    assert explain(line) is None


@pytest.mark.parametrize("value", ["9" * 39, "-" + "9" * 300])
def test_integers_beyond_38_digits(value: str) -> None:
    row = f'{{"stream":"s","kind":"insert","vs":1,"ve":2,"row":{{"o":{{"l":[{value}]}}}}}}'
    with pytest.raises(Refused, match=r'"o\.l\[\]" holds an integer of more than 38 digits'):
        parse_line(row.encode())
    cti = f'{{"stream":"s","kind":"cti","t":{value}}}'
    assert '"t" must lie between' in str(explain(cti.encode()))


def test_digits_in_a_string_are_no_integer() -> None:
    line = b'{"stream":"s","kind":"insert","vs":1,"ve":2,"row":{"a":"12345678901234567890123"}}'
    assert explain(line) is None


def test_a_row_that_is_nested_too_deep() -> None:
    row = b'{"a":' + b"[" * 100 + b"]" * 100 + b"}"
    line = b'{"stream":"s","kind":"insert","vs":1,"ve":2,"row":' + row + b"}"
    assert explain(line) == "the row is nested more than 64 deep"
