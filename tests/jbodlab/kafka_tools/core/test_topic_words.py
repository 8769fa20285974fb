"""The command line of kafka-topics."""

from __future__ import annotations

import shlex

import pytest

from jbodlab.kafka_tools.core.failures import ToolFailure, UsageFailure
from jbodlab.kafka_tools.core.options import Words, read_words
from jbodlab.kafka_tools.core.topic_words import (
    OPTIONS,
    check_counts,
    check_found,
    check_words,
    chosen_topics,
    parse_assignment,
    topic_id_of,
    wanted_topic,
    warning_for,
)


def words(line: str) -> Words:
    return read_words(shlex.split(f"--bootstrap-server a:1 {line}"), OPTIONS)


def no(used: str, other: str) -> str:
    return f'Option "[{used}]" can\'t be used with option "[{other}]"'


@pytest.mark.parametrize(
    ("line", "result"),
    [
        ("--list", "list"),
        ("--describe --under-replicated-partitions --unavailable-partitions", "describe"),
        ("--create --topic t --replica-assignment 1:2", "create"),
        ("--alter --topic t --partitions 3 --replica-assignment 1:2", "alter"),
        ("--create --topic t --partitions 3 --config a=b --if-not-exists", "create"),
        (
            "--list --describe",
            "Command must include exactly one action: --list, --describe, --create, --alter or "
            "--delete",
        ),
        ("--create", 'Missing required argument "[topic]"'),
        ("--alter --topic t", 'Missing required argument "[partitions]"'),
        (
            "--alter --topic t --config a=b --partitions 1",
            'Option combination "[[bootstrap-server], [config]]" can\'t be used with option '
            '"[alter]" (the kafka-configs CLI supports altering topic configs with a '
            "--bootstrap-server option)",
        ),
        ("--describe --partitions 2", no("partitions", "describe")),
        ("--describe --config a=b", no("config", "describe")),
        ("--describe --delete-config a", no("delete-config", "describe")),
        ("--delete --topic t --replication-factor 1", no("replication-factor", "delete")),
        (
            "--create --topic t --replica-assignment 1 --partitions 1",
            no("replica-assignment", "partitions"),
        ),
        ("--list --unavailable-partitions", no("unavailable-partitions", "list")),
        (
            "--describe --topics-with-overrides --at-min-isr-partitions",
            no("at-min-isr-partitions", "topics-with-overrides"),
        ),
        ("--create --topic t --if-exists", no("if-exists", "create")),
        ("--delete --topic t --if-not-exists", no("if-not-exists", "delete")),
        ("--delete --topic t --exclude-internal", no("exclude-internal", "delete")),
    ],
)
def test_options_go_with_their_actions(line: str, result: str):
    try:
        found = check_words(words(line))
    except UsageFailure as failure:
        found = str(failure)
    assert found == result


def test_someone_must_be_asked():
    with pytest.raises(ToolFailure, match="--bootstrap-server must be specified"):
        check_words(read_words(["--list"], OPTIONS))


def test_a_topic_is_described_by_its_options():
    topic = wanted_topic(words("--partitions 3 --config a=b --config 'c = d' --replica-a 1:2,2:3"))
    assert (topic.partitions, topic.replication_factor) == (3, None)
    assert (topic.configs, topic.assignment) == ({"a": "b", "c": "d"}, ((1, 2), (2, 3)))
    with pytest.raises(ToolFailure, match='must be in the format "key=val"'):
        wanted_topic(words("--config a"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--partitions 0", "The partitions must be greater than 0"),
        ("--replication-factor 0", "between 1 and 32767 inclusive"),
        ("--replication-factor 32768", "between 1 and 32767 inclusive"),
    ],
)
def test_counts_have_bounds(line: str, message: str):
    check_counts(wanted_topic(words("--partitions 1 --replication-factor 1")))
    with pytest.raises(ToolFailure, match=message):
        check_counts(wanted_topic(words(line)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1:2,2", r"Partition 1 has different replication factor: \[2\]"),
        ("1:1", "Partition replica lists may not contain duplicate entries: 1"),
        ("1:z", 'For input string: "z"'),
    ],
)
def test_assignments_are_even(text: str, message: str):
    with pytest.raises(ToolFailure, match=message):
        parse_assignment(text)


def test_topics_are_chosen_by_expressions():
    topics = ["a", "ab", "b", "__consumer_offsets"]

    def chosen(pattern: str | None, *, excludes_internal: bool = False) -> list[str]:
        return chosen_topics(topics, pattern, excludes_internal=excludes_internal)

    assert chosen("a") == ["a"]
    assert chosen("a, 'b'") == ["a"]
    assert chosen('"a,b"') == ["a", "b"]
    assert chosen("a.*") == ["a", "ab"]
    assert chosen(None, excludes_internal=True) == ["a", "ab", "b"]
    with pytest.raises(ToolFailure, match=r"\* is an invalid regex\."):
        chosen("*")


def test_what_is_not_found_is_missed_unless_that_is_all_right():
    check_found(["t"], "Topic", "t", words("--delete"))
    check_found([], "Topic", "t", words("--delete --if-exists"))
    check_found([], "Topic", None, words("--list"))
    with pytest.raises(ToolFailure, match="Topic 't' does not exist as expected"):
        check_found([], "Topic", "t", words("--delete"))


def test_names_that_metrics_mix_up_are_warned_of():
    assert (warning_for("a.b") or "").startswith("WARNING: Due to limitations in metric names")
    assert warning_for("a_b")
    assert warning_for("a-b") is None


def test_a_topic_id_may_be_padded():
    assert topic_id_of("AAAAAAAAAAAAAAAAAAAABA") == bytes([*[0] * 15, 4])
    assert topic_id_of("AAAAAAAAAAAAAAAAAAAABA==") == bytes([*[0] * 15, 4])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("zz", "Input string `zz` decoded as 1 bytes, which is not equal to the expected 16 bytes"),
        ("x" * 25, f"Input string with prefix `{'x' * 24}` is too long to be decoded as a base64"),
        ("zz*z", "Illegal base64 character 2a"),
        ("zzzzz", "Last unit does not have enough valid bits"),
    ],
)
def test_what_is_no_topic_id_is_told_in_kafkas_words(text: str, told: str):
    with pytest.raises(ToolFailure) as raised:
        topic_id_of(text)
    assert raised.value.message.startswith(told)
