"""What a coordinator has is what another one would load: its shards against their own logs.

Once nothing of a shard is to be written its log has all of it, but for what is of no use to the
next coordinator, such as who waits. A record that is left out or written wrongly shows only to who
loads the log. Reads attributes and files and changes nothing. Source: CoordinatorLoaderImpl.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Final, NamedTuple

from broker.app import Broker
from broker.coordinators.coordinator_log import _replayed
from broker.coordinators.shard_host import ShardHost
from broker.core.groups.classic_group import ClassicGroup, GroupState
from broker.core.groups.consumer.consumer_group import ConsumerGroup
from broker.core.groups.group_members import GroupMembers
from broker.core.groups.group_metadata import group_record
from broker.core.groups.group_offsets import GroupOffsets
from broker.core.groups.group_shard import GroupShard
from broker.core.transaction_state.metadata import PREPARED
from broker.core.transaction_state.shard import TransactionShard
from broker.core.transaction_state.stored import record_of
from broker.engine.replica import Replica
from broker.storage.layout import LOG_SUFFIX, parse_segment_file_name
from protocol.errors import Malformed
from protocol.records.batch import UnsupportedMagic, check_crc, iterate_batches
from protocol.records.records import iterate_record_views
from simulation.core.checkers.settled import UNMARKED
from simulation.sampling.logs import Files

_AT_REST: Final = (GroupState.EMPTY, GroupState.STABLE)
"""In the others a group is on its way, and the log has what it was."""


class _Kept(NamedTuple):
    """Something of a shard: as the shard has it, and as the log has it."""

    what: str
    has: object
    loaded: object


def contradictions_of_shards(
    who: str, broker: Broker, files_of: Mapping[str, Files]
) -> Iterator[str]:
    """Give what shards of one broker have otherwise than their logs, a sentence each.

    Args:
        who: the broker, as people call it.
        broker: one that runs.
        files_of: what lies in each log dir.
    """
    engine = broker.broker_control.engine
    if engine is None:
        return
    coordinators = broker._parts.coordinators  # noqa: SLF001 -- no broker shows its shards
    for host in (*coordinators.groups.hosts(), *coordinators.transactions.shards.hosts()):
        replica = engine.state.hosted.online_replica(host.tp)
        if replica is None or not is_quiet(host) or _may_be_refused(host, replica):
            continue
        loaded = _loaded(host, replica, files_of[replica.log_dir])
        for what, has, wanted in () if loaded is None else compared(host.shard, loaded):
            if has != wanted:
                yield f"{who} has {what} of {host.tp} as {has}, and would load {wanted}"


def is_quiet(host: ShardHost[Any]) -> bool:
    """Tell whether a shard is there, and nothing of it is on its way to the log."""
    return host.is_loaded and not host._unwritten and not host._in_flight  # noqa: SLF001 -- as above


def _may_be_refused(host: ShardHost[Any], replica: Replica) -> bool:
    """Tell whether a marker may be in the log that counts for nobody yet, and is sent again.

    It is not replicated, or was not in time: the log takes nothing then (seed 840556).
    """
    partition = replica.partition
    return partition.high_watermark < partition.next_offset or not host.takes_records


def forgotten_ends(who: str, broker: Broker) -> Iterator[str]:
    """Give transactions that are to end and whose markers nobody writes, a sentence each.

    Only where all is well: a coordinator that is put out may forget what another one goes on with.
    """
    transactions = broker._parts.coordinators.transactions  # noqa: SLF001 -- as above
    sendings = transactions._channels._sendings  # noqa: SLF001 -- as above
    sent = {progress.due.transactional_id for progress in sendings}
    for host in transactions.shards.hosts():
        if is_quiet(host) and host.takes_records:
            for each in host.shard.transactions():
                if each.state in PREPARED and each.transactional_id not in sent:
                    name = each.transactional_id
                    yield f"{who} has {name} as {each.state.name}, and {UNMARKED}"


# The log.


def _loaded(host: ShardHost[Any], replica: Replica, files: Files) -> Any:
    """Return a new shard with all that the log has; None: a disk damaged it."""
    shard, partition = host._new_shard(), replica.partition  # noqa: SLF001 -- as above
    at = partition.log_start_offset
    try:
        for data in _segments(files, str(host.tp)):
            for position, header in iterate_batches(data):
                if header.next_offset <= at or header.base_offset >= partition.next_offset:
                    continue
                if not check_crc(data, position, header):
                    return None
                for _ in _replayed(shard, header, iterate_record_views(data, position, header)):
                    pass
                at = header.next_offset
    except (Malformed, UnsupportedMagic):
        return None
    return shard if at == partition.next_offset else None


def _segments(files: Files, name: str) -> Iterator[bytes]:
    if not files.is_dir(name):
        return
    found = sorted(
        (parsed[0], file)
        for file in files.list_dir(name)
        if (parsed := parse_segment_file_name(file)) is not None and parsed[1] == LOG_SUFFIX
    )
    for _, file in found:
        yield files.read_file(f"{name}/{file}")


# The comparison.


def compared(shard: object, loaded: object) -> Iterator[_Kept]:
    """Give all that the next coordinator has to know, of a shard and of what its log has."""
    if isinstance(shard, TransactionShard) and isinstance(loaded, TransactionShard):
        yield _Kept("transactional ids", _ids(shard), _ids(loaded))
    elif isinstance(shard, GroupShard) and isinstance(loaded, GroupShard):
        yield _Kept("offsets", _offsets(shard.offsets), _offsets(loaded.offsets))
        yield _Kept("pending offsets", _pending(shard.offsets), _pending(loaded.offsets))
        yield from _groups(shard.members, loaded.members)


def _ids(shard: TransactionShard) -> object:
    return {
        each.transactional_id: record_of(each, shard._transaction_version)[1]  # noqa: SLF001 -- as above
        for each in shard.transactions()
    }


def _offsets(offsets: GroupOffsets) -> object:
    return {
        (group_id, tp): found[:-1]
        for group_id in offsets.group_ids()
        for tp, found in offsets.committed(group_id).items()
    }


def _pending(offsets: GroupOffsets) -> object:
    return {
        (producer_id, group_id, tp): found[:-1]
        for producer_id, groups in offsets._pending.items()  # noqa: SLF001 -- as above
        for group_id, by_tp in groups.items()
        for tp, found in by_tp.items()
    }


def _groups(members: GroupMembers, loaded: GroupMembers) -> Iterator[_Kept]:
    stored = {each.group_id: each for each in members.classic.groups if each.is_stored}
    found = {each.group_id: each for each in loaded.classic.groups}
    yield _Kept("classic groups", sorted(stored), sorted(found))
    for group_id, group in stored.items():
        if group.state in _AT_REST and group_id in found:
            yield _Kept(f"group {group_id}", _stored(group), _stored(found[group_id]))
    there = {each.group_id: each for each in members.consumer.groups}
    consumers = {each.group_id: each for each in loaded.consumer.groups}
    yield _Kept("consumer groups", sorted(there), sorted(consumers))
    for group_id, group in there.items():
        if group_id in consumers:
            yield _Kept(f"group {group_id}", _consumers(group), _consumers(consumers[group_id]))


def _stored(group: ClassicGroup) -> object:
    """Return what a record of a group tells; since when it is stable is told, and of no use."""
    told = copy(group)
    if group.members:
        told.state_since_ms = None
    return group_record(told)[1]


def _consumers(group: ConsumerGroup) -> object:
    return {
        "epochs": (group.epoch, group.metadata_hash, group.assignment_epoch, group.assignment_ms),
        "members": {who: replace(one, regex=one.regex or "") for who, one in group.members.items()},
        "targets": {who: target for who, target in group.targets.items() if target},
        "regexes": group.regexes,
        "old": group.has_partition_metadata_record,
    }
