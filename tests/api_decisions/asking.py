"""Has a cluster decide: its administrator sets ACLs, and ``alice`` asks all with each set."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from jbodlab.asking.rpc import BlockingClient
from protocol.acls.model import AclBinding
from protocol.acls.requests import EVERY_ACL, bindings_of, creation_of
from protocol.errors import ErrorCode
from protocol.messages import (
    acls,
    coordinators,
    delegation_tokens,
    group_offsets,
    metadata,
    producer_ids,
    topics,
)
from tests.api_decisions.answers import betrayed
from tests.api_decisions.names import GROUP, OTHER_GROUP, OTHER_TOPIC, TOPIC, TRANSACTION
from tests.api_decisions.of_clients import commits_of
from tests.api_decisions.questions import questions
from tests.deadlines import DEADLINE_S


def decided(
    admin: BlockingClient, alice: BlockingClient, sets: Sequence[Sequence[AclBinding]]
) -> list[dict[str, dict[str, str]]]:
    """Return for each set what the answer to each question betrays."""
    topic_id = _prepared(admin)
    asked = questions(topic_id)
    found: list[dict[str, dict[str, str]]] = []
    for bindings in sets:
        _set(admin, bindings)
        found.append({one.name: betrayed(alice.request(one.request, one.version)) for one in asked})
    _set(admin, [])
    return found


def _prepared(admin: BlockingClient) -> bytes:
    """Make topics, groups, a transactional id, a token; return the first topic's id."""
    new = [
        topics.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        for name in (TOPIC, OTHER_TOPIC)
    ]
    admin.request(topics.CreateTopicsRequest(topics=new), 7)
    asked = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=TOPIC)])
    _until(lambda: admin.request(asked, 12).topics[0].error_code == ErrorCode.NONE)
    for group in (GROUP, OTHER_GROUP):
        _until(lambda group=group: _is_coordinated(admin, group, 0))
        _until(lambda group=group: _is_committed(admin, group))
    _until(lambda: _is_coordinated(admin, TRANSACTION, 1))
    began = producer_ids.InitProducerIdRequest(
        transactional_id=TRANSACTION, transaction_timeout_ms=60_000
    )
    _until(lambda: admin.request(began, 4).error_code == ErrorCode.NONE)
    create = delegation_tokens.CreateDelegationTokenRequest(
        owner_principal_type=None, owner_principal_name=None, max_lifetime_ms=-1
    )
    assert admin.request(create, 3).error_code == ErrorCode.NONE
    describe = delegation_tokens.DescribeDelegationTokenRequest(owners=None)
    _until(lambda: len(admin.request(describe, 3).tokens) == 1)
    return bytes(admin.request(asked, 12).topics[0].topic_id)


def _is_coordinated(admin: BlockingClient, key: str, kind: int) -> bool:
    asked = coordinators.FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    return admin.request(asked, 4).coordinators[0].error_code == ErrorCode.NONE


def _is_committed(admin: BlockingClient, group: str) -> bool:
    commits = commits_of((TOPIC, OTHER_TOPIC))
    done = admin.request(group_offsets.OffsetCommitRequest(group_id=group, topics=commits), 8)
    return all(
        each.error_code == ErrorCode.NONE for topic in done.topics for each in topic.partitions
    )


def _set(admin: BlockingClient, bindings: Sequence[AclBinding]) -> None:
    """Have exactly these ACLs, and wait until the broker decides by them."""
    every = acls.DeleteAclsFilter(
        resource_type_filter=1, resource_name_filter=None, pattern_type_filter=1,
        principal_filter=None, host_filter=None, operation=1, permission_type=1,
    )  # fmt: skip
    admin.request(acls.DeleteAclsRequest(filters=[every]), 3)
    if bindings:
        new = list(map(creation_of, bindings))
        done = admin.request(acls.CreateAclsRequest(creations=new), 3)
        assert not any(each.error_code for each in done.results), done
    _until(lambda: set(bindings_of(_described(admin))) == set(bindings))


def _described(admin: BlockingClient) -> Sequence[Any]:
    return admin.request(EVERY_ACL, 3).resources


def _until(holds: Callable[[], bool]) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < end_s
