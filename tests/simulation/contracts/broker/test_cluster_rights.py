"""Who does to the cluster what he may not, and hears of what he may not describe."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from broker.core.access import Access, Asker
from broker.core.access_rules import Ruling
from broker.core.metadata_image import MetadataImage
from broker.dispatcher import Dispatcher
from broker.handlers import Begun
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import (
    CLUSTER_NAME,
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.apis import BY_NAME
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from protocol.messages.fetch import FetchRequest, FetchResponse, ReplicaState
from protocol.messages.groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from tests.simulation.contracts.wrong_rules import answers, told_of

METADATA: Final = MetadataImage(broker_id=BrokerId(1))
DISPATCHER: Any = SimpleNamespace(_context=SimpleNamespace(metadata=METADATA))
DENIED, NONE = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.NONE
BEGUN = Begun(cast("Any", None), cast("Any", None), cast("Any", None))


def _authorizer(*operations: AclOperation, kind: AclResourceType, name: str) -> Authorizer:
    """Return one by which everybody may do this to that, and nothing else."""
    pattern = ResourcePattern(kind, name, PatternType.LITERAL)
    authorizer = Authorizer()
    authorizer.replace(
        AclBinding(pattern, "User:*", "*", each, PermissionType.ALLOW) for each in operations
    )
    return authorizer


def _asked(api: str, request: object) -> Any:
    received = SimpleNamespace(api_key=BY_NAME[api].key)
    peer = SimpleNamespace(principal="User:ann", host="127.0.0.1")
    route = SimpleNamespace(is_forwarded=False)
    return SimpleNamespace(received=received, request=request, peer=peer, route=route)


def _told_of(api: str, request: object, operation: AclOperation, answer: object) -> list[str]:
    asked = _asked(api, request)
    authorizer = _authorizer(operation, kind=AclResourceType.CLUSTER, name=CLUSTER_NAME)

    def use() -> None:
        asking = Dispatcher._authorized(DISPATCHER, asked, authorizer)
        with pytest.raises(StopIteration):
            asking.send(None)

    async def wrong(*_: object) -> object:
        return answer

    return told_of(wrong, "Dispatcher._authorized", use)


def test_who_may_not_change_acls_is_refused_and_who_may_is_not() -> None:
    request = CreateAclsRequest(creations=[])
    refused = CreateAclsResponse(results=[AclCreationResult(error_code=DENIED)])
    taken = CreateAclsResponse(results=[AclCreationResult(error_code=NONE)])
    describe, alter = AclOperation.DESCRIBE, AclOperation.ALTER
    assert _told_of("CreateAcls", request, describe, refused) == []
    assert _told_of("CreateAcls", request, alter, taken) == []
    assert _told_of("CreateAcls", request, describe, taken)
    assert _told_of("CreateAcls", request, alter, refused)


@pytest.mark.parametrize(
    "request_", [FetchRequest(replica_id=2), FetchRequest(replica_state=ReplicaState(replica_id=2))]
)
def test_nobody_else_may_say_that_it_is_a_follower(request_: FetchRequest) -> None:
    refused = FetchResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    action, describe = AclOperation.CLUSTER_ACTION, AclOperation.DESCRIBE
    assert _told_of("Fetch", request_, describe, refused) == []
    assert _told_of("Fetch", request_, action, BEGUN) == []
    assert _told_of("Fetch", request_, describe, BEGUN)


def test_consumers_need_nothing_of_the_cluster() -> None:
    assert _told_of("Fetch", FetchRequest(), AclOperation.DESCRIBE, BEGUN) == []


def _told_of_names(api: str, request: object, answer: object, kind: AclResourceType) -> list[str]:
    authorizer = _authorizer(AclOperation.DESCRIBE, kind=kind, name="mine")
    access = Access(
        authorizer,
        Asker("User:ann", "127.0.0.1", api),
        metadata=METADATA,
        creates_topics=False,
        told=lambda _: None,
    )
    asked = _asked(api, request)

    def use() -> None:
        Dispatcher._completed(DISPATCHER, asked, access, Ruling(request), answer)

    return told_of(answers(answer), "Dispatcher._completed", use)


@pytest.mark.parametrize(("name", "is_told"), [("mine", False), ("other", True)])
def test_answers_of_all_name_nothing_that_may_not_be_described(name: str, is_told: bool) -> None:
    topic = MetadataResponseTopic(error_code=NONE, name=name, partitions=[])
    topics = MetadataResponse(brokers=[], topics=[topic])
    group = ListedGroup(group_id=name, protocol_type="consumer")
    groups = ListGroupsResponse(error_code=NONE, groups=[group])
    topic_kind, group_kind = AclResourceType.TOPIC, AclResourceType.GROUP
    found = _told_of_names("Metadata", MetadataRequest(topics=None), topics, topic_kind)
    assert bool(found) == is_told
    assert bool(_told_of_names("ListGroups", ListGroupsRequest(), groups, group_kind)) == is_told
