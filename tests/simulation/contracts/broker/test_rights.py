"""Answers that tell the wrong clients the wrong things, and what the contracts of rights say."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from broker.core.access import Access, Asker
from broker.core.access_rules import Ruling
from broker.core.metadata_image import MetadataImage
from broker.dispatcher import Dispatcher, _Asked
from broker.handlers import Begun
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.apis import BY_NAME
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, BrokerId
from protocol.messages.configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from protocol.messages.groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from protocol.messages.transactions import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from tests.simulation.contracts.wrong_rules import answers, told_of

REFUSED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
METADATA: Final = MetadataImage(broker_id=BrokerId(1))
DISPATCHER: Any = SimpleNamespace(_context=SimpleNamespace(metadata=METADATA))


def _authorizer() -> Authorizer:
    """Return one by which everybody may describe and read the group ``mine``, and no other."""
    pattern = ResourcePattern(AclResourceType.GROUP, "mine", PatternType.LITERAL)
    authorizer = Authorizer()
    authorizer.replace(
        AclBinding(pattern, "User:*", "*", operation, PermissionType.ALLOW)
        for operation in (AclOperation.DESCRIBE, AclOperation.READ)
    )
    return authorizer


def _asked(api: str, request: object) -> Any:
    received = SimpleNamespace(api_key=BY_NAME[api].key)
    peer = SimpleNamespace(principal="User:ann", host="127.0.0.1")
    route = SimpleNamespace(is_forwarded=False)
    return SimpleNamespace(received=received, request=request, peer=peer, route=route)


def _told_of_groups(**codes: ErrorCode) -> list[str]:
    """Return what is told of an answer with these codes to who asked for ``mine`` and ``other``."""
    asker = Asker("User:ann", "127.0.0.1", "DescribeGroups")
    access = Access(
        _authorizer(), asker, metadata=METADATA, creates_topics=False, told=lambda _: None
    )
    request = DescribeGroupsRequest(groups=["mine", "other"])
    rows = [DescribedGroup(error_code=code, group_id=name) for name, code in codes.items()]
    answer = DescribeGroupsResponse(groups=rows)
    asked = _asked("DescribeGroups", request)
    return told_of(
        answers(answer),
        "Dispatcher._completed",
        lambda: Dispatcher._completed(DISPATCHER, asked, access, Ruling(request), None),
    )


LAST_ID: Final = b"\xff" * 16


@pytest.mark.parametrize(
    ("topic_id", "told"), [(LAST_ID, []), (ZERO_UUID, ["tells nothing of"])], ids=["id", "none"]
)
def test_names_beside_an_id_count_for_nothing_in_metadata(topic_id: bytes, told: list[str]) -> None:
    asker = Asker("User:ann", "127.0.0.1", "Metadata")
    access = Access(
        _authorizer(), asker, metadata=METADATA, creates_topics=False, told=lambda _: None
    )
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=topic_id, name="other")])
    code = ErrorCode.UNKNOWN_TOPIC_ID
    answer = MetadataResponse(
        topics=[MetadataResponseTopic(error_code=code, name=None, topic_id=LAST_ID)]
    )
    asked = _asked("Metadata", request)
    texts = told_of(
        answers(answer),
        "Dispatcher._completed",
        lambda: Dispatcher._completed(DISPATCHER, asked, access, Ruling(request), None),
    )
    assert len(texts) == len(told)
    assert all(part in text for part, text in zip(told, texts, strict=True))


def test_who_may_is_answered_and_who_may_not_is_refused() -> None:
    assert _told_of_groups(mine=ErrorCode.NONE, other=REFUSED) == []


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        ({"mine": ErrorCode.NONE, "other": ErrorCode.NONE}, "other, which it may not"),
        ({"mine": REFUSED, "other": REFUSED}, "mine, which it may, is answered with GROUP_"),
        ({"mine": ErrorCode.NONE}, "tells nothing of [(<AclResourceType.GROUP: 3>, 'other')]"),
    ],
)
def test_what_is_told_to_the_wrong_ones_is_told(codes: dict[str, ErrorCode], told: str) -> None:
    (text,) = _told_of_groups(**codes)
    assert told in text


def _told_of_whole(group: str, answer: object) -> list[str]:
    asked = _asked("Heartbeat", HeartbeatRequest(group_id=group, generation_id=1, member_id="a"))

    def use() -> None:
        asking = Dispatcher._authorized(DISPATCHER, asked, _authorizer())
        with pytest.raises(StopIteration):
            asking.send(None)

    async def wrong(*_: object) -> object:
        return answer

    return told_of(wrong, "Dispatcher._authorized", use)


def test_who_may_not_ask_at_all_gets_that_code_and_nothing_else() -> None:
    assert _told_of_whole("mine", HeartbeatResponse(error_code=ErrorCode.NONE)) == []
    assert _told_of_whole("other", HeartbeatResponse(error_code=REFUSED)) == []
    assert _told_of_whole("other", HeartbeatResponse(error_code=ErrorCode.NONE))
    begun = Begun(cast("Any", None), cast("Any", None), cast("Any", None))
    assert _told_of_whole("mine", begun) == []
    assert _told_of_whole("other", begun)


@pytest.mark.parametrize(("version", "is_told"), [(3, True), (4, False)])
def test_leaders_who_add_partitions_need_no_topics(version: int, is_told: bool) -> None:
    """Their client's rights were looked at as it wrote (seed 761024)."""
    asker = Asker("User:ann", "127.0.0.1", "AddPartitionsToTxn")
    access = Access(
        _authorizer(), asker, metadata=METADATA, creates_topics=False, told=lambda _: None
    )
    partition = AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=3)
    row = AddPartitionsToTxnTopicResult(name="orders", results_by_partition=[partition])
    answer = AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[row])
    request = AddPartitionsToTxnRequest(transactions=[])
    asked = _asked("AddPartitionsToTxn", request)
    asked.route.version = version
    told = told_of(
        answers(answer),
        "Dispatcher._completed",
        lambda: Dispatcher._completed(DISPATCHER, asked, access, Ruling(request), None),
    )
    assert bool(told) == is_told


def _to_alter(groups: Iterable[str]) -> Iterable[AclBinding]:
    """Give ACLs by which everybody may alter the configurations of these groups."""
    for group in groups:
        pattern = ResourcePattern(AclResourceType.GROUP, group, PatternType.LITERAL)
        yield AclBinding(pattern, "User:*", "*", AclOperation.ALTER_CONFIGS, PermissionType.ALLOW)


def _told_of_change(codes: dict[str, ErrorCode], then: Iterable[str], *, waits: bool) -> list[str]:
    """Return what is told where who may alter ``mine`` may alter ``then`` as the answer comes."""
    authorizer = Authorizer()
    authorizer.replace(_to_alter(["mine"]))
    told = AlterConfigsResourceResponse
    rows = [
        told(error_code=code, resource_type=_GROUP, resource_name=name)
        for name, code in codes.items()
    ]
    answer = IncrementalAlterConfigsResponse(responses=rows)
    named = IncrementalAlterConfigsRequestAlterConfigsResource
    resources = [named(resource_type=_GROUP, resource_name=name) for name in ("mine", "other")]
    asked = _Asked(
        cast("Any", SimpleNamespace(version=1, is_forwarded=True)),
        IncrementalAlterConfigsRequest(resources=resources),
        cast("Any", SimpleNamespace(api_key=BY_NAME["IncrementalAlterConfigs"].key)),
        cast("Any", SimpleNamespace(principal="User:ann", host="127.0.0.1")),
        *(0, False, None),
    )

    def finish() -> object:
        authorizer.replace(_to_alter(then))
        return answer

    async def handle(*_: object) -> object:
        return Begun(cast("Any", None), finish, cast("Any", None)) if waits else finish()

    def completed(*of: Any) -> object:
        return Dispatcher._completed(dispatcher, *of)

    config = SimpleNamespace(auto_create_topics_enable=False)
    dispatcher: Any = SimpleNamespace(
        _context=SimpleNamespace(metadata=METADATA, config=config),
        _served_by_handler=handle,
        _completed=completed,
    )

    def use() -> None:
        with pytest.raises(StopIteration) as ended:
            Dispatcher._authorized(dispatcher, asked, authorizer).send(None)
        if waits:
            ended.value.value.finish()

    name = "Dispatcher._completed"
    return told_of(answers(answer), name, use, beside=["Dispatcher._authorized"])


_GROUP: Final = ResourceType.GROUP


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("then", [[], ["other"]], ids=["none", "other"])
def test_acls_that_came_before_the_answer_do_not_change_what_was_ruled(
    then: list[str], *, waits: bool
) -> None:
    """An order waited for the controller, which took an ACL meanwhile (seed 886136)."""
    codes = {"mine": ErrorCode.NONE, "other": REFUSED}
    assert _told_of_change(codes, then, waits=waits) == []


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    ("codes", "then", "told"),
    [
        ({"mine": ErrorCode.NONE, "other": ErrorCode.NONE}, [], "other, which it may not"),
        ({"mine": REFUSED, "other": REFUSED}, ["mine", "third"], "mine, which it may, is answered"),
    ],
)
def test_what_was_wrong_at_both_moments_is_told(
    codes: dict[str, ErrorCode], then: list[str], told: str, *, waits: bool
) -> None:
    (text,) = _told_of_change(codes, then, waits=waits)
    assert told in text
