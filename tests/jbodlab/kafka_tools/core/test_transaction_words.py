"""The command line of kafka-transactions."""

from __future__ import annotations

import shlex

import pytest

from jbodlab.kafka_tools.core.failures import UsageFailure
from jbodlab.kafka_tools.core.options import Words, read_words
from jbodlab.kafka_tools.core.transaction_words import OPTIONS, check_words, unclear


def words(line: str) -> Words:
    return read_words(shlex.split(f"--bootstrap-server a:1 {line}"), OPTIONS)


@pytest.mark.parametrize(
    "line",
    [
        "list --duration-filter 5 --transactional-id-pattern a.*",
        "describe --transactional-id a",
        "describe-producers --topic a --partition 0 --broker-id 1",
        "abort --topic a --partition 0 --start-offset 5",
        "find-hanging --topic a",
        "forceTerminateTransaction --transactionalId a",
    ],
)
def test_each_command_takes_its_options(line: str):
    command = check_words(words(line))
    assert command == line.split(maxsplit=1)[0]
    assert unclear(command, words(line)) == ""


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", "too few arguments"),
        (
            "nope",
            "invalid choice: 'nope' (choose from 'list', 'describe', 'describe-producers', "
            "'abort', 'find-hanging', 'forceTerminateTransaction')",
        ),
        ("list more", "unrecognized arguments: 'more'"),
        ("list --topic a", "unrecognized arguments: '--topic'"),
        ("describe", "argument --transactional-id is required"),
        ("abort --topic a", "argument --partition is required"),
        ("forceTerminateTransaction", "argument --transactionalId is required"),
    ],
)
def test_what_makes_no_sense_is_refused(line: str, text: str):
    with pytest.raises(UsageFailure) as caught:
        check_words(words(line))
    assert str(caught.value) == text


def test_without_brokers_to_begin_with_nothing_is_done():
    with pytest.raises(UsageFailure, match="argument --bootstrap-server is required"):
        check_words(read_words(["list"], OPTIONS))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("find-hanging", "requires either --topic or --broker-id"),
        ("find-hanging --broker-id 1 --partition 0", "--partition argument requires --topic"),
        ("abort --topic a --partition 0", "identified either with --start-offset"),
        ("abort --topic a --partition 0 --producer-id 1", "argument --producer-epoch"),
        (
            "abort --topic a --partition 0 --producer-id 1 --producer-epoch 0",
            "argument --coordinator-epoch",
        ),
    ],
)
def test_what_is_not_narrow_enough_is_told(line: str, text: str):
    assert text in unclear(check_words(words(line)), words(line))
