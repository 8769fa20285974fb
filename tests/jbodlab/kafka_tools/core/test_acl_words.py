"""Which options of kafka-acls go together."""

from __future__ import annotations

import shlex

import pytest

from jbodlab.kafka_tools.core.acl_words import (
    OPTIONS,
    check_words,
    entries,
    entries_to_add,
    pattern_text,
    patterns,
    principals,
)
from jbodlab.kafka_tools.core.failures import ToolFailure, UsageFailure
from jbodlab.kafka_tools.core.options import Words, read_words

ALICE = "--allow-principal User:alice"


def words(line: str) -> Words:
    return read_words(shlex.split(f"--bootstrap-server b:1 {line}"), OPTIONS)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--topic foo", "exactly one action"),
        ("--add --list", "exactly one action"),
        (f"--list {ALICE}", "can't be used with option"),
        ("--add --producer --topic t --operation Read", "can't be used with option"),
        ("--add --principal User:a", "only available if --list is set"),
        ("--add --producer", "With --producer you must specify a --topic"),
        ("--add --idempotent --topic t", "only available if --producer is set"),
        ("--add --consumer --topic t", "With --consumer you must specify"),
        ("--add --consumer --topic t --group g --cluster", "With --consumer you must specify"),
    ],
)
def test_what_does_not_go_together_is_refused_in_kafkas_words(line: str, text: str) -> None:
    with pytest.raises(UsageFailure, match=text):
        check_words(words(line))
    with pytest.raises(UsageFailure, match="--bootstrap-server"):
        check_words(read_words(["--list"], OPTIONS))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (ALICE, "at least one resource"),
        ("--topic foo", "--allow-principal, --deny-principal"),
        (f"--topic foo --resource-pattern-type any {ALICE}", "'ANY' is not valid when adding"),
        (f"--topic foo --resource-pattern-type some {ALICE}", "Cannot parse argument 'some'"),
        (f"--topic foo --operation ClusterAction {ALICE}", "TOPIC only supports operations READ"),
        (f"--topic foo --operation read {ALICE}", "TOPIC only supports operations READ"),
    ],
)
def test_what_cannot_be_added_is_refused(line: str, text: str) -> None:
    with pytest.raises(UsageFailure, match=text):
        entries_to_add(words(f"--add {line}"))


def test_a_consumer_that_produces_has_both_on_its_topics() -> None:
    both = words(f"--add --producer --consumer --topic foo --group g {ALICE}")
    assert check_words(both) == "add"
    found = {
        pattern_text(pattern): sorted(each.operation.name for each in of_pattern)
        for pattern, of_pattern in entries(both).items()
    }
    assert found == {
        "ResourcePattern(resourceType=TOPIC, name=foo, patternType=LITERAL)": [
            *("CREATE", "DESCRIBE", "READ", "WRITE")
        ],
        "ResourcePattern(resourceType=GROUP, name=g, patternType=LITERAL)": ["READ"],
    }


def test_the_cluster_is_no_resource_of_a_prefix_and_a_principal_has_a_type() -> None:
    prefixed = words("--list --cluster --resource-pattern-type prefixed")
    assert patterns(prefixed, must_be_some=False) == []
    with pytest.raises(ToolFailure, match="principalType:principalName but got alice"):
        principals(words("--list --principal alice"), "principal")
