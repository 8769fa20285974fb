"""SCRAM credentials: checked user by user, journaled, told to brokers, described without keys."""

from __future__ import annotations

import pytest

from controller.core.step import TELL_TIMEOUT_MS
from protocol.configs.messages import CHANGED_SCRAM_CREDENTIALS, SCRAM_CREDENTIALS
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    ListConfigResourcesRequest,
)
from protocol.messages.control import UpdateMetadataRequest
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)
from protocol.security.scram import credential_from_text, credential_of, salted_password
from tests.controller.core.cluster import Cluster, registered

SALT = b"0123456789abcdef"
SALTED = salted_password("SCRAM-SHA-256", "sesame", SALT, 4096)


@pytest.fixture
def cluster() -> Cluster:
    made = Cluster([record for broker in (1, 2) for record in registered(broker, broker)])
    made.take()
    return made


def put(name: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, salt=SALT, salted_password=SALTED
    )


def drop(name: str, mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=name, mechanism=mechanism)


def request(
    *changes: ScramCredentialUpsertion | ScramCredentialDeletion,
) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=[each for each in changes if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in changes if isinstance(each, ScramCredentialUpsertion)],
    )


def alter(
    cluster: Cluster, *changes: ScramCredentialUpsertion | ScramCredentialDeletion
) -> list[tuple[str, int, str | None]]:
    answer = cluster.call(request(*changes), 0)
    return [(each.user, each.error_code, each.error_message) for each in answer.results]


def described(cluster: Cluster, *users: str) -> list[tuple[str, int, list[tuple[int, int]]]]:
    asked = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users])
    return [
        (
            each.user,
            each.error_code,
            [(it.mechanism, it.iterations) for it in each.credential_infos],
        )
        for each in cluster.call(asked, 0).results
    ]


def test_a_credential_is_stored_told_to_every_broker_described_and_deleted(
    cluster: Cluster,
) -> None:
    assert alter(cluster, put("bob", 2, 8192), put("alice")) == [
        ("bob", 0, None),
        ("alice", 0, None),
    ]
    told = [
        broker_id
        for broker_id, requests in cluster.take().items()
        for each in requests
        if isinstance(each, UpdateMetadataRequest)
        and CHANGED_SCRAM_CREDENTIALS in [row.topic_name for row in each.topic_states]
    ]
    assert sorted(told) == [1, 2]
    assert described(cluster) == [("alice", 0, [(1, 4096)]), ("bob", 0, [(2, 8192)])]
    assert alter(cluster, drop("alice")) == [("alice", 0, None)]
    assert described(cluster) == [("bob", 0, [(2, 8192)])]


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (put(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (put("u", 3), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (put("u", 1, 4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (put("u", 1, 16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (
            drop("u"),
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        ),
    ],
)
def test_what_cannot_be_is_refused_beside_what_can(
    cluster: Cluster,
    change: ScramCredentialUpsertion | ScramCredentialDeletion,
    code: ErrorCode,
    message: str,
) -> None:
    assert alter(cluster, change, put("good")) == [("good", 0, None), (change.name, code, message)]
    assert described(cluster) == [("good", 0, [(1, 4096)])]


def test_a_user_who_is_altered_twice_is_not_altered_at_all(cluster: Cluster) -> None:
    alter(cluster, put("alice"))
    decisions = cluster.state.journal_number
    results = alter(cluster, drop("alice"), put("alice", 2), put("bob"), put("bob", 2), put("bob"))
    assert [(user, code) for user, code, _ in results] == [
        ("alice", ErrorCode.DUPLICATE_RESOURCE),
        ("bob", ErrorCode.DUPLICATE_RESOURCE),
    ]
    assert described(cluster) == [("alice", 0, [(1, 4096)])]
    assert cluster.state.journal_number == decisions


def test_a_user_who_is_unknown_or_named_twice_is_described_with_an_error(cluster: Cluster) -> None:
    alter(cluster, put("alice"))
    assert described(cluster, "alice", "bob", "alice") == [
        ("alice", ErrorCode.DUPLICATE_RESOURCE, []),
        ("bob", ErrorCode.RESOURCE_NOT_FOUND, []),
    ]


def test_a_user_who_is_described_has_an_empty_message_as_in_kafka(cluster: Cluster) -> None:
    alter(cluster, put("alice"))
    asked = DescribeUserScramCredentialsRequest(users=[UserName(name="alice")])
    assert [each.error_message for each in cluster.call(asked, 0).results] == [""]


def test_brokers_are_told_the_keys_that_follow_from_the_salted_password(cluster: Cluster) -> None:
    alter(cluster, put("alice"))
    listed = cluster.call(ListConfigResourcesRequest(resource_types=[SCRAM_CREDENTIALS]), 1)
    assert [each.resource_name for each in listed.config_resources] == ["alice"]
    asked = DescribeConfigsResource(resource_type=SCRAM_CREDENTIALS, resource_name="alice")
    (result,) = cluster.call(DescribeConfigsRequest(resources=[asked]), 4).results
    (entry,) = result.configs
    assert entry.name == "SCRAM-SHA-256"
    assert credential_from_text(entry.value) == credential_of("SCRAM-SHA-256", SALTED, SALT, 4096)


def test_the_answer_waits_for_a_broker_that_does_not_answer_but_not_for_ever(
    cluster: Cluster,
) -> None:
    cluster.held = [2]
    token = cluster.ask(request(put("alice")), 0)
    cluster.settle()
    assert token not in cluster.answers
    cluster.advance(TELL_TIMEOUT_MS)
    assert [each.error_code for each in cluster.answers[token].results] == [0]
