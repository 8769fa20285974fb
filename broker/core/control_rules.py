"""What a broker does with LeaderAndIsr, StopReplica and UpdateMetadata, partition by partition.

It only decides: the engine creates logs, becomes leader or follower and reports failures back
before the answer is built. Old request layouts are normalised before they come here.
Source: ReplicaManager.scala becomeLeaderOrFollower and stopReplicas, KafkaApis.scala, KIP-112.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import NamedTuple

from broker.core.hosted import HostedState, Loss, ReplicaView, is_another_topic
from broker.core.log_dirs import LogDirStates
from protocol.errors import ErrorCode
from protocol.ids import (
    EPOCH_DURING_DELETE,
    NO_EPOCH,
    NO_LEADER,
    ZERO_UUID,
    BrokerId,
    TopicPartition,
)
from protocol.messages.control import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
    StopReplicaPartitionState,
    StopReplicaRequest,
)


def check_control_epochs(
    *, broker_epoch: int, own_broker_epoch: int, controller_epoch: int, seen_controller_epoch: int
) -> ErrorCode:
    """Decide whether a request of a controller is obeyed; on NONE remember its controller epoch.

    The first two are the request's and this broker's epoch of registration; -1 in a request is
    always accepted.

    Returns:
        STALE_BROKER_EPOCH or STALE_CONTROLLER_EPOCH for the whole request, else NONE.
    """
    if NO_EPOCH != broker_epoch < own_broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    if controller_epoch < seen_controller_epoch:
        return ErrorCode.STALE_CONTROLLER_EPOCH
    return ErrorCode.NONE


class ReplicaAction(Enum):
    """What LeaderAndIsr makes the engine do with one partition."""

    REFUSE = auto()
    """Nothing changes; the answer has the error."""
    HOST_OFFLINE = auto()
    """Host it as Offline under the request's topic id; the answer is KAFKA_STORAGE_ERROR."""
    ASSIGN_TOPIC_ID = auto()
    """Only write the topic id to the log that lacks one; also adopt it in the table."""
    KEEP = auto()
    """Answer NONE and do nothing."""
    LEAD = auto()
    FOLLOW = auto()


class LeaderAndIsrDecision(NamedTuple):
    """The decision for one partition of a LeaderAndIsr."""

    tp: TopicPartition
    topic_id: bytes
    """Of the request; all zero when it has none."""
    state: LeaderAndIsrPartitionState
    action: ReplicaAction
    error: ErrorCode
    """The answer, unless carrying out the action fails."""
    create_log: bool
    """LEAD and FOLLOW: no log yet. Use ``LogDirStates.place``, and again when creating fails;
    when ``place`` raises, host it as Offline and answer KAFKA_STORAGE_ERROR."""


def decide_leader_and_isr(
    request: LeaderAndIsrRequest,
    *,
    broker_id: BrokerId,
    view: Callable[[TopicPartition], ReplicaView],
    log_dirs: LogDirStates,
) -> list[LeaderAndIsrDecision]:
    """Decide every partition of a request whose epochs are good, in request order.

    All are decided before any is carried out. A partition named twice counts once, as its last
    entry says. Carry out LEAD before FOLLOW, as Kafka does.
    """
    decided: dict[TopicPartition, LeaderAndIsrDecision] = {}
    for topic in request.topic_states:
        for state in topic.partition_states:
            tp = TopicPartition(topic.topic_name, state.partition_index)
            decided[tp] = _decide_partition(
                tp, bytes(topic.topic_id), state, view(tp), _Broker(broker_id, log_dirs.any_offline)
            )
    return list(decided.values())


def topics_made_anew(
    request: LeaderAndIsrRequest,
    *,
    broker_id: BrokerId,
    view: Callable[[TopicPartition], ReplicaView],
) -> list[StopReplicaDecision]:
    """Return what to take out before the request is decided: logs of topics that nobody knows.

    A replica begins where the log of another topic of its name lies, that was never deleted: the
    controller's journal has lost that topic. Take it out as ``StopReplica`` does, but keep it.
    """
    return [
        StopReplicaDecision(tp, action, ErrorCode.NONE)
        for topic in request.topic_states
        for state in topic.partition_states
        if state.is_new or _begins_as_follower(state, broker_id)
        for tp in (TopicPartition(topic.topic_name, state.partition_index),)
        for replica in (view(tp),)
        if is_another_topic(bytes(topic.topic_id), replica.topic_id)
        for action in _taken_out(replica)
    ]


def _begins_as_follower(state: LeaderAndIsrPartitionState, broker_id: BrokerId) -> bool:
    """Tell whether this broker, which may have been away when the topic was made, gets all of it.

    One that leads, or stands in the Isr, has a log of this topic, whatever else lies here.
    """
    is_led_elsewhere = state.leader not in (NO_LEADER, broker_id)
    return is_led_elsewhere and broker_id in state.replicas and broker_id not in state.isr


def _taken_out(replica: ReplicaView) -> tuple[StopAction, ...]:
    if replica.state is HostedState.ONLINE:
        return (StopAction.DELETE,)
    return (StopAction.DELETE_FILES,) if replica.log_dir is not None else ()


def leader_and_isr_answer(
    decisions: Iterable[LeaderAndIsrDecision],
    failed: Mapping[TopicPartition, ErrorCode] | None = None,
) -> LeaderAndIsrResponse:
    """Build the answer; ``failed`` holds the errors met while carrying the decisions out.

    Each partition stands in ``topics`` (v5 and later) and in ``partition_errors`` (older versions).
    """
    failed = failed or {}
    by_topic: dict[bytes, list[LeaderAndIsrPartitionError]] = {}
    rows: list[LeaderAndIsrPartitionError] = []
    for decision in decisions:
        row = LeaderAndIsrPartitionError(
            topic_name=decision.tp.topic,
            partition_index=decision.tp.partition,
            error_code=failed.get(decision.tp, decision.error),
        )
        rows.append(row)
        by_topic.setdefault(decision.topic_id, []).append(row)
    return LeaderAndIsrResponse(
        error_code=ErrorCode.NONE,
        partition_errors=rows,
        topics=[
            LeaderAndIsrTopicError(topic_id=topic_id, partition_errors=topic_rows)
            for topic_id, topic_rows in by_topic.items()
        ],
    )


def refuse_leader_and_isr(request: LeaderAndIsrRequest, error: ErrorCode) -> LeaderAndIsrResponse:
    """Build the answer to a request refused as a whole: the error on top and in every partition."""
    refused = [
        LeaderAndIsrDecision(
            TopicPartition(topic.topic_name, state.partition_index),
            bytes(topic.topic_id),
            state,
            ReplicaAction.REFUSE,
            error,
            create_log=False,
        )
        for topic in request.topic_states
        for state in topic.partition_states
    ]
    response = leader_and_isr_answer(refused)
    response.error_code = error
    return response


class _Broker(NamedTuple):
    broker_id: BrokerId
    any_log_dir_offline: bool


class _Verdict(NamedTuple):
    action: ReplicaAction
    error: ErrorCode
    create_log: bool = False


def _decide_partition(
    tp: TopicPartition,
    topic_id: bytes,
    state: LeaderAndIsrPartitionState,
    replica: ReplicaView,
    broker: _Broker,
) -> LeaderAndIsrDecision:
    verdict = _verdict(topic_id, state, replica, broker)
    return LeaderAndIsrDecision(
        tp, topic_id, state, verdict.action, verdict.error, verdict.create_log
    )


def _verdict(
    topic_id: bytes, state: LeaderAndIsrPartitionState, replica: ReplicaView, broker: _Broker
) -> _Verdict:
    differs = is_another_topic(topic_id, replica.topic_id)
    is_rebuilt = _may_rebuild(replica, state, broker.broker_id)
    if state.is_new and not topic_id == replica.topic_id != ZERO_UUID:
        replica = replica._replace(failed_epoch=NO_EPOCH)  # Of who had the name before.
    if replica.state is HostedState.OFFLINE:
        # The topic may have been deleted and made again meanwhile (KAFKA-16157).
        is_another = differs or (replica.loss is not None and replica.topic_id == ZERO_UUID)
        if not is_rebuilt and not (is_another and state.is_new):
            return _Verdict(ReplicaAction.REFUSE, ErrorCode.KAFKA_STORAGE_ERROR)
        replica = ReplicaView(HostedState.ABSENT, failed_epoch=replica.failed_epoch)
    elif differs:
        return _Verdict(ReplicaAction.REFUSE, ErrorCode.INCONSISTENT_TOPIC_ID)
    return _host(topic_id, state, replica, broker, is_rebuilt=is_rebuilt)


def _host(
    topic_id: bytes,
    state: LeaderAndIsrPartitionState,
    replica: ReplicaView,
    broker: _Broker,
    *,
    is_rebuilt: bool,
) -> _Verdict:
    """Decide for a replica that is neither on a failed log dir nor of another topic."""
    # Kafka takes no epoch twice: what it stopped comes back in a new process only.
    is_told_again = replica.is_stopped and state.leader_epoch == replica.leader_epoch
    if state.leader_epoch <= replica.leader_epoch and not is_told_again:
        return _same_or_older_epoch(topic_id, state, replica, broker)
    if broker.broker_id not in state.replicas:
        return _Verdict(ReplicaAction.REFUSE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    create_log = replica.log_dir is None
    if create_log and broker.any_log_dir_offline and not (state.is_new or is_rebuilt):
        return _Verdict(ReplicaAction.HOST_OFFLINE, ErrorCode.KAFKA_STORAGE_ERROR)
    if state.leader == broker.broker_id:
        return _lead(state, replica, create_log=create_log)
    return _Verdict(ReplicaAction.FOLLOW, ErrorCode.NONE, create_log)


def _lead(state: LeaderAndIsrPartitionState, replica: ReplicaView, *, create_log: bool) -> _Verdict:
    """Let no replica lead again within the epoch in which its log dir failed.

    It may come back with less than it had; then other records would get the offsets of those that
    followers and readers already have, within one leader epoch, where nobody can tell them apart.
    A controller that did not hear that it was made says still that it is new (seed 1151652).
    """
    if state.leader_epoch <= replica.failed_epoch:
        return _Verdict(ReplicaAction.REFUSE, ErrorCode.KAFKA_STORAGE_ERROR)
    return _Verdict(ReplicaAction.LEAD, ErrorCode.NONE, create_log)


def _may_rebuild(
    replica: ReplicaView, state: LeaderAndIsrPartitionState, broker_id: BrokerId
) -> bool:
    """Tell whether a log that is lost may begin empty: from another member of the Isr only.

    Not while this broker stands in the Isr beside others: it could be elected with nothing. The
    controller takes it out when it hears of the loss. Kafka lets an empty disk stand there, and
    lead where its broker is the only member, and so loses what was acknowledged without a word.
    What the controller said in the leader epoch of the loss it may have said before it heard, and
    before this broker came into the Isr.
    """
    if replica.loss is None:
        return False
    others = [member for member in state.isr if member != broker_id]
    if others:
        is_out = state.leader != broker_id and broker_id not in state.isr
        is_news = state.leader == NO_LEADER or state.leader_epoch > replica.failed_epoch
        return is_out and is_news
    return replica.loss is Loss.ACCEPTED


def _same_or_older_epoch(
    topic_id: bytes, state: LeaderAndIsrPartitionState, replica: ReplicaView, broker: _Broker
) -> _Verdict:
    if state.leader_epoch == replica.leader_epoch:
        if replica.topic_id == ZERO_UUID != topic_id:
            return _Verdict(ReplicaAction.ASSIGN_TOPIC_ID, ErrorCode.NONE)
        if topic_id == ZERO_UUID != replica.topic_id and state.leader != broker.broker_id:
            return _Verdict(ReplicaAction.KEEP, ErrorCode.NONE)
    return _Verdict(ReplicaAction.REFUSE, ErrorCode.STALE_CONTROLLER_EPOCH)


class StopAction(Enum):
    """What StopReplica makes the engine do with one partition."""

    NOTHING = auto()
    STOP = auto()
    """Stop fetchers and movers; the log stays and the partition stays hosted."""
    DELETE = auto()
    """Stop, drop the partition, delete current and future log (those that exist)."""
    DELETE_FILES = auto()
    """Not hosted: delete whatever log files of it are found; none found is no error."""


class StopReplicaDecision(NamedTuple):
    """The decision for one partition of a StopReplica."""

    tp: TopicPartition
    action: StopAction
    error: ErrorCode
    """The answer; KAFKA_STORAGE_ERROR instead when deleting fails."""


def decide_stop_replica(
    request: StopReplicaRequest,
    *,
    view: Callable[[TopicPartition], ReplicaView],
    any_unread: bool = False,
    is_elsewhere: Callable[[TopicPartition], bool] = lambda _: False,
) -> list[StopReplicaDecision]:
    """Decide every partition of a request whose epochs are good; ``topic_states`` must be filled.

    With ``any_unread`` a log that is not found may lie on a log dir that could not be read: nobody
    may take it for deleted. Kafka answers NONE, and the log comes back with the log dir. Beside one
    that is found an older one may lie there, as of a move that ended in its swap. It is waited for
    where only other brokers have the partition now (``is_elsewhere``); topics are deleted at once.

    Stop all fetchers before any partition is removed (KAFKA-10371). A partition named twice counts
    once, as its last entry says.
    """
    decided: dict[TopicPartition, StopReplicaDecision] = {}
    for topic in request.topic_states:
        for state in topic.partition_states:
            tp = TopicPartition(topic.topic_name, state.partition_index)
            decided[tp] = _decide_stop(
                tp, state, view(tp), any_unread=any_unread, is_elsewhere=is_elsewhere(tp)
            )
    return list(decided.values())


def _decide_stop(
    tp: TopicPartition,
    state: StopReplicaPartitionState,
    replica: ReplicaView,
    *,
    any_unread: bool,
    is_elsewhere: bool,
) -> StopReplicaDecision:
    may_hide = any_unread and state.delete_partition
    is_lost = replica.loss is not None
    # A log dir that came back for one partition alone (KIP-18) holds the logs of the others too.
    is_within_reach = replica.log_dir is not None and state.delete_partition
    if replica.state is HostedState.OFFLINE and not (is_lost or is_within_reach):
        return StopReplicaDecision(tp, StopAction.NOTHING, ErrorCode.KAFKA_STORAGE_ERROR)
    if replica.state is not HostedState.ONLINE:
        action = StopAction.DELETE_FILES if state.delete_partition else StopAction.NOTHING
        is_missing = replica.log_dir is None and not is_lost
        is_hidden = may_hide and (is_missing or is_elsewhere)
        code = ErrorCode.KAFKA_STORAGE_ERROR if is_hidden else ErrorCode.NONE
        return StopReplicaDecision(tp, action, code)
    is_checked = state.leader_epoch not in (NO_EPOCH, EPOCH_DURING_DELETE)
    if is_checked and state.leader_epoch < replica.leader_epoch:
        return StopReplicaDecision(tp, StopAction.NOTHING, ErrorCode.FENCED_LEADER_EPOCH)
    action = StopAction.DELETE if state.delete_partition else StopAction.STOP
    is_hidden = may_hide and is_elsewhere
    code = ErrorCode.KAFKA_STORAGE_ERROR if is_hidden else ErrorCode.NONE
    return StopReplicaDecision(tp, action, code)
