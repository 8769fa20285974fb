"""What a broker with an authorizer promises: who may not is told so, and of that alone.

Names that an answer tells are held against the rights that they need, whatever rule looked at them.
Source: Kafka's documentation, "Operations and Resources on Protocols"; KafkaApis.scala.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

from broker.core.access import Access
from broker.core.access_rules import Ruling
from broker.core.metadata_image import MetadataImage
from broker.dispatcher import Dispatcher, _Asked
from broker.handlers import Begun
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import AclOperation as Op
from protocol.acls.model import AclResourceType as Kind
from protocol.apis import APIS
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID
from simulation.contracts.contract import Broken, OfRun, of_method

_CODES: Final[Mapping[Kind, ErrorCode]] = {
    Kind.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    Kind.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    Kind.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    Kind.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
_TXN: Final = Kind.TRANSACTIONAL_ID
_NEEDED: Final[Mapping[Kind, Mapping[str, Op]]] = {
    Kind.TOPIC: {
        **dict.fromkeys(("Produce", "AddPartitionsToTxn"), Op.WRITE),
        **dict.fromkeys(
            ("Fetch", "OffsetCommit", "TxnOffsetCommit", "OffsetDelete", "DescribeProducers"),
            Op.READ,
        ),
        **dict.fromkeys(
            ("ListOffsets", "Metadata", "DescribeTopicPartitions", "OffsetForLeaderEpoch"),
            Op.DESCRIBE,
        ),
        "OffsetFetch": Op.DESCRIBE,
        "CreateTopics": Op.CREATE,
        "DeleteRecords": Op.DELETE,
        "CreatePartitions": Op.ALTER,
        "DescribeConfigs": Op.DESCRIBE_CONFIGS,
        **dict.fromkeys(("AlterConfigs", "IncrementalAlterConfigs"), Op.ALTER_CONFIGS),
    },
    Kind.GROUP: {
        **dict.fromkeys(
            ("OffsetFetch", "FindCoordinator", "DescribeGroups", "ConsumerGroupDescribe"),
            Op.DESCRIBE,
        ),
        "ListGroups": Op.DESCRIBE,
        "DeleteGroups": Op.DELETE,
        "DescribeConfigs": Op.DESCRIBE_CONFIGS,
        **dict.fromkeys(("AlterConfigs", "IncrementalAlterConfigs"), Op.ALTER_CONFIGS),
    },
    _TXN: dict.fromkeys(
        ("FindCoordinator", "DescribeTransactions", "ListTransactions"), Op.DESCRIBE
    ),
}
"""Kind of a resource -> API -> what each needs that an answer names."""
_ENOUGH: Final[Mapping[str, Op]] = {
    "CreateTopics": Op.CREATE,
    "OffsetForLeaderEpoch": Op.CLUSTER_ACTION,
    "Fetch": Op.CLUSTER_ACTION,
    "ListGroups": Op.DESCRIBE,
}
"""Who may do this to the cluster needs nothing of what is named."""
_WHOLE: Final[Mapping[str, tuple[tuple[Kind, Op, str], ...]]] = {
    **dict.fromkeys(
        (
            *("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit"),
            "ConsumerGroupHeartbeat",
        ),
        ((Kind.GROUP, Op.READ, "group_id"),),
    ),
    "OffsetDelete": ((Kind.GROUP, Op.DELETE, "group_id"),),
    "EndTxn": ((_TXN, Op.WRITE, "transactional_id"),),
    **dict.fromkeys(
        ("AddOffsetsToTxn", "TxnOffsetCommit"),
        ((_TXN, Op.WRITE, "transactional_id"), (Kind.GROUP, Op.READ, "group_id")),
    ),
    "InitProducerId": ((_TXN, Op.WRITE, "transactional_id"),),
    "AddPartitionsToTxn": ((_TXN, Op.WRITE, "v3_and_below_transactional_id"),),
}
"""API -> what a request needs as a whole: a right on what a field names, if it names something."""
_TOLD_FIRST: Final[Mapping[str, ErrorCode]] = {"SyncGroup": ErrorCode.INCONSISTENT_GROUP_PROTOCOL}
"""API -> what is wrong with a request whoever sends it, and is told before a right is missing."""
_NAMES: Final[Mapping[str, Kind]] = {
    "topic": Kind.TOPIC,
    "name": Kind.TOPIC,
    "group_id": Kind.GROUP,
    "transactional_id": _TXN,
}
_KINDS: Final = {ResourceType.TOPIC: Kind.TOPIC, ResourceType.GROUP: Kind.GROUP}
_LISTS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("groups", "groups_names", "group_ids"), Kind.GROUP),
    "transactional_ids": _TXN,
}
"""Lists of names, but for keys whose kind the request tells."""
_ROW_CODES: Final = ("error_code", "partition_error_code")
_fields_of: Final[dict[type[Any], tuple[str, ...]]] = {}
_LEADERS_ADD_SINCE: Final = 4
_IN_PART: Final = ("Fetch", "ListGroups", "ListTransactions", "AddPartitionsToTxn")
"""Whose answers tell not all that was asked for, or more."""
_begun: Final[OfRun[Authorizer, dict[int, Authorizer]]] = OfRun()
"""A broker's -> identity of what is asked -> the same, deciding by the ACLs of when that began.

Whoever begins writes its own, so that what others of that identity left is never read.
"""


_About: TypeAlias = "tuple[Kind | None, str]"
"""What a code is about; ``_WHOLE_REQUEST``: nothing that is named."""
_WHOLE_REQUEST: Final[_About] = (None, "")


class _ToldCode(NamedTuple):
    """One code of an answer, and what it is about; None: all of the request."""

    kind: Kind | None
    name: str
    code: int


def codes_in(
    row: Any, key_kind: Kind, metadata: MetadataImage, about: _About = _WHOLE_REQUEST
) -> Iterator[_ToldCode]:
    """Give every code below a row, under the nearest name above it."""
    about = _named(row, key_kind, metadata) or about
    for name in _telling_fields(cast("type[Any]", type(row))):
        value = getattr(row, name)
        if name in _ROW_CODES:
            yield _ToldCode(*about, value)
        elif isinstance(value, list | tuple):
            for below in cast("list[Any]", value):
                if is_dataclass(below):
                    yield from codes_in(below, key_kind, metadata, about)


@cache
def _telling_fields(kind: type[Any]) -> tuple[str, ...]:
    """Return the fields of a row that are codes, or lists of something: few of all."""
    return tuple(
        each.name for each in fields(kind) if each.name in _ROW_CODES or "[" in str(each.type)
    )


# Any: a row of whatever message.
def _field_names(row: Any) -> tuple[str, ...]:
    kind = cast("type[Any]", type(row))
    if kind not in _fields_of:
        _fields_of[kind] = tuple(each.name for each in fields(kind))
    return _fields_of[kind]


def _named(row: Any, key_kind: Kind, metadata: MetadataImage) -> _About | None:
    for field, kind in _naming_fields(cast("type[Any]", type(row))):
        name = getattr(row, field)
        if name:
            return kind, name
    if hasattr(row, "resource_name"):
        return _KINDS.get(row.resource_type), row.resource_name
    if hasattr(row, "key"):
        return key_kind, row.key
    return _by_id(row, metadata)


@cache
def _naming_fields(kind: type[Any]) -> tuple[tuple[str, Kind], ...]:
    names = [each.name for each in fields(kind)]
    return tuple(each for each in _NAMES.items() if each[0] in names)


def _by_id(row: Any, metadata: MetadataImage) -> _About | None:
    topic_id = bytes(getattr(row, "topic_id", ZERO_UUID))
    return None if topic_id == ZERO_UUID else (Kind.TOPIC, metadata.topic_name(topic_id) or "")


@of_method(Dispatcher, "_completed")
def completed(
    _dispatcher: Dispatcher, asked: _Asked, access: Access, _ruling: Ruling, _response: object
) -> Generator[None, Any, Broken]:
    """Who may not is told so of what it names, and of nothing else; the rest is answered.

    It is ruled as a request begins, and answers may wait: where ACLs changed meanwhile, either is
    right of what the client could do at one of both moments alone.
    """
    answer = yield
    api = APIS[asked.received.api_key].name
    if answer is None or counts_itself(authorizer_of(access)):
        return None
    moments = _moments(asked, access)
    if any(_is_enough(asked, api, moment) for moment in moments):
        return None
    key_kind = _TXN if getattr(asked.request, "key_type", 0) == 1 else Kind.GROUP
    codes = list(codes_in(answer, key_kind, access.metadata))
    is_of_all = api == "Metadata" and asked.request.topics is None
    for kind, name, code in () if is_of_all else codes:
        needed = None if kind is None or not name else _NEEDED[kind].get(api)
        if kind is None or needed is None:
            continue
        may = access.may(needed, kind, name, logs=False)
        if any(moment.may(needed, kind, name, logs=False) != may for moment in moments[1:]):
            continue
        if may and code == _CODES[kind] and not _may_not_be_made(api, asked, access, name):
            return f"{api} of {name}, which it may, is answered with {ErrorCode(code).name}"
        if not may and code != _CODES[kind]:
            return f"{api} of {name}, which it may not, is answered with {code}"
    # What the controller answers is the controller's.
    is_in_part = api in _IN_PART or asked.route.is_forwarded
    if is_in_part or any(each.kind is None and each.code for each in codes):
        return None
    told = {each[:2]: None for each in codes}
    asked_for = _asked_for(api, asked.request, key_kind, access.metadata)
    left = [each for each in asked_for if each not in told]
    return f"{api} tells nothing of {left}" if left else None


def _moments(asked: _Asked, access: Access) -> list[Access]:
    """Return what the client can do now and, if ACLs came since, what it could at the begin."""
    found = moments_of(asked, access)
    _begun.get(authorizer_of(access), {}).pop(id(asked), None)
    return found


def moments_of(asked: _Asked, access: Access) -> list[Access]:
    """Return the same, before it is forgotten with the answer."""
    authorizer = authorizer_of(access)
    began = _begun.get(authorizer, {}).get(id(asked))
    if began is None or began._types is authorizer._types:  # noqa: SLF001 -- nothing public
        return [access]
    then = Access(
        began,
        access._asker,  # noqa: SLF001 -- nothing public has it
        metadata=access.metadata,
        creates_topics=access.creates_topics,
        told=lambda _: None,
    )
    return [access, then]


def authorizer_of(access: Access) -> Authorizer:
    """Return who decides for one client's request."""
    return access._authorizer  # noqa: SLF001 -- nothing public has it


def _as_now(authorizer: Authorizer) -> Authorizer:
    """Return one that goes on to decide by the ACLs of now."""
    kept = copy(authorizer)
    kept._decisions = {}  # noqa: SLF001 -- the other one's are of its newest ACLs
    return kept


def counts_itself(authorizer: Authorizer) -> bool:
    """Tell whether this is not a broker's own: one that counts what it is asked is not asked."""
    return type(authorizer) is not Authorizer


def _is_enough(asked: _Asked, api: str, access: Access) -> bool:
    if api == "AddPartitionsToTxn" and asked.route.version >= _LEADERS_ADD_SINCE:
        return True  # Leaders ask, for whose clients it was looked at.
    return api in _ENOUGH and access.may_cluster(_ENOUGH[api], logs=False)


def _may_not_be_made(api: str, asked: _Asked, access: Access, name: str) -> bool:
    """Tell whether a topic that is not there would have to be created first."""
    creates = (
        api == "Metadata" and access.creates_topics and asked.request.allow_auto_topic_creation
    )
    return creates and not access.metadata.has_topic(name)


def _asked_for(api: str, request: Any, key_kind: Kind, metadata: MetadataImage) -> Iterator[_About]:
    """Give what a request names, but for topics of which no partition is named.

    Metadata's names count for nothing where one of its topics has an id.
    """
    if api == "Metadata":
        topics = cast("list[Any]", request.topics or [])
        with_ids = [about for topic in topics if (about := _by_id(topic, metadata)) is not None]
        if with_ids:
            yield from (about for about in with_ids if about[1])
            return
    for name in _field_names(request):
        value = getattr(request, name)
        for row in cast("list[Any]", value) if isinstance(value, list | tuple) else ():
            if isinstance(row, str):
                about = _LISTS.get(name, key_kind), row
            else:
                is_about = is_dataclass(row) and not _is_bare(row)
                about = _named(row, key_kind, metadata) if is_about else None
            if about and about[0] is not None and about[1] and api in _NEEDED[about[0]]:
                yield about


def _is_bare(row: Any) -> bool:
    return any(
        name.startswith("partition") and not getattr(row, name) for name in _field_names(row)
    )


@of_method(Dispatcher, "_authorized")
def authorized(
    dispatcher: Dispatcher, asked: _Asked, authorizer: Authorizer
) -> Generator[None, Any, Broken]:
    """Who may not ask at all is answered with that and nothing else."""
    api = APIS[asked.received.api_key].name
    denied = [
        _CODES[kind]
        for kind, operation, field in _WHOLE.get(api, ())
        if (name := getattr(asked.request, field)) and not counts_itself(authorizer)
        if not may_do(asked, authorizer, operation, kind, name)
    ]
    began = _begun.setdefault(authorizer, {})
    began[id(asked)] = _as_now(authorizer)
    answer: Any = None
    try:
        answer = yield
    finally:
        if not isinstance(answer, Begun):
            began.pop(id(asked), None)
    if answer is None or not denied:
        return None
    if isinstance(answer, Begun):
        return f"{api} is begun, and it may not"
    metadata = dispatcher._context.metadata  # noqa: SLF001 -- nothing public has it
    told = list(codes_in(answer, Kind.GROUP, metadata))
    # Where names are told each has its code; that of the whole, if the version has one, is none.
    codes = [each.code for each in told if each.kind is not None] or [each.code for each in told]
    allowed = (*denied, *((_TOLD_FIRST[api],) if api in _TOLD_FIRST else ()))
    if any(code not in allowed for code in codes):
        return f"{api}, which it may not ask, is answered with {codes}, not {denied}"
    return None


def may_do(asked: _Asked, authorizer: Authorizer, operation: Op, kind: Kind, name: str) -> bool:
    """Tell whether who asks may do something to a resource."""
    peer = asked.peer
    return authorizer.is_allowed(str(peer.principal), peer.host, operation, kind, name)
