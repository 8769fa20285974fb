"""Takes large requests apart into small ones of the same kind, and puts their answers together.

What Kafka answers entry by entry may be asked in pieces: nobody can tell but by the time between
them. It sends nothing and decides nothing about an entry.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from protocol.errors import ErrorCode, KafkaError
from protocol.wire.table import ArrayType, arrays_of, rows_of, struct_arrays_of

NEW_PARTITIONS_MAX: Final = 10_000
"""That one request makes. Source: KRaft's QuorumController.MAX_RECORDS_PER_USER_OP."""
VALUES_MAX: Final = 2_000
"""Of one entry, such as the settings of a topic or the replicas of a partition."""
_ARRAYS_OF_A_STEP: Final = 1_000
"""That are looked at, about a millisecond."""


class Cut(NamedTuple):
    """Where requests of an API may be cut."""

    entries: int
    """Of a piece, innermost ones: some milliseconds of work."""
    levels: tuple[tuple[str, ...], ...]
    """Ways to its entries, arrays outermost first; the first that is not empty counts."""
    values_max: int = VALUES_MAX
    """The longest array in a piece beside those."""


_PARTITIONS: Final = ("topics", "partitions")
_INDEXES: Final = ("topics", "partition_indexes")
_STATES: Final = ("topic_states", "partition_states")
_UNGROUPED: Final = ("ungrouped_partition_states",)
_WHOLE: Final = Cut(0, ())
_FILTER: Final = Cut(0, (), NEW_PARTITIONS_MAX)
_OFFSETS: Final = Cut(250, (_PARTITIONS,))

CUTS: Final[dict[str, Cut]] = {
    "ProduceRequest": Cut(100, (("topic_data", "partition_data"),)),
    "ListOffsetsRequest": Cut(200, (_PARTITIONS,)),
    "MetadataRequest": Cut(100, (("topics",),)),
    "LeaderAndIsrRequest": Cut(100, (_STATES, _UNGROUPED)),
    "StopReplicaRequest": Cut(100, (_STATES, _INDEXES, ("ungrouped_partitions",))),
    "UpdateMetadataRequest": Cut(250, (_STATES, _UNGROUPED)),
    "AlterPartitionRequest": Cut(100, (_PARTITIONS,)),
    "FindCoordinatorRequest": Cut(250, (("coordinator_keys",),)),
    "CreateTopicsRequest": Cut(20, (("topics",),), NEW_PARTITIONS_MAX),
    "CreatePartitionsRequest": Cut(20, (("topics",),), NEW_PARTITIONS_MAX),
    "DeleteTopicsRequest": Cut(50, (("topics",), ("topic_names",))),
    "DeleteRecordsRequest": Cut(100, (_PARTITIONS,)),
    "OffsetForLeaderEpochRequest": Cut(200, (_PARTITIONS,)),
    "WriteTxnMarkersRequest": Cut(50, (("markers", "topics", "partition_indexes"),)),
    "DescribeConfigsRequest": Cut(10, (("resources",),)),
    "AlterConfigsRequest": Cut(20, (("resources",),)),
    "IncrementalAlterConfigsRequest": Cut(20, (("resources",),)),
    "AlterReplicaLogDirsRequest": Cut(100, (("dirs", "topics", "partitions"),)),
    "ElectLeadersRequest": Cut(100, (("topic_partitions", "partitions"),)),
    "AlterPartitionReassignmentsRequest": Cut(50, (_PARTITIONS,)),
    "ListPartitionReassignmentsRequest": Cut(250, (_INDEXES,)),
    "DescribeProducersRequest": Cut(100, (_INDEXES,)),
    "OffsetCommitRequest": _OFFSETS,
    "TxnOffsetCommitRequest": _OFFSETS,
    "OffsetDeleteRequest": _OFFSETS,
    "OffsetFetchRequest": Cut(250, (("groups", *_INDEXES), _INDEXES)),
    "DescribeGroupsRequest": Cut(20, (("groups",),)),
    "ConsumerGroupDescribeRequest": Cut(20, (("group_ids",),)),
    "DeleteGroupsRequest": Cut(50, (("groups_names",),)),
    "DescribeTransactionsRequest": Cut(50, (("transactional_ids",),)),
    "AddPartitionsToTxnRequest": _FILTER,
    "SyncGroupRequest": _FILTER,
    "DescribeLogDirsRequest": _FILTER,
    "DescribeTopicPartitionsRequest": _FILTER,
}
"""By the class of the request; what is not here is never cut."""


def pieces_of(request: Any) -> Iterator[Any]:
    """Yield requests that ask for all that ``request`` does; its arrays are empty afterwards."""
    cut = CUTS.get(type(request).__name__, _WHOLE)
    levels = next((levels for levels in cut.levels if getattr(request, levels[0])), None)
    if levels is None:
        yield request
        return
    for chunk in _chunks(_taken(request, levels[0]), levels[1:], cut.entries):
        yield dataclasses.replace(request, **{levels[0]: chunk})


def check_whole(request: Any) -> None:
    """Refuse what may not be asked for at all, in whatever pieces.

    Raises:
        KafkaError: POLICY_VIOLATION, for the request as a whole.

    Source: ReplicationControlManager.java validateTotalNumberOfPartitions; KAFKA-17870, 19673.
    """
    if type(request).__name__ not in ("CreateTopicsRequest", "CreatePartitionsRequest"):
        return
    most = NEW_PARTITIONS_MAX
    if len(request.topics) > most or (
        type(request).__name__ == "CreateTopicsRequest"
        and sum(_weight(topic, (), most) for topic in request.topics) > most
    ):
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )


def check_values(request: Any) -> Generator[None, None, None]:
    """Refuse a request with an array so long that it cannot be worked off in one step.

    Of a request that is never cut all arrays of one name count together: many short ones take as
    long as a long one. It yields between two steps.

    Raises:
        KafkaError: INVALID_REQUEST, naming length and limit.
    """
    cut = CUTS.get(type(request).__name__, _WHOLE)
    limit = cut.values_max
    seen: Counter[str] = Counter()
    for number, (owner, name) in enumerate(_arrays_in(request), 1):
        length = len(getattr(owner, name) or ())
        if not cut.levels:
            seen[name] += length
            length = seen[name]
        if length > limit:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"{name} has {length} entries, at most {limit} are taken; ask for fewer at a time.",
            )
        if number % _ARRAYS_OF_A_STEP == 0:
            yield


def shorten(request: Any, too_long: list[list[Any]]) -> Generator[None, None, None]:
    """Leave of a refused request what its answer is to name, in steps.

    An answer has an entry for each of the request, and one for very many would take long. Arrays
    that were longer are added to ``too_long``, whole, as other pieces may share them: they are to
    be freed in steps after the last piece.
    """
    limit = CUTS.get(type(request).__name__, _WHOLE).values_max
    kept: Counter[str] = Counter()
    for number, (owner, name) in enumerate(_arrays_in(request), 1):
        items: Any = getattr(owner, name) or ()
        most = limit - kept[name]
        if len(items) > most:
            setattr(owner, name, items[:most])
            if items.__class__ is list:  # Others are short enough to be freed at once.
                too_long.append(items)
        kept[name] += min(len(items), most)
        if number % _ARRAYS_OF_A_STEP == 0:
            yield


def put_together(whole: Any, answer: Any) -> None:
    """Append the arrays of ``answer`` to those of ``whole``.

    An entry that was cut has a part in both: its arrays go on, too. One that is never cut, as a
    group that is asked for twice, stays an entry. Nodes are named once. Where a later part failed
    as a whole, its error tells for what it belongs to.
    """
    _put_together(whole, answer, _cut_levels(whole.__class__.__name__))


def _put_together(whole: Any, answer: Any, cut_levels: int) -> None:
    cls: Any = whole.__class__
    if getattr(whole, "error_code", 1) == ErrorCode.NONE:
        whole.error_code = answer.error_code
    for name in arrays_of(cls):
        own, more = getattr(whole, name), getattr(answer, name)
        if not more:
            continue
        if own.__class__ is not list:
            own = list(own or ())
            setattr(whole, name, own)
        if name in _NODES:
            own += [node for node in more if node not in own]
        elif own and cut_levels and _is_same(own[-1], more[0]):
            _put_together(own[-1], more[0], cut_levels - 1)
            own += more[1:]
        else:
            own += more


_NODES: Final = ("brokers", "node_endpoints")
_LEVELS_MAX: Final = 9
"""No message has so many."""


def _taken(owner: Any, name: str) -> list[Any]:
    """Take an array out of its owner, so that nothing holds what was worked off.

    It is the array itself: to copy a long one takes long, and a collection looks at all of a new.
    """
    items: Any = getattr(owner, name)
    setattr(owner, name, ())
    return items if items.__class__ is list else list(items)


def _chunks(items: list[Any], levels: tuple[str, ...], most: int) -> Iterator[list[Any]]:
    chunk: list[Any] = []
    count = 0
    items.reverse()
    while items:
        item = items.pop()
        weight = _weight(item, levels, most)
        if count + weight > most and chunk:
            yield chunk
            chunk, count = [], 0
        if weight > most and levels:
            for part in _chunks(_taken(item, levels[0]), levels[1:], most):
                yield [dataclasses.replace(item, **{levels[0]: part})]
            continue
        chunk.append(item)
        count += weight
    if chunk:
        yield chunk


def _weight(item: Any, levels: tuple[str, ...], most: int) -> int:
    """Return how many entries are in ``item``; looks no further than ``most``."""
    if not levels:
        return max(
            1, getattr(item, "num_partitions", 1), len(getattr(item, "assignments", None) or ())
        )
    inner: Sequence[Any] = getattr(item, levels[0]) or ()
    if len(levels) == 1:
        return max(1, len(inner))
    count = 0
    for each in inner:
        count += _weight(each, levels[1:], most)
        if count > most:
            break
    return count or 1


@cache
def _cut_levels(answer: str) -> int:
    """Return how many levels of an answer have entries that may be cut: all but the innermost.

    Of requests that are never cut parts are refused, at any level.
    """
    cut = CUTS.get(answer.replace("Response", "Request"), _WHOLE)
    return max(map(len, cut.levels)) - 1 if cut.levels else _LEVELS_MAX


@cache
def _key_fields(struct: type[Any]) -> tuple[str, ...]:
    return tuple(
        name
        for name, row, _ in rows_of(struct)
        if not isinstance(row.wire, ArrayType) and name != "error_code"
    )


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two entries are parts of one: alike in all but their arrays and error."""
    cls: Any = one.__class__
    if not dataclasses.is_dataclass(cls) or not arrays_of(cls):
        return False
    return all(getattr(one, name) == getattr(other, name) for name in _key_fields(cls))


def _arrays_in(owner: Any) -> Iterator[tuple[Any, str]]:
    """Yield whose array and its name, outer ones first, for each in a message."""
    struct: Any = owner.__class__
    for name in arrays_of(struct):
        yield owner, name
    for name in _arrays_of_owners(struct):
        for item in getattr(owner, name) or ():
            yield from _arrays_in(item)


@cache
def _arrays_of_owners(struct: type[Any]) -> tuple[str, ...]:
    """Return a struct's arrays whose elements have arrays in turn."""
    return tuple(name for name, element in struct_arrays_of(struct) if arrays_of(element))
