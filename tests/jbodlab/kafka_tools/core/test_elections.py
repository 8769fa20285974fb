"""Elections: options, files, words."""

from __future__ import annotations

import json
import shlex

import pytest

from jbodlab.kafka_tools.core.elections import (
    OPTIONS,
    ElectionType,
    NotElected,
    check_words,
    describe_results,
    election_type,
    failures,
    parse_partitions,
)
from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.options import read_words
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

BASE = "--bootstrap-server a:1 --election-type preferred"
ONE_OF = (
    "One and only one of the following options is required: topic, all-topic-partitions, "
    "path-to-json-file"
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--topic t", "Missing required option(s): bootstrap-server, election-type"),
        ("--bootstrap-server a:1", "Missing required option(s): election-type"),
        (BASE, ONE_OF),
        (f"{BASE} --topic t --all-topic-partitions", ONE_OF),
        (f"{BASE} --topic t", "Missing required option(s): partition"),
        (f"{BASE} --all --partition 1", "Option partition is only allowed if topic is used"),
    ],
)
def test_options_go_together(line: str, message: str):
    with pytest.raises(ToolFailure) as caught:
        check_words(read_words(shlex.split(line), OPTIONS))
    assert caught.value.message == message
    check_words(read_words(shlex.split(f"{BASE} --topic t --partition 1"), OPTIONS))


def test_types_have_names_in_any_case():
    assert election_type("PreFerred") is ElectionType.PREFERRED
    with pytest.raises(ToolFailure, match="Cannot parse argument 'x' of option election-type"):
        election_type("x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Replica election data is empty"),
        ("{", "Replica election data is empty"),
        ("{}", 'Replica election data is missing "partitions" field'),
        (
            json.dumps({"partitions": [{"topic": "a", "partition": 1}] * 2}),
            "Replica election data contains duplicate partitions: [a-1]",
        ),
        (
            "[]",
            "com.fasterxml.jackson.databind.JsonMappingException: Expected JSON object, received "
            "[]",
        ),
    ],
)
def test_a_file_without_sense_is_refused(text: str, message: str):
    with pytest.raises(ToolFailure) as caught:
        parse_partitions(text)
    assert caught.value.message == message


def test_a_file_names_partitions():
    text = json.dumps({"partitions": [{"topic": "a", "partition": 1}]})
    assert parse_partitions(text) == [TopicPartition("a", 1)]


def test_results_are_told_by_kind():
    results = {
        TopicPartition("a", 2): None,
        TopicPartition("a", 1): None,
        TopicPartition("b", 0): KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "no need"),
        TopicPartition("c", 0): KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "gone"),
    }
    gone = "org.apache.kafka.common.errors.PreferredLeaderNotAvailableException: gone"
    assert describe_results(ElectionType.PREFERRED, results) == [
        "Successfully completed leader election (PREFERRED) for partitions a-1, a-2",
        "Valid replica already elected for partitions b-0",
        "Error completing leader election (PREFERRED) for partition: c-0: gone",
    ]
    assert describe_results(ElectionType.UNCLEAN, {}) == []
    failure = NotElected(list(failures(results).values()))
    assert failure.message == "1 replica(s) could not be elected"
    assert failure.trace()[1] == f"\tSuppressed: {gone}"
