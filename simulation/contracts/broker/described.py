"""What a broker promises of its answers about its own logs, and about what it does not have.

Source: ReplicaManager.scala describeLogDirs, getPartitionOrError; KIP-113.
"""

# pyright: reportPrivateUsage=false
# ruff: noqa: SLF001 -- nothing public has what the engine knows

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TypeAlias

from broker.engine.serve.describe import Describe
from broker.engine.state import EngineState
from broker.engine.types import LeaderHint, LogDirDescription
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from simulation.contracts.contract import Broken, of_method

Log: TypeAlias = tuple[str, TopicPartition, bool]
"""Log dir, replica, and whether it is the log to which that moves."""


@of_method(Describe, "log_dirs")
def log_dirs(
    describe: Describe, topics: Mapping[str, Sequence[int]] | None
) -> Generator[None, list[LogDirDescription], Broken]:
    """Each log dir is described: an offline one as such, others with what was asked for there."""
    described = yield
    states = describe._state.log_dir_states
    told = [(each.path, each.error_code is ErrorCode.NONE) for each in described]
    wanted = [(path, states.is_online(path)) for path in describe._state.log_dirs]
    if told != wanted:
        return f"{wanted} are online or not, told is {told}"
    if cordoned := [e.path for e in described if e.is_cordoned is not _is_cordoned(describe, e)]:
        return f"the cordons of {cordoned} are told wrongly"
    lags = {
        (each.path, one.tp, one.is_future): (one.size_bytes, one.offset_lag)
        for each in described
        for one in each.replicas
    }
    asked = None if topics is None else {topic: frozenset(of) for topic, of in topics.items()}
    if unasked := [str(tp) for _, tp, _ in lags if not _is_asked(tp, asked)]:
        return f"asked was for {topics}, told is of {unasked}"
    there = {log: lag for log, lag in _logs(describe._state) if _is_asked(log[1], asked)}
    wrong = {log: (lag, lags.get(log)) for log, lag in there.items() if lags.get(log) != lag}
    return f"size and lag, and what is told: {wrong}" if wrong else None


def _is_cordoned(describe: Describe, told: LogDirDescription) -> bool:
    states = describe._state.log_dir_states
    return states.is_online(told.path) and states.is_cordoned(told.path)


def _is_asked(tp: TopicPartition, topics: Mapping[str, frozenset[int]] | None) -> bool:
    return topics is None or tp.partition in topics.get(tp.topic, ())


def _logs(state: EngineState) -> Iterator[tuple[Log, tuple[int, int]]]:
    """Give the logs of online replicas, where they are, with their sizes and lags.

    A log lacks what is committed and it does not have; one to which a replica moves, what that has.
    """
    for tp, replica in state.hosted.iterate_online():
        partition, log = replica.partition, replica.log
        lag = max(0, partition.high_watermark - partition.log_end_offset)
        if state.log_dir_states.is_online(log.log_dir):
            yield (log.log_dir, tp, False), (log.files.size_bytes, lag)
        future = None if replica.future is None else replica.future.log
        if future is not None and state.log_dir_states.is_online(future.log_dir):
            lag = partition.log_end_offset - future.positions.log_end_offset
            yield (future.log_dir, tp, True), (future.files.size_bytes, lag)


@of_method(EngineState, "absence")
def absence(
    state: EngineState, tp: TopicPartition, *, of_marker: bool = False
) -> Generator[None, ErrorCode, Broken]:
    """What is not online here is offline here, or elsewhere, or nowhere that is known."""
    code = yield
    if state.hosted.is_offline(tp):
        is_right = code is ErrorCode.KAFKA_STORAGE_ERROR
    elif state.metadata.has_partition(tp) and not of_marker:
        is_right = code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    else:
        is_right = code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return None if is_right else f"{tp} is told to be {code.name}"


@of_method(EngineState, "leader_hint")
def leader_hint(state: EngineState, tp: TopicPartition) -> Generator[None, LeaderHint, Broken]:
    """Who is sent to a leader is sent to the newest one that is known here."""
    hint = yield
    known = [tuple(state.metadata.leader_of(tp))]
    replica = state.hosted.online_replica(tp)
    if replica is not None:
        known.append((replica.partition.leader_id, replica.leader_epoch))
    newest = max(epoch for _, epoch in known)
    is_right = hint in known and hint.leader_epoch == newest
    return None if is_right else f"{tp}: {hint} is told, known are {known}"
