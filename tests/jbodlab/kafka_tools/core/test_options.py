"""Command lines are read as Kafka's tools read them."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.options import Option, option_list, read_words

TABLE = (
    Option("topic", "A name.", "name"),
    Option("topic-id", "An id that is described in a few words more than fit on one line.", "id"),
    Option("partitions", "How many.", "count"),
    Option("list", "All."),
)


def test_values_follow_their_option_in_two_ways():
    words = read_words(["--topic", "a", "--partitions=3", "--list", "other"], TABLE)
    assert (words.value("topic"), words.number("partitions", -1)) == ("a", 3)
    assert words.has("list")
    assert not words.has("topic-id")
    assert words.number("topic-id", 7) == 7


def test_an_argument_may_be_left_out_where_the_table_says_so():
    table = (*TABLE, Option("state", "Of groups.", "names", is_bare_too=True))
    assert read_words(["--state", "empty", "--list"], table).value("state") == "empty"
    for line in (["--state", "--list"], ["--list", "--state"]):
        words = read_words(line, table)
        assert words.has("state")
        assert words.has("list")
        assert words.value("state") == ""
    assert "--state [names]" in option_list(table)


def test_names_may_be_shortened_while_they_are_clear():
    assert read_words(["--part", "3", "--l"], TABLE).given(["list", "partitions"]) == [
        "list",
        "partitions",
    ]
    assert read_words(["--topic", "a", "-list"], TABLE).given(["topic", "list"]) == [
        "topic",
        "list",
    ]
    with pytest.raises(ToolFailure, match="top is not a recognized option"):
        read_words(["--top", "a"], TABLE)
    with pytest.raises(ToolFailure, match="l is not a recognized option"):
        read_words(["-l"], TABLE)


def test_what_makes_no_sense_is_said():
    with pytest.raises(ToolFailure, match="nope is not a recognized option"):
        read_words(["--nope"], TABLE)
    with pytest.raises(ToolFailure, match="Option topic requires an argument"):
        read_words(["--topic"], TABLE)
    twice = read_words(["--topic", "a", "--topic", "b"], TABLE)
    assert twice.values("topic") == ["a", "b"]
    with pytest.raises(ToolFailure, match="Found multiple arguments for option topic"):
        twice.value("topic")
    with pytest.raises(ToolFailure, match="Cannot parse argument 'x' of option partitions"):
        read_words(["--partitions", "x"], TABLE).number("partitions", 1)
    with pytest.raises(ToolFailure, match="Cannot parse argument"):
        read_words(["--partitions", str(1 << 31)], TABLE).number("partitions", 1)
    assert read_words(["--partitions", str(1 << 31)], TABLE).number("partitions", 1, bits=64)


def test_options_end_at_two_dashes():
    assert not read_words(["--", "--list"], TABLE)


def test_the_list_of_options_fits_a_terminal():
    lines = option_list(TABLE).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line.startswith("--")] == [
        *("------", "--list", "--partitions", "--topic", "--topic-id"),
    ]
