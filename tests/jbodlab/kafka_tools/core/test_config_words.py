"""The command line of kafka-configs."""

from __future__ import annotations

import shlex

import pytest

from jbodlab.kafka_tools.core.config_words import (
    OPTIONS,
    Entity,
    check_words,
    parse_changes,
    parse_settings,
)
from jbodlab.kafka_tools.core.failures import ToolFailure, UsageFailure
from jbodlab.kafka_tools.core.options import Words, read_words


def words(line: str) -> Words:
    return read_words(shlex.split(f"--bootstrap-server a:1 {line}"), OPTIONS)


@pytest.mark.parametrize(
    ("line", "entity"),
    [
        ("--entity-type topics --entity-name t", Entity("topics", "t")),
        ("--topic t", Entity("topics", "t")),
        ("--entity-type topics", Entity("topics", None)),
        ("--broker 1", Entity("brokers", "1")),
        ("--broker-defaults", Entity("brokers", "")),
        ("--entity-type brokers --entity-default", Entity("brokers", "")),
        ("--broker-logger 2", Entity("broker-loggers", "2")),
    ],
)
def test_settings_belong_to_someone(line: str, entity: Entity):
    assert check_words(words(f"--describe {line}")) == entity


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--describe", "At least one entity type must be specified"),
        (
            "--describe --entity-type x",
            "Invalid entity type x, the entity type must be one of topics, brokers, "
            "broker-loggers, groups, users, clients, ips",
        ),
        ("--describe --topic t --broker 1", "Only 'users' and 'clients' entity types may be"),
        (
            "--describe --topic t --entity-type topics",
            "Duplicate entity type(s) specified: topics",
        ),
        (
            "--describe --topic t --entity-name u",
            "--entity-{type,name,default} should not be used in conjunction",
        ),
        (
            "--describe --broker x",
            "The entity name for brokers must be a valid integer broker id, but it is: x",
        ),
        (
            "--describe --entity-type broker-loggers",
            "an entity name must be specified with --describe of broker-loggers",
        ),
        (
            "--alter --entity-type topics --add-config a=b",
            "an entity name must be specified with --alter of topics",
        ),
        (
            "--alter --entity-type brokers --add-config a=b",
            "an entity-name or default entity must be specified with --alter of users",
        ),
        (
            "--alter --topic t --add-config a=b --add-config-file f",
            "Only one of --add-config or --add-config-file must be specified",
        ),
        ("--alter --topic t", "At least one of --add-config, --add-config-file, or --delete"),
    ],
)
def test_a_command_without_sense_is_refused(line: str, message: str):
    with pytest.raises(ToolFailure) as caught:
        check_words(words(line))
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--topic t", "Command must include exactly one action: --describe, --alter"),
        (
            "--describe --topic t --add-config a=b",
            'Option "[describe]" can\'t be used with option "[add-config]"',
        ),
    ],
)
def test_actions_have_their_own_options(line: str, message: str):
    with pytest.raises(UsageFailure) as caught:
        check_words(words(line))
    assert str(caught.value) == message


def test_brackets_hold_commas_together():
    assert parse_settings("a=1, b = [x,y=z] ,c=,a=2") == {"a": "2", "b": "x,y=z", "c": ""}
    assert parse_settings("") == {}
    assert parse_settings("a=1,") == {"a": "1"}
    with pytest.raises(ToolFailure, match='must be in the format "key=val"'):
        parse_settings("a=1,b")


def test_changes_come_from_options_and_files():
    changes = parse_changes(words("--delete-config a,b --delete-config ' b' --add-config c=1"), {})
    assert (changes.added, changes.deleted) == ({"c": "1"}, ("a", "b"))
    assert parse_changes(words("--add-config-file f"), {"d": "[1]"}).added == {"d": "[1]"}
