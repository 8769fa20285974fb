"""What is promised of markers on their way: none is forgotten, and none counts before it is there.

Source: TransactionMarkerChannelManager.scala, KafkaApis.handleWriteTxnMarkersRequest.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import Any, Final, TypeAlias, cast

from broker.context import Context
from broker.coordinators.marker_channels import MarkerChannels, _Part
from broker.coordinators.shard_host import ShardHost
from broker.coordinators.shards import Shards
from broker.coordinators.transactions import Transactions
from broker.core.groups.group_offsets import Committed, GroupOffsets
from broker.core.groups.group_shard import GroupShard
from broker.core.transaction_state.marker_progress import MarkerProgress
from broker.core.transaction_state.shard import MarkersDue, TransactionShard
from broker.engine_ports import BegunProduce
from broker.handlers import write_txn_markers
from broker.handlers.write_txn_markers import _MarkerCode
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.transactions import WritableTxnMarker
from protocol.topic_names import CONSUMER_OFFSETS
from simulation.contracts.contract import Broken, OfRun, of_function, of_method

_Place: TypeAlias = tuple[str, TopicPartition]
_put_off: Final[OfRun[MarkerChannels, dict[_Part, None]]] = OfRun()
"""The markers that are tried again later."""


_decided_by: Final[
    OfRun[
        MarkerChannels, dict[MarkerProgress, tuple[ShardHost[TransactionShard], TransactionShard]]
    ]
] = OfRun()
"""Which shard decided the end of the transactions whose markers are under way."""


def _later(channels: MarkerChannels) -> dict[_Part, None]:
    return _put_off.setdefault(channels, {})


def _is_due(channels: MarkerChannels, part: _Part) -> bool:
    """Tell whether somebody still wants a marker, and nobody has said that it is there."""
    sending = channels._sendings.get(part.progress)  # noqa: SLF001 -- nothing public has it
    is_wanted = sending is not None and sending.is_wanted() and not part.progress.is_over
    return is_wanted and part.tp in part.progress.left


def _queued(channels: MarkerChannels) -> Iterator[_Part]:
    for channel in channels._channels._channels.values():  # noqa: SLF001 -- as above
        yield from channel.queue


@of_method(Transactions, "_on_effect")
def on_effect(
    transactions: Transactions, host: ShardHost[TransactionShard], due: MarkersDue
) -> Generator[None, None, Broken]:
    """Markers carry the epoch of the coordinator that has them written."""
    channels = transactions._channels  # noqa: SLF001 -- nothing public has it
    before, shard = set(channels._sendings), host.shard  # noqa: SLF001 -- as above
    yield
    sendings = channels._sendings  # noqa: SLF001 -- as above
    known = _decided_by.get(channels, {})
    kept = {progress: known[progress] for progress in sendings if progress in known}
    begun = [progress for progress in sendings if progress not in before]
    _decided_by[channels] = {**kept, **dict.fromkeys(begun, (host, shard))}
    wrong = [
        each.coordinator_epoch for each in begun if each.coordinator_epoch != host.leader_epoch
    ]
    return f"{due} goes out in epoch {wrong}, not {host.leader_epoch}" if wrong else None


def _is_of_a_dropped_shard(channels: MarkerChannels, part: _Part) -> bool:
    host, shard = _decided_by.get(channels, {}).get(part.progress, (None, None))
    return host is not None and shard is not None and not host.holds(shard)


@of_method(MarkerChannels, "_route_later")
def put_off(channels: MarkerChannels, part: _Part) -> Generator[None, None, Broken]:
    """A marker is tried again once for each time that it did not get through."""
    yield
    is_put_off = part in _later(channels)
    _later(channels)[part] = None
    return f"{part} is put off twice" if is_put_off else None


@of_method(MarkerChannels, "_route")
def route(channels: MarkerChannels, part: _Part) -> Generator[None, None, Broken]:
    """A marker goes to whoever leads its partition, or is tried again; a deleted topic has none."""
    _later(channels).pop(part, None)
    was_due = _is_due(channels, part)
    yield
    if not channels._channels.is_running:  # noqa: SLF001 -- as above
        return None
    if _is_due(channels, part):
        is_on_its_way = part in _later(channels) or part in _queued(channels)
        return None if is_on_its_way else f"{part} is forgotten"
    has_topic = channels._ports.metadata.has_topic(part.tp.topic)  # noqa: SLF001 -- as above
    is_lost = was_due and has_topic and not part.progress.is_over
    return f"{part} is forgotten, and its topic is there" if is_lost else None


@of_method(MarkerChannels, "_taken")
def taken(channels: MarkerChannels, parts: deque[_Part]) -> Generator[None, list[_Part], Broken]:
    """What does not go into this request goes into a later one; a producer is in it once.

    Who does not coordinate a transaction any more writes no markers of it.
    """
    before = [each for each in parts if _is_due(channels, each)]
    found = yield
    missing = [each for each in before if each not in found and each not in parts]
    if missing:
        return f"{missing} are forgotten"
    if unwanted := [each for each in found if each not in before]:
        return f"{unwanted} are written, and nobody wants them any more"
    if old := [each for each in found if _is_of_a_dropped_shard(channels, each)]:
        return f"{old} are written, and their shard was loaded anew since"
    owners: dict[int, MarkerProgress] = {}
    for each in found:
        if owners.setdefault(each.progress.due.producer_id, each.progress) is not each.progress:
            return f"answers go by producer ids, and one is there twice: {found}"
    return None


# Any: the client of a broker.
@of_method(MarkerChannels, "_ask")
def ask(
    channels: MarkerChannels, client: Any, parts: Sequence[_Part]
) -> Generator[None, None, Broken]:
    """Whatever comes of a request, each marker is there or is tried again."""
    del client
    yield
    lost = [each for each in parts if _is_due(channels, each)]
    lost = [each for each in lost if each not in _later(channels)]
    return f"{lost} are forgotten" if lost else None


# Who has the markers.


def _offsets(context: Context, tp: TopicPartition) -> GroupOffsets | None:
    """Return the offsets of a partition whose coordinator this broker is, once it knows them."""
    groups = context.groups
    if not isinstance(groups, Shards):
        return None
    hosts = cast("Shards[GroupShard]", groups).hosts()
    found = (host.shard.offsets for host in hosts if host.tp == tp and host.is_loaded)
    return next(found, None)


def _pending(offsets: GroupOffsets, producer_id: int) -> dict[_Place, Committed]:
    groups = offsets._pending.get(producer_id, {})  # noqa: SLF001 -- nothing public has it
    return {(each, tp): had for each in groups for tp, had in groups[each].items()}


def _committed(offsets: GroupOffsets, places: Sequence[_Place]) -> dict[_Place, Committed | None]:
    return {(each, tp): offsets.committed(each).get(tp) for each, tp in places}


@of_function(write_txn_markers._finish)  # noqa: SLF001 -- the handler itself only begins
def finish(
    context: Context,
    asked: Sequence[tuple[WritableTxnMarker, TopicPartition]],
    begun: BegunProduce,
) -> Generator[None, Sequence[_MarkerCode], Broken]:
    """Offsets of a transaction count, or do not, once its marker is replicated, as that says.

    Markers that are waited for together end one transaction after the other.
    """
    del begun
    seen = [
        (
            marker,
            offsets,
            (pending := _pending(offsets, marker.producer_id)),
            _committed(offsets, list(pending)),
        )
        for marker, tp in asked
        if tp.topic == CONSUMER_OFFSETS and (offsets := _offsets(context, tp)) is not None
    ]
    told_codes = yield
    codes = _codes(told_codes)
    wanted: dict[tuple[int, _Place], Committed | None] = {}
    for marker, offsets, pending, before in seen:
        told, left = codes.get(marker.producer_id, []), _pending(offsets, marker.producer_id)
        for place, each in before.items():
            wanted.setdefault((id(offsets), place), each)
        if told == [ErrorCode.NONE]:
            _end(wanted, id(offsets), pending if marker.transaction_result else {})
        elif ErrorCode.NONE in told:
            return None  # Several of one producer: answers do not tell which.
        if left != ({} if told == [ErrorCode.NONE] else pending):
            return f"{left} is pending after {marker}, {pending} was: {told}"
    for marker, offsets, _, before in seen:
        for place, now in _committed(offsets, list(before)).items():
            if now != wanted[id(offsets), place]:
                return f"{now} is at {place}, not {wanted[id(offsets), place]}, after {marker}"
    return None


def _codes(told: Sequence[_MarkerCode]) -> dict[int, list[ErrorCode]]:
    """Return what is told of the offsets of each producer."""
    codes: dict[int, list[ErrorCode]] = {}
    for producer_id, tp, code in told:
        if tp.topic == CONSUMER_OFFSETS:
            codes.setdefault(producer_id, []).append(code)
    return codes


def _end(
    wanted: dict[tuple[int, _Place], Committed | None],
    offsets: int,
    pending: dict[_Place, Committed],
) -> None:
    """Let what was pending count, where nothing newer is there."""
    for place, each in pending.items():
        earlier = wanted[offsets, place]
        wanted[offsets, place] = each if earlier is None or earlier.order < each.order else earlier
