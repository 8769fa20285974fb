"""Fields of JSON files are what they should be, or it is said what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.json_fields import (
    as_integer,
    as_list,
    as_object,
    as_text,
    duplicates,
    field_of,
    parse,
)


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (as_object, [1], "Expected JSON object, received [1]"),
        (as_list, {"a": 1}, 'Expected JSON array, received {"a":1}'),
        (as_integer, "a", 'Expected `Integer` value, received "a"'),
        (as_integer, True, "Expected `Integer` value, received true"),
        (as_integer, 1 << 31, "Expected `Integer` value, received 2147483648"),
        (as_text, 1, "Expected `String` value, received 1"),
    ],
)
def test_what_is_something_else_is_refused(read: Callable[[Any], Any], value: Any, message: str):
    with pytest.raises(ToolFailure) as caught:
        read(value)
    assert caught.value.message == message


def test_what_is_right_is_returned():
    fields = as_object(parse('{"a":[1],"b":"x"}'))
    assert as_integer(as_list(field_of(fields, "a"))[0]) == 1
    assert as_text(field_of(fields, "b")) == "x"
    with pytest.raises(ToolFailure, match="No such field exists: `c`"):
        field_of(fields, "c")
    with pytest.raises(ToolFailure, match="shouldn't be empty"):
        parse(" ")


def test_duplicates_are_told_once_in_order():
    assert duplicates([3, 1, 3, 2, 1, 3]) == [3, 1]
