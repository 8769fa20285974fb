"""What a broker promises of the table of its partitions when log dirs fail and come back.

Source: ReplicaManager.scala handleLogDirFailure, KIP-112; how they come back is KIP-18's.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any, TypeAlias

from broker.core.hosted import (
    FailedReplicas,
    HostedPartition,
    HostedPartitions,
    HostedState,
    IdleLog,
    Loss,
    OfflineReplica,
    ReplicaView,
    ReturnedReplicas,
    ReturnRule,
)
from broker.engine.control.loaded_log_dirs import LoadedLogDirs
from broker.engine.log.cleaning import Cleaning
from broker.storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    CorruptCheckpoint,
    parse_offsets,
)
from broker.storage.log_dir import LogDir
from broker.storage.recovery import LoadedLogDir
from protocol.ids import ZERO_UUID, TopicPartition
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.storage.disks import content, tree_of

Hosted: TypeAlias = "HostedPartitions[Any, Any]"
"""Any: partitions and logs of the engine, as the protocols have them."""


@of_method(HostedPartitions, "view")
def view(hosted: Hosted, tp: TopicPartition) -> Generator[None, ReplicaView, Broken]:
    """What the rules are shown of a partition is what the table has."""
    seen = yield
    if seen.state is not hosted.state_of(tp):
        return f"{tp} is {hosted.state_of(tp)}, shown as {seen}"
    online: HostedPartition | None = hosted.online_replica(tp)
    if online is not None:
        held = (online.leader_epoch, online.topic_id, online.log_dir, online.future_log_dir)
        shown = (seen.leader_epoch, seen.topic_id, seen.log_dir, seen.future_log_dir)
        if held != shown or seen.is_stopped is not online.is_stopped or seen.loss is not None:
            return f"{tp} is {held}, shown as {seen}"
        return None
    idle: IdleLog | None = hosted.idle_replica(tp)
    if seen.log_dir != (None if idle is None else idle.log_dir):
        return f"the log of {tp} lies in {idle and idle.log_dir}, shown as {seen}"
    offline = hosted.offline_replica(tp)
    known_id = offline.topic_id if offline else ZERO_UUID if idle is None else idle.topic_id
    if seen.topic_id != known_id or seen.loss is not (offline.loss if offline else None):
        return f"{tp} is {offline}, shown as {seen}"
    return None


@of_method(HostedPartitions, "put_online")
def put_online(
    hosted: Hosted, tp: TopicPartition, partition: HostedPartition
) -> Generator[None, None, Broken]:
    """A partition that is hosted is nothing else any more."""
    yield
    leftover = (hosted.offline_replica(tp), hosted.idle_replica(tp), hosted.view(tp).loss)
    if hosted.online_replica(tp) is not partition or leftover != (None, None, None):
        return f"{tp} is hosted, and still {leftover}"
    return None


@of_method(HostedPartitions, "put_offline")
def put_offline(
    hosted: Hosted, tp: TopicPartition, topic_id: bytes, log_dir: str | None
) -> Generator[None, HostedPartition | None, Broken]:
    """What goes offline serves no more, and its last leader epoch stays known."""
    online: HostedPartition | None = hosted.online_replica(tp)
    failed_epoch = hosted.view(tp).failed_epoch if online is None else online.leader_epoch
    ended = yield
    if ended is not online or hosted.state_of(tp) is not HostedState.OFFLINE:
        return f"{tp} is {hosted.state_of(tp)}, ended is {ended}"
    if hosted.offline_replica(tp) != OfflineReplica(topic_id, log_dir):
        return f"{tp} is known as {hosted.offline_replica(tp)}"
    seen = hosted.view(tp)
    if seen.failed_epoch != failed_epoch or seen.log_dir is not None:
        return f"{tp} failed in leader epoch {failed_epoch}, known is {seen}"
    return None


@of_method(HostedPartitions, "remove")
def remove(
    hosted: Hosted, tp: TopicPartition, *, any_unread: bool = False
) -> Generator[None, HostedPartition | None, Broken]:
    """What is deleted is forgotten, but for a log that a failed log dir still holds."""
    online: HostedPartition | None = hosted.online_replica(tp)
    stays = hosted.is_offline(tp) and not hosted.is_lost(tp) and hosted.idle_replica(tp) is None
    ended = yield
    wanted = HostedState.OFFLINE if stays else HostedState.ABSENT
    if ended is not online or hosted.state_of(tp) is not wanted:
        return f"{tp} is {hosted.state_of(tp)}, not {wanted}; ended is {ended}"
    if hosted.idle_replica(tp) is not None:
        return f"{tp} is removed, and its log waits for the controller"
    return None


@of_method(HostedPartitions, "on_log_dir_failed")
def on_log_dir_failed(
    hosted: Hosted, log_dir: str
) -> Generator[None, tuple[FailedReplicas, list[HostedPartition]], Broken]:
    """Exactly what lives in a failed log dir goes offline; a move to it ends, its source serves."""
    online = dict(hosted.iterate_online())
    current = [tp for tp, one in online.items() if one.log_dir == log_dir]
    moving = [
        tp for tp, one in online.items() if one.future_log_dir == log_dir and tp not in current
    ]
    idle = [tp for tp, log in hosted.iterate_idle() if log.log_dir == log_dir]
    failed, ended = yield
    if (list(failed.current), list(failed.future), list(failed.idle)) != (current, moving, idle):
        return f"{log_dir} takes {failed}, not {current}, {moving}, {idle}"
    if any(one is not online[tp] for tp, one in zip(current, ended, strict=True)):
        return f"{log_dir} fails, ended are {ended}"
    left = [tp for tp in current if not hosted.is_offline(tp)]
    left += [tp for tp in idle if hosted.idle_replica(tp) is not None]
    left += [tp for tp in moving if hosted.online_replica(tp) is not online[tp]]
    if left:
        return f"{log_dir} fails, and {left} are as before"
    lost = [tp for tp, one in hosted.iterate_offline() if one.log_dir == log_dir and one.loss]
    return f"{lost} are known as lost in {log_dir}, where nobody can look" if lost else None


@of_method(HostedPartitions, "on_log_dir_returned")
def on_log_dir_returned(
    hosted: Hosted, log_dir: str, found: Mapping[TopicPartition, IdleLog], rule: ReturnRule
) -> Generator[None, ReturnedReplicas, Broken]:
    """What should be there and is not is lost; what is nobody's is told; nothing else changes."""
    before = dict(hosted.iterate_offline())
    online = [tp for tp, _ in hosted.iterate_online()]
    known = {*online, *(tp for tp, _ in hosted.iterate_idle())}
    returned = yield
    strays = set(returned.strays)
    unasked = [tp for tp in returned.found if tp not in found or not rule.takes(tp)]
    if unasked or strays - set(found):
        return f"found are {list(found)}, taken in {returned}"
    wrong = [tp for tp in found if _is_nobodys(tp, found[tp], before, known) and tp not in strays]
    if wrong:
        return f"{wrong} are another's, and taken in: {returned}"
    mine = [tp for tp in strays if tp in before and not _is_another(found[tp], before[tp])]
    if mine:
        return f"{mine} are replicas of this broker, and nobody's: {returned}"
    gone = [
        tp
        for tp, one in before.items()
        if (tp not in found or tp in strays) and tp not in known
        if one.log_dir == log_dir or (rule.is_last and one.log_dir is None)
    ]
    if sorted(returned.lost) != sorted(gone):
        return f"lost are {returned.lost}, not {gone}"
    wrong = [tp for tp in gone if not _is_lost_as_told(hosted.offline_replica(tp), rule, tp)]
    if wrong or [tp for tp in gone if before[tp].log_dir == log_dir] != list(returned.belonging):
        return f"lost are {gone}, {wrong} not as {rule} says; of {log_dir}: {returned}"
    return _not_taken_in(hosted, {tp: found[tp] for tp in found if tp not in strays}, rule)


def _is_lost_as_told(known: OfflineReplica | None, rule: ReturnRule, tp: TopicPartition) -> bool:
    """Tell whether a loss is accepted only where the one who asked has named the replica."""
    wanted = rule.loss if rule.takes(tp) else Loss.REBUILD
    return known is not None and known.loss is wanted


def _not_taken_in(
    hosted: Hosted, taken: Mapping[TopicPartition, IdleLog], rule: ReturnRule
) -> Broken:
    """Say which logs that came back are not known, or do not wait as the rule says."""
    for tp, log in taken.items():
        wanted = HostedState.ABSENT if rule.takes(tp) else HostedState.OFFLINE
        if hosted.idle_replica(tp) is not log or hosted.state_of(tp) is not wanted:
            return f"{tp} came back and is {hosted.view(tp)}"
    return None


def _is_another(log: IdleLog, known: OfflineReplica) -> bool:
    return any(log.topic_id) and any(known.topic_id) and log.topic_id != known.topic_id


def _is_nobodys(
    tp: TopicPartition,
    log: IdleLog,
    offline: Mapping[TopicPartition, OfflineReplica],
    known: Iterable[TopicPartition],
) -> bool:
    """Tell whether a log that came back is of another topic, or hosted in another log dir."""
    return _is_another(log, offline[tp]) if tp in offline else tp in known


@of_method(HostedPartitions, "release")
def release(
    hosted: Hosted, tps: Iterable[TopicPartition]
) -> Generator[None, tuple[TopicPartition, ...], Broken]:
    """Only a partition whose log is back waits for the controller."""
    ready = {tp for tp, _ in hosted.iterate_offline() if hosted.idle_replica(tp) is not None}
    released = yield
    wrong = [tp for tp in released if tp not in ready or hosted.is_offline(tp)]
    return f"{wrong} are released" if wrong else None


@of_method(HostedPartitions, "accept_loss")
def accept_loss(
    hosted: Hosted, tps: Iterable[TopicPartition]
) -> Generator[None, tuple[TopicPartition, ...], Broken]:
    """Only what is lost may begin empty."""
    lost = {tp for tp, _ in hosted.iterate_offline() if hosted.is_lost(tp)}
    accepted = yield
    for tp, offline in hosted.iterate_offline():
        if (tp in lost) is not (offline.loss is not None):
            return f"{tp} becomes {offline}"
        if tp in accepted and offline.loss is not Loss.ACCEPTED:
            return f"{tp} is accepted as {offline}"
    return None


@of_method(LoadedLogDirs, "_bring_back")
def bring_back(
    loaded: LoadedLogDirs, log_dir: LogDir, found: LoadedLogDir, rule: ReturnRule
) -> Generator[None, ReturnedReplicas, Broken]:
    """A log of no known replica is kept where nobody ever named what its log dir holds.

    Elsewhere it is nobody's: its replica was deleted while its log dir was away.
    """
    state, hosted = loaded._state, loaded._state.hosted  # noqa: SLF001 -- nothing public has it
    was_locked = state.control_turn.locked()
    is_unread = state.log_dir_states.is_unread(log_dir.path)
    unknown = [
        log.topic_partition
        for log in found.logs
        if not log.is_future
        if hosted.state_of(log.topic_partition) is HostedState.ABSENT
        if hosted.idle_replica(log.topic_partition) is None
        if log.topic_partition not in hosted._deleted  # noqa: SLF001 -- as above
    ]
    returned = yield
    elsewhere = [
        tp for tp in returned.belonging if state.log_dir_states.preferred(tp) != log_dir.path
    ]
    if elsewhere:
        return f"the lost {elsewhere} of {log_dir.path} would be made anew anywhere"
    if was_locked:
        return None  # What was found may have become another's meanwhile.
    wrong = [tp for tp in unknown if (tp in returned.strays) is is_unread]
    return f"{log_dir.path}, unread: {is_unread}: {wrong} of {returned}" if wrong else None


@of_method(Cleaning, "log_dir_returned")
def cleaning_goes_on(cleaning: Cleaning, log_dir: LogDir) -> Generator[None, None, Broken]:
    """How far the logs of a log dir are compacted is known before they may change again."""
    tree = tree_of(log_dir.disk)
    written = b"" if tree is None else content(tree, CLEANER_OFFSET_CHECKPOINT) or b""
    yield
    known = cleaning._state.cleaner_offsets.offsets_of(log_dir.path)  # noqa: SLF001 -- as above
    if tree_of(log_dir.disk) is None or tree is None or not log_dir.is_online:
        return None
    try:
        wanted = parse_offsets(written)
    except CorruptCheckpoint:
        return None
    return None if known == wanted else f"{log_dir.path} is compacted up to {wanted}: {known}"
