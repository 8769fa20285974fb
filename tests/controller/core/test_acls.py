"""CreateAcls, DescribeAcls, DeleteAcls: journaled, told to every broker, answered one by one."""

from __future__ import annotations

from dataclasses import replace

from controller.core.step import TELL_TIMEOUT_MS
from protocol.acls.requests import EVERY_ACL
from protocol.configs.authorizer import STANDARD_AUTHORIZER
from protocol.configs.messages import CHANGED_ACLS
from protocol.errors import ErrorCode
from protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsResponse,
)
from protocol.messages.control import UpdateMetadataRequest
from tests.controller.core.cluster import Cluster, registered, settings

CREATION = AclCreation(
    resource_type=2,
    resource_name="t",
    resource_pattern_type=3,
    principal="User:alice",
    host="*",
    operation=3,
    permission_type=3,
)
WRITE = replace(CREATION, operation=4)
BAD = replace(CREATION, resource_name="")


def secured() -> Cluster:
    """Return a cluster of three brokers that has an authorizer."""
    config = settings(authorizer_class_name=STANDARD_AUTHORIZER)
    records = [record for broker in (1, 2, 3) for record in registered(broker, broker)]
    cluster = Cluster(records, config=config)
    cluster.take()
    return cluster


def create(cluster: Cluster, *creations: AclCreation) -> list[int]:
    """Create ACLs and return the codes."""
    answer = cluster.call(CreateAclsRequest(creations=list(creations)), 3)
    return [result.error_code for result in answer.results]


def described(cluster: Cluster) -> list[tuple[str, int]]:
    """Return the name and the operation of each ACL."""
    answer: DescribeAclsResponse = cluster.call(EVERY_ACL, 3)
    assert answer.error_code == ErrorCode.NONE
    return [(each.resource_name, acl.operation) for each in answer.resources for acl in each.acls]


def filtered(operation: int) -> DeleteAclsFilter:
    """Return a filter for ACLs of one operation."""
    return DeleteAclsFilter(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=operation,
        permission_type=1,
    )


def told(cluster: Cluster) -> list[int]:
    """Return the brokers that were told to ask for the ACLs."""
    return [
        broker_id
        for broker_id, requests in cluster.take().items()
        for request in requests
        if isinstance(request, UpdateMetadataRequest)
        and CHANGED_ACLS in [row.topic_name for row in request.topic_states]
    ]


def test_acls_are_created_one_by_one_and_every_broker_is_told_once() -> None:
    cluster = secured()
    assert create(cluster, CREATION, BAD, WRITE) == [0, ErrorCode.INVALID_REQUEST, 0]
    assert described(cluster) == [("t", 3), ("t", 4)]
    assert sorted(told(cluster)) == [1, 2, 3]


def test_an_acl_that_is_there_is_created_again_without_a_word() -> None:
    cluster = secured()
    create(cluster, CREATION)
    cluster.take()
    decisions = cluster.state.journal_number
    assert create(cluster, CREATION) == [0]
    assert (told(cluster), cluster.state.journal_number) == ([], decisions)


def test_each_filter_tells_what_it_matched_though_another_deleted_it_too() -> None:
    cluster = secured()
    create(cluster, CREATION, WRITE)
    cluster.take()
    request = DeleteAclsRequest(filters=[filtered(1), filtered(4), filtered(99)])
    answer = cluster.call(request, 3)
    assert [len(each.matching_acls) for each in answer.filter_results] == [2, 1, 0]
    assert [each.error_code for each in answer.filter_results] == [
        0,
        0,
        ErrorCode.INVALID_REQUEST,
    ]
    assert described(cluster) == []
    assert sorted(told(cluster)) == [1, 2, 3]


def test_the_answer_waits_for_a_broker_that_does_not_answer_but_not_for_ever() -> None:
    cluster = secured()
    cluster.held = [2]
    token = cluster.ask(CreateAclsRequest(creations=[CREATION]), 3)
    cluster.settle()
    assert token not in cluster.answers
    cluster.advance(TELL_TIMEOUT_MS)
    assert [result.error_code for result in cluster.answers[token].results] == [0]


def test_acls_are_there_after_the_controller_starts_again() -> None:
    cluster = secured()
    create(cluster, CREATION)
    again = Cluster(cluster.records, config=cluster.config, decision_ends=cluster.decision_ends)
    assert described(again) == [("t", 3)]


def test_success_has_an_empty_text_as_in_kafka() -> None:
    cluster = secured()
    made = cluster.call(CreateAclsRequest(creations=[CREATION]), 3)
    assert [each.error_message for each in made.results] == [""]
    assert cluster.call(EVERY_ACL, 3).error_message == ""


def test_without_an_authorizer_each_is_refused() -> None:
    cluster = Cluster([record for broker in (1, 2) for record in registered(broker, broker)])
    assert create(cluster, CREATION, BAD) == [ErrorCode.SECURITY_DISABLED] * 2
    answer = cluster.call(EVERY_ACL, 3)
    assert (answer.error_code, answer.error_message) == (54, "No Authorizer is configured.")
    deleted = cluster.call(DeleteAclsRequest(filters=[filtered(1)]), 3)
    assert [each.error_code for each in deleted.filter_results] == [ErrorCode.SECURITY_DISABLED]
