"""What the controller's journal holds on its disk, and what is told that goes beyond it.

It reads the content of messages, whatever the controller says of the decision behind them. A
message may be older than the journal, for it waits in a queue; it must never be newer. Answers to
orders for configurations and reassignments may be overtaken by others of the same write, and are
not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from controller.core.records import Record, TopicCreated, TopicDeleted
from controller.core.state import ClusterState
from protocol.errors import ErrorCode
from protocol.ids import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_EPOCH,
    NO_LEADER,
    ZERO_UUID,
    TopicPartition,
)
from protocol.messages.control import (
    AlterPartitionResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.lifecycle import BrokerRegistrationResponse
from protocol.messages.producer_ids import AllocateProducerIdsResponse
from protocol.messages.topics import (
    CreatePartitionsResponse,
    CreateTopicsResponse,
    DeleteTopicsResponse,
)


class _ToldLeadership(NamedTuple):
    """Leadership of one partition as a message has it."""

    tp: TopicPartition
    topic_id: bytes
    """All zero: the message does not say."""
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int


class DurableDecisions:
    """The decisions of one journal that a crash would not lose."""

    def __init__(self) -> None:
        self._state = ClusterState()
        self._topic_ids: dict[bytes, None] = {}
        """Of all topics that there were since the first ``begin``."""
        self._deleted: dict[str, None] = {}
        """Names of topics that were deleted: another one of the name may be there."""
        self._made_above: dict[tuple[int, TopicPartition], None] = {}
        """Replicas still to be removed from a broker as another topic of the name was made."""

    def begin(self, state: ClusterState) -> None:
        """Begin with what a whole journal replays to; ``state`` is changed by ``take``."""
        self._state = state
        self._topic_ids.update(dict.fromkeys(state.topic_names))

    def take(self, records: Iterable[Record]) -> None:
        """Add a decision that was just made durable."""
        for record in records:
            if isinstance(record, TopicCreated):
                self._made_above.update(self._due(record.name))
            record.apply(self._state)
            if isinstance(record, TopicCreated):
                self._topic_ids[record.topic_id] = None
            elif isinstance(record, TopicDeleted):
                self._deleted[record.name] = None

    def _due(self, name: str) -> Iterator[tuple[tuple[int, TopicPartition], None]]:
        for broker_id, tps in self._state.removed.items():
            yield from (((broker_id, tp), None) for tp in tps if tp.topic == name)

    # Any: whatever the controller sends.
    def ahead(self, request: Any, response: Any = None) -> Iterator[str]:
        """Give a sentence for each thing in a message that the journal does not hold.

        Args:
            request: what is sent to a broker, or what was asked for.
            response: what that is answered with; None for a request to a broker.
        """
        message: object = request if response is None else response
        kind = type(message)
        read = _READERS.get(kind)
        if read is not None:
            yield from (f"{kind.__name__} {text}" for text in read(self, request, message))

    def _leadership(self, told: _ToldLeadership) -> Iterator[str]:
        """Compare by epochs: the journal may have gone on since, but not the other way."""
        durable = self._state.find(told.tp)
        known_id = self._state.topics[told.tp.topic].topic_id if durable else ZERO_UUID
        if told.topic_id not in (ZERO_UUID, known_id):
            if told.topic_id not in self._topic_ids and told.leader >= 0:
                yield f"tells of {told.tp} of a topic that is not in the journal"
            return
        if durable is None or told.leader == LEADER_DURING_DELETE:
            return
        epochs = (told.leader_epoch, told.partition_epoch)
        has = (durable.leader_epoch, durable.partition_epoch)
        if epochs[0] > has[0] or epochs[1] > has[1]:
            yield f"tells of {told.tp} at epochs {epochs}, and the journal has {has}"
        elif epochs == has and (told.leader, told.isr) != (durable.leader, durable.isr):
            yield (
                f"tells of {told.tp} at epochs {epochs} leader {told.leader} and Isr "
                f"{list(told.isr)}, and the journal has {durable.leader} and {list(durable.isr)}"
            )

    def leader_and_isr(self, _: Any, message: LeaderAndIsrRequest) -> Iterator[str]:
        """Read the leadership of each partition; what only brokers know may be led by nobody."""
        for topic in message.topic_states:
            for each in topic.partition_states:
                tp = TopicPartition(topic.topic_name, each.partition_index)
                if each.leader != NO_LEADER or self._state.find(tp) is not None:
                    epochs = (each.leader_epoch, tuple(each.isr), each.partition_epoch)
                    topic_id = bytes(topic.topic_id)
                    yield from self._leadership(_ToldLeadership(tp, topic_id, each.leader, *epochs))

    def update_metadata(self, _: Any, message: UpdateMetadataRequest) -> Iterator[str]:
        """Read the leadership of each partition, and who is alive."""
        for topic in message.topic_states:
            for each in topic.partition_states:
                tp = TopicPartition(topic.topic_name, each.partition_index)
                epochs = (each.leader_epoch, tuple(each.isr), each.zk_version)
                topic_id = bytes(topic.topic_id)
                yield from self._leadership(_ToldLeadership(tp, topic_id, each.leader, *epochs))
        for broker in message.live_brokers:
            if broker.id not in self._state.brokers:
                yield f"calls broker {broker.id} alive, of which the journal does not know"

    def stop_replica(self, _: Any, message: StopReplicaRequest) -> Iterator[str]:
        """Read what is to be deleted: replicas that are none any more by the journal.

        What a deleted topic's brokers are told may leave when there is another one of its name,
        and so may what a replica of it was told that was reassigned away before.
        """
        epochs = {each.broker_epoch: each.broker_id for each in self._state.brokers.values()}
        broker = epochs.get(message.broker_epoch)
        for topic in message.topic_states:
            if self._state.is_deleting(topic.topic_name):
                continue
            for each in topic.partition_states:
                tp = TopicPartition(topic.topic_name, each.partition_index)
                durable = self._state.find(tp)
                if not each.delete_partition or durable is None:
                    continue
                is_older = (
                    0 <= each.leader_epoch < durable.leader_epoch
                    or (each.leader_epoch == EPOCH_DURING_DELETE and tp.topic in self._deleted)
                    or (each.leader_epoch == NO_EPOCH and (broker, tp) in self._made_above)
                )
                if broker in durable.target_replicas and not is_older:
                    yield f"deletes {tp} on broker {broker}, which the journal keeps there"

    def alter_partition(self, _: Any, message: AlterPartitionResponse) -> Iterator[str]:
        """Read the leadership that a leader is told of after it asked for an Isr."""
        for topic in message.topics:
            topic_id = bytes(topic.topic_id)
            name = topic.topic_name or self._state.topic_names.get(topic_id)
            for each in topic.partitions:
                if name is not None and each.error_code == ErrorCode.NONE:
                    tp = TopicPartition(name, each.partition_index)
                    epochs = (each.leader_epoch, tuple(each.isr), each.partition_epoch)
                    told = _ToldLeadership(tp, topic_id, each.leader_id, *epochs)
                    yield from self._leadership(told)

    def producer_ids(self, _: Any, message: AllocateProducerIdsResponse) -> Iterator[str]:
        """Read up to where producer ids are given away."""
        end = message.producer_id_start + message.producer_id_len
        if message.error_code == ErrorCode.NONE and end > self._state.next_producer_id:
            yield f"gives ids up to {end}, and the journal up to {self._state.next_producer_id}"

    def registration(self, request: Any, message: BrokerRegistrationResponse) -> Iterator[str]:
        """Read the epoch that a broker gets."""
        known = self._state.brokers.get(request.broker_id)
        durable = -1 if known is None else known.broker_epoch
        if message.error_code == ErrorCode.NONE and message.broker_epoch > durable:
            yield f"gives the epoch {message.broker_epoch}, and the journal has {durable}"

    def created_topics(self, request: Any, message: CreateTopicsResponse) -> Iterator[str]:
        """Read which topics are said to be there."""
        for each in message.topics:
            is_made = each.error_code == ErrorCode.NONE and not request.validate_only
            is_known = each.name in self._state.topics or bytes(each.topic_id) in self._topic_ids
            if is_made and not is_known:
                yield f"says that {each.name} is created, and the journal does not have it"

    def deleted_topics(self, _: Any, message: DeleteTopicsResponse) -> Iterator[str]:
        """Read which topics are said to be gone."""
        for each in message.responses:
            topic = self._state.topics.get(each.name or "")
            is_kept = topic is not None and not topic.is_deleting and each.name not in self._deleted
            if each.error_code == ErrorCode.NONE and is_kept:
                yield f"says that {each.name} is deleted, and the journal keeps it"

    def added_partitions(self, request: Any, message: CreatePartitionsResponse) -> Iterator[str]:
        """Read how many partitions topics are said to have."""
        wanted = {each.name: each.count for each in request.topics}
        for each in message.results:
            topic = self._state.topics.get(each.name)
            is_done = each.error_code == ErrorCode.NONE and not request.validate_only
            is_same = each.name not in self._deleted
            if (
                is_done
                and is_same
                and topic is not None
                and len(topic.partitions) < wanted[each.name]
            ):
                yield (
                    f"says that {each.name} has {wanted[each.name]} partitions, and the journal "
                    f"has {len(topic.partitions)}"
                )


# Any: each takes the class of its row, beyond what a type can say.
_READERS: Final[Mapping[type, Callable[[DurableDecisions, Any, Any], Iterator[str]]]] = {
    LeaderAndIsrRequest: DurableDecisions.leader_and_isr,
    UpdateMetadataRequest: DurableDecisions.update_metadata,
    StopReplicaRequest: DurableDecisions.stop_replica,
    AlterPartitionResponse: DurableDecisions.alter_partition,
    AllocateProducerIdsResponse: DurableDecisions.producer_ids,
    BrokerRegistrationResponse: DurableDecisions.registration,
    CreateTopicsResponse: DurableDecisions.created_topics,
    DeleteTopicsResponse: DurableDecisions.deleted_topics,
    CreatePartitionsResponse: DurableDecisions.added_partitions,
}
