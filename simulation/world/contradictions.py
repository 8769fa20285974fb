"""What brokers and the controller keep twice, or for a time, agrees when nothing is under way.

Counts, indexes and queues are made to answer quickly; who forgets to keep one is seen by nobody
until something is decided by it. Reads attributes and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from broker.engine.engine import Engine
from broker.engine.replica import Replica
from broker.engine.state import EngineState
from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.run_state import RunState
from controller.core.state import ClusterState
from protocol.ids import NO_LEADER, ZERO_UUID, TopicPartition, listed


def contradictions_of_broker(engine: Engine, decided: ClusterState) -> Iterator[str]:
    """Give what one broker has in two ways, or otherwise than decided, a sentence each."""
    state = engine.state
    who = f"broker {state.broker_id}"
    yield from _of_loops(who, engine, decided)
    counts = Counter(here.log.log_dir for here in state.iterate_logs())
    for path in state.log_dir_states.online_paths:
        counted = state.log_dir_states.log_count(path)
        if counted != counts[path]:
            yield f"{who} counts {counted} logs in {path}, and has {counts[path]}"
    if state.is_moving and not any(replica.future for _, replica in state.hosted.iterate_online()):
        yield f"{who} keeps logs from being cleaned for moves, and moves none"
    for tp, replica in state.hosted.iterate_online():
        said, begins = replica.partition.log_start_offset, replica.log.files.log_start_offset
        if said < begins:  # What it says may be more: files stay until retention removes them.
            yield f"{who} has {tp} begin at {said}, and its files at {begins}"
        if not decided.is_being_deleted(tp.topic) and decided.find(tp) is not None:
            yield from _of_replica(who, tp, replica, decided)
    yield from _of_metadata(who, state, decided)


def leftovers_of_broker(engine: Engine, decided: ClusterState) -> Iterator[str]:
    """Give the logs of one broker that wait for a word of the controller, and will hear none."""
    for tp, log in engine.state.hosted.iterate_idle():
        partition = decided.find(tp)
        if partition is None or engine.state.broker_id not in partition.replicas:
            yield (
                f"broker {engine.state.broker_id} has a log of {tp} in {log.log_dir}, which is no "
                f"replica of its, and is not told to delete it"
            )


def contradictions_of_controller(state: ClusterState, run: RunState) -> Iterator[str]:
    """Give what the controller has in two ways, a sentence each."""
    partitions = {tp: state.partition(tp) for tp in state.partitions()}
    hosted: dict[int, list[TopicPartition]] = {}
    for tp, partition in partitions.items():
        for broker in partition.replicas:
            hosted.setdefault(broker, []).append(tp)
    for broker in dict.fromkeys((*state.hosted, *hosted)):
        yield from _differ(
            f"partitions of broker {broker}", state.hosted.get(broker, ()), hosted.get(broker, ())
        )
    reachable = state.reachable_brokers()
    moving = [tp for tp, partition in partitions.items() if partition.is_reassigning]
    ids = {topic.topic_id: topic.name for topic in state.topics.values()}
    yield from _differ("partitions being reassigned", state.reassigning, moving)
    yield from _differ("topic ids", state.topic_names.items(), ids.items())
    yield from _differ("brokers with a channel", run.channels, reachable)
    yield from _differ("brokers that send heartbeats", run.last_seen_ms, reachable)
    for broker, progress in run.channels.items():
        if progress.answered != progress.sent:
            yield (
                f"the controller waits for an answer of broker {broker}: it was sent request "
                f"{progress.sent} and has answered {progress.answered}"
            )
    for broker in reachable:
        removed = state.removed.get(broker, {})
        if removed and not state.brokers[broker].offline_log_dirs:
            yield (
                f"the controller waits for broker {broker} to delete {listed(list(removed))}, "
                "which reassignments took from it"
            )
    yield from _of_phases(state, run)


_SLOTS_FOR_ALL: Final = 64
"""Fetch sessions that each follower of a broker has its own of, and each of its clients."""


def _of_loops(who: str, engine: Engine, decided: ClusterState) -> Iterator[str]:
    """Compare what fetchers and movers work on with the replicas that want it."""
    followed = [
        replica.partition.leader_id
        for _, replica in engine.state.hosted.iterate_online()
        if not replica.partition.is_leader and not replica.is_stopped
    ]
    leaders = sorted({leader for leader in followed if leader >= 0})
    if sorted(engine.following.source_ids) != leaders:
        yield f"{who} fetches from {sorted(engine.following.source_ids)}, and follows {leaders}"
    slots = engine.state.config.max_incremental_fetch_session_cache_slots
    unsettled = [
        source
        for source, keys in engine.following.unsettled.items()
        if any(_is_decided(topic_id, decided) for topic_id, _ in keys)
    ]
    if slots >= _SLOTS_FOR_ALL and unsettled:
        yield f"{who} follows partitions of {unsettled} that it does not fetch within a session"
    moving = sum(replica.future is not None for _, replica in engine.state.hosted.iterate_online())
    if engine.moves.active_count > moving:
        yield f"{who} has {engine.moves.active_count} moves in line, and moves {moving} replicas"


def _is_decided(topic_id: bytes, decided: ClusterState) -> bool:
    """Tell whether the controller knows a topic.

    Of one that its journal lost, and whose name is another one's now, brokers that hold replicas
    are told nothing: they keep what they have, and the leader may have another log (seed 833132).
    """
    return topic_id == ZERO_UUID or topic_id in decided.topic_names


def _of_replica(
    who: str, tp: TopicPartition, replica: Replica, decided: ClusterState
) -> Iterator[str]:
    partition, told = replica.partition, decided.partition(tp)
    if partition.broker_id not in told.replicas or told.leader == NO_LEADER:
        return
    for what, has, wanted in (
        ("leader", partition.leader_id, told.leader),
        ("leader epoch", partition.leader_epoch, told.leader_epoch),
        ("replicas", partition.replicas, told.replicas),
        ("adding replicas", partition.adding_replicas, told.adding_replicas),
        ("removing replicas", partition.removing_replicas, told.removing_replicas),
        ("topic id", replica.topic_id.hex(), decided.topics[tp.topic].topic_id.hex()),
    ):
        if has != wanted:
            yield f"{who} has {tp} with {what} {has}, and the controller has {wanted}"
    if not partition.is_leader:
        return
    others = [broker for broker in partition.replicas if broker != partition.broker_id]
    if sorted(partition.followers) != sorted(others):
        yield (
            f"{who} leads {tp} with followers {sorted(partition.followers)}, and its replicas are "
            f"{list(partition.replicas)}"
        )
    if partition.isr.partition_epoch != told.partition_epoch:
        yield (
            f"{who} leads {tp} at partition epoch {partition.isr.partition_epoch}, and the "
            f"controller has {told.partition_epoch}"
        )
    if partition.isr.proposed is not None:
        yield f"{who} leads {tp} and still waits for an Isr of {list(partition.isr.proposed)}"


def _of_metadata(who: str, state: EngineState, decided: ClusterState) -> Iterator[str]:
    live = [broker.id for broker in state.metadata.live_brokers()]
    yield from _differ("live brokers", live, decided.reachable_brokers(), of=f"{who}'s metadata")
    names = [name for name in decided.topics if not decided.is_being_deleted(name)]
    known = [topic.name for topic in state.metadata.topics()]
    known = [name for name in known if not decided.is_being_deleted(name)]
    yield from _differ("topics", known, names, of=f"{who}'s metadata")
    for tp in decided.partitions():
        image, told = state.metadata.partition(tp), decided.partition(tp)
        if image is None or decided.is_being_deleted(tp.topic) or not told.has_leadership:
            continue
        for what, has, wanted in (
            ("leader", image.leader, told.leader),
            ("leader epoch", image.leader_epoch, told.leader_epoch),
            ("replicas", image.replicas, told.replicas),
            ("Isr", image.isr, told.isr),
            ("offline replicas", image.offline_replicas, tuple(decided.offline_replicas(tp))),
        ):
            if sorted(_listed(has)) != sorted(_listed(wanted)):
                yield f"{who}'s metadata has {tp} with {what} {has}, and decided is {wanted}"


def _of_phases(state: ClusterState, run: RunState) -> Iterator[str]:
    for tp in state.partitions():
        partition = state.partition(tp)
        if state.is_being_deleted(tp.topic) or not partition.has_leadership:
            continue
        phase = run.phase_of(tp)
        if (partition.leader != NO_LEADER) != (phase is PartitionPhase.ONLINE):
            yield f"the controller has {tp} with leader {partition.leader} in phase {phase.name}"
        for broker in partition.replicas:
            replica_phase = run.replica_phase_of(tp, broker)
            is_online = state.is_replica_online(tp, broker)
            if is_online != (replica_phase in (ReplicaPhase.ONLINE, ReplicaPhase.NEW)):
                yield (
                    f"the controller has the replica of {tp} on broker {broker} in phase "
                    f"{replica_phase.name}, which is {'online' if is_online else 'offline'}"
                )


def _differ(
    what: str, kept: Iterable[object], found: Iterable[object], of: str = "the controller"
) -> Iterator[str]:
    one, other = sorted(map(str, kept)), sorted(map(str, found))
    if one != other:
        yield f"the {what} of {of} are {one}, and should be {other}"


def _listed(value: int | Iterable[int]) -> Iterable[int]:
    return (value,) if isinstance(value, int) else value
