"""What brokers are told promises to be what the controller holds, and told to all concerned.

Source: ControllerChannelManager.scala (AbstractControllerBrokerRequestBatch); KIP-112, KIP-455.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

from controller.core.collate import RequestBatch
from controller.core.effects import Send
from controller.core.state import ClusterState
from controller.core.step import Step
from protocol.ids import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_LEADER,
    TopicPartition,
)
from protocol.messages.control import (
    FULL_METADATA,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from simulation.contracts.contract import Broken, of_method
from simulation.contracts.controller.cluster_facts import alive, leaves, partitions, working


class _Receiver(NamedTuple):
    state: ClusterState
    broker_id: int
    stopped: frozenset[TopicPartition]
    """What it is told to stop behind all else in the same batch."""
    refused: frozenset[TopicPartition]
    """What it took for new no more, for the log of an older topic; see ``older_topics``."""


# Any: one of the three requests.
def _stopped_by(request: Any) -> Iterator[TopicPartition]:
    for topic in request.topic_states if isinstance(request, StopReplicaRequest) else ():
        for each in topic.partition_states:
            yield TopicPartition(topic.topic_name, each.partition_index)


@of_method(RequestBatch, "add_leader_and_isr")
def add_leader_and_isr(
    batch: RequestBatch, _: Iterable[int], tp: TopicPartition, *, is_new: bool
) -> Generator[None, None, Broken]:
    """Replicas are told of a leadership once it is decided, and of none before."""
    yield
    is_decided = batch._state.partition(tp).has_leadership  # noqa: SLF001 -- nothing public has it
    return None if is_decided else f"replicas of {tp} are told of no leadership, is new: {is_new}"


@of_method(Step, "send_batch")
def send_batch(step: Step, _: RequestBatch) -> Generator[None, None, Broken]:
    """Brokers are told what is so, in this controller's name, each in its own life."""
    count = len(step.effects)
    yield
    names = (step.settings.controller_id, step.state.controller_epoch)
    sends = [each for each in step.effects[count:] if isinstance(each, Send)]
    stopped = [(each.broker_id, tp) for each in sends for tp in _stopped_by(each.request)]
    for effect in sends:
        request = effect.request
        if (request.controller_id, request.controller_epoch) != names:
            return f"by controller {names}: {request}"
        topics = [topic.topic_name for topic in request.topic_states]
        if len(topics) != len(set(topics)):
            return f"a topic comes twice: {topics}"
        own = frozenset(tp for each, tp in stopped if each == effect.broker_id)
        refused = frozenset(tp for each, _, tp in step.run.told_as_new if each == effect.broker_id)
        receiver = _Receiver(step.state, effect.broker_id, own, refused)
        broken = _BROKEN[type(request)](receiver, request)
        if broken is not None:
            return broken
    return None


# Any: one of the three requests.
@of_method(Step, "send")
def send(step: Step, broker_id: int, request: Any) -> Generator[None, int, Broken]:
    """What is sent to a broker has the next number, and an answer to it will be known as its."""
    before = step.run.sequences.get(broker_id, 0)
    number = yield
    progress = step.run.channels[broker_id]
    is_metadata = isinstance(request, UpdateMetadataRequest)
    if number != before + 1 or progress.sent != number:
        return f"number {number} after {before}: {progress}"
    if is_metadata is not (progress.metadata_sent == number):
        return f"{type(request).__name__} is number {number} of {progress}"
    is_put = step.effects[-1:] == [Send(broker_id, number, request)]
    return None if is_put else f"{step.effects[-1:]} is not {request}"


def _leadership_broken(receiver: _Receiver, request: LeaderAndIsrRequest) -> Broken:
    state = receiver.state
    named: set[int] = set()
    for topic in request.topic_states:
        known = state.topics.get(topic.topic_name)
        for told in topic.partition_states:
            tp = TopicPartition(topic.topic_name, told.partition_index)
            named.add(told.leader)
            if known is None or state.find(tp) is None:
                if told.leader != NO_LEADER:
                    return f"{tp} is not there: {told}"
                continue
            if bytes(topic.topic_id) != known.topic_id:
                return f"{topic.topic_name} has the id {known.topic_id!r}, told is {topic}"
            broken = _replica_told(receiver, tp, told)
            if broken is not None:
                return broken
    live_leaders = {
        each: state.brokers[each].endpoints[0] for each in sorted(named & set(alive(state)))
    }
    told_leaders = {each.broker_id: (each.host_name, each.port) for each in request.live_leaders}
    wanted = {each: (where.host, where.port) for each, where in live_leaders.items()}
    return None if told_leaders == wanted else f"live leaders are {wanted}, not {told_leaders}"


def _replica_told(
    receiver: _Receiver, tp: TopicPartition, told: LeaderAndIsrPartitionState
) -> Broken:
    one, broker_id = receiver.state.partition(tp), receiver.broker_id
    said = replace(
        one,
        leader=told.leader,
        leader_epoch=told.leader_epoch,
        isr=tuple(told.isr),
        partition_epoch=told.partition_epoch,
        controller_epoch=told.controller_epoch,
        replicas=tuple(told.replicas),
        adding_replicas=tuple(told.adding_replicas),
        removing_replicas=tuple(told.removing_replicas),
        is_recovering=told.leader_recovery_state == 1,
    )
    is_over = tp in receiver.stopped and told.leader_epoch < one.leader_epoch
    if said != one and not is_over:
        return f"{tp} is {one}, told is {said}"
    is_old = broker_id in one.replicas and one.partition_epoch != 0
    may_be_new = broker_id in one.adding_replicas or tp in receiver.refused
    if told.is_new and is_old and not may_be_new:
        return f"{tp} on broker {broker_id} is not new: {one}"
    return None


def _stop_broken(receiver: _Receiver, request: StopReplicaRequest) -> Broken:
    state, broker_id, _, _ = receiver
    for topic in request.topic_states:
        known = state.topics.get(topic.topic_name)
        is_leaving = known is not None and leaves(known, state)
        for told in topic.partition_states:
            tp = TopicPartition(topic.topic_name, told.partition_index)
            one = state.find(tp)
            is_replica = one is not None and broker_id in one.replicas
            is_due = tp in state.removed.get(broker_id, ())
            if told.delete_partition and is_replica and not (is_leaving or is_due):
                return f"{tp} on broker {broker_id} is to be deleted: {one}"
            if is_leaving and told.leader_epoch != EPOCH_DURING_DELETE:
                return f"{tp} is deleted, and stopped with {told}"
            if not is_leaving and one is not None and told.leader_epoch > one.leader_epoch:
                return f"{tp} is stopped with {told}: {one}"
    return None


def _metadata_broken(receiver: _Receiver, request: UpdateMetadataRequest) -> Broken:
    state = receiver.state
    found = {
        each.id: (
            [(e.listener, e.host, e.port, e.security_protocol) for e in each.endpoints],
            each.rack,
        )
        for each in request.live_brokers
    }
    wanted = {
        each: ([tuple(e) for e in state.brokers[each].endpoints], state.brokers[each].rack)
        for each in alive(state)
    }
    if found != wanted:
        return f"alive are {wanted}, told are {found}"
    told: dict[TopicPartition, UpdateMetadataPartitionState] = {}
    for topic in request.topic_states:
        known = state.topics.get(topic.topic_name)
        if known is not None and bytes(topic.topic_id) != known.topic_id:
            return f"{topic.topic_name} has the id {known.topic_id!r}, told is {topic}"
        for each in topic.partition_states:
            told[TopicPartition(topic.topic_name, each.partition_index)] = each
    broken = (_place_told(state, tp, each) for tp, each in told.items())
    if request.type == FULL_METADATA:
        missing = [
            tp
            for tp, one, topic in partitions(state)
            if one.leader_epoch >= 0 and tp not in told and not leaves(topic, state)
        ]
        if missing:
            return f"all is told but {missing}"
    return next((each for each in broken if each is not None), None)


def _place_told(
    state: ClusterState, tp: TopicPartition, told: UpdateMetadataPartitionState
) -> Broken:
    one = state.find(tp)
    found = (told.leader, told.leader_epoch, told.zk_version)
    if one is None or leaves(state.topics[tp.topic], state):
        return None if told.leader == LEADER_DURING_DELETE else f"{tp} is gone, told is {told}"
    able = working(state, tp)
    offline = [each for each in one.replicas if each not in able]
    lists = (tuple(told.isr), tuple(told.replicas), list(told.offline_replicas))
    is_so = found == (one.leader, one.leader_epoch, one.partition_epoch)
    if is_so and lists == (one.isr, one.replicas, offline):
        return None
    return f"{tp} is {one}, offline {offline}; told is {told}"


# Any: each takes its own kind of request.
_BROKEN: Final[dict[type[Any], Callable[[_Receiver, Any], Broken]]] = {
    LeaderAndIsrRequest: _leadership_broken,
    StopReplicaRequest: _stop_broken,
    UpdateMetadataRequest: _metadata_broken,
}
