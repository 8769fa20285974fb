"""Gathers what one batch tells brokers and makes one request per broker and kind of it.

The order of a batch is LeaderAndIsr, UpdateMetadata, StopReplica. It decides and sends nothing.
States are taken when added, as in Kafka. Source: AbstractControllerBrokerRequestBatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

from controller.core.state import Broker, ClusterState
from protocol.ids import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_EPOCH,
    NO_LEADER,
    ZERO_UUID,
    TopicPartition,
)
from protocol.messages.control import (
    FULL_METADATA,
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

_INITIAL_EPOCH: Final = 0
StateT = TypeVar("StateT")
_LeaderStates = dict[TopicPartition, LeaderAndIsrPartitionState]
_StopStates = dict[TopicPartition, StopReplicaPartitionState]
_MetadataStates = dict[TopicPartition, UpdateMetadataPartitionState]


class RequestBatch:
    """One batch; ``requests`` ends it. Brokers neither come nor go while it lasts."""

    def __init__(self, state: ClusterState, controller_id: int) -> None:
        self._state = state
        self._controller_id = controller_id
        self._reachable = state.reachable_brokers()
        self._leader_states: dict[int, _LeaderStates] = {}
        self._stop_states: dict[int, _StopStates] = {}
        self._metadata_brokers: dict[int, None] = {}
        self._metadata_states: _MetadataStates = {}
        self._metadata_type = 0
        self._changed_configs: dict[str, None] = {}
        self._unknown_topics: dict[str, bytes] = {}
        """Of topics that the state does not have, by name."""

    def add_leader_and_isr(
        self, broker_ids: Iterable[int], tp: TopicPartition, *, is_new: bool
    ) -> None:
        """Tell brokers the leadership of ``tp``, and everyone its metadata.

        ``is_new`` is sticky: once true for a broker and partition it stays so in this batch.
        """
        shared: dict[bool, LeaderAndIsrPartitionState] = {}
        for broker_id in broker_ids:
            if broker_id not in self._reachable:
                continue
            states = self._leader_states.setdefault(broker_id, {})
            earlier = states.get(tp)
            sticky = is_new or (earlier is not None and earlier.is_new)
            if sticky not in shared:
                shared[sticky] = self._leader_state(tp, is_new=sticky)
            states[tp] = shared[sticky]
        self.add_update_metadata(self._reachable, (tp,))

    def add_update_metadata(self, broker_ids: Iterable[int], tps: Iterable[TopicPartition]) -> None:
        """Tell brokers who is alive and the metadata of those ``tps`` that have leadership."""
        self._metadata_brokers.update(dict.fromkeys(broker_ids))
        for tp in tps:
            partition_state = self._metadata_state(tp)
            if partition_state is not None:
                self._metadata_states[tp] = partition_state

    def add_changed_configs(self, broker_ids: Iterable[int], names: Iterable[str]) -> None:
        """Have brokers ask anew for the configs of topics, or for what else a row is of.

        A topic that is named so has a row without partitions.
        """
        self.add_update_metadata(broker_ids, ())
        self._changed_configs.update(dict.fromkeys(names))

    def add_all_metadata(self, broker_ids: Iterable[int]) -> None:
        """Tell brokers the metadata of all that there is; to them all else is gone."""
        self._metadata_type = FULL_METADATA
        self.add_update_metadata(broker_ids, self._state.led_partitions())

    def add_stop_replica(
        self, broker_id: int, tp: TopicPartition, *, delete: bool, of_any_epoch: bool = False
    ) -> None:
        """Tell a broker to stop a replica; ``delete`` is sticky.

        With ``of_any_epoch`` also one that knows a newer leader epoch.
        """
        if broker_id not in self._reachable:
            return
        states = self._stop_states.setdefault(broker_id, {})
        earlier = states.get(tp)
        states[tp] = StopReplicaPartitionState(
            partition_index=tp.partition,
            leader_epoch=EPOCH_DURING_DELETE if of_any_epoch else self._stop_epoch(tp),
            delete_partition=delete or (earlier is not None and earlier.delete_partition),
        )

    def add_without_leader(
        self, broker_id: int, tp: TopicPartition, topic_id: bytes, leader_epoch: int
    ) -> None:
        """Tell a broker that nobody leads ``tp``, which the state does not have.

        Args:
            broker_id: has a replica of it.
            tp: the partition.
            topic_id: as that broker knows it.
            leader_epoch: from now on; above the one that the broker knows.
        """
        if broker_id in self._reachable:
            self._unknown_topics[tp.topic] = topic_id
            self._leader_states.setdefault(broker_id, {})[tp] = LeaderAndIsrPartitionState(
                partition_index=tp.partition,
                controller_epoch=self._state.controller_epoch,
                leader=NO_LEADER,
                leader_epoch=leader_epoch,
                isr=[broker_id],
                replicas=[broker_id],
            )

    def add_gone(self, broker_id: int, tp: TopicPartition) -> None:
        """Tell a broker that ``tp``, which the state does not have, is gone."""
        self._metadata_brokers[broker_id] = None
        self._metadata_states[tp] = UpdateMetadataPartitionState(
            partition_index=tp.partition,
            controller_epoch=self._state.controller_epoch,
            leader=LEADER_DURING_DELETE,
            leader_epoch=_INITIAL_EPOCH,
        )

    def requests(self) -> Iterator[tuple[int, Any]]:
        """Give (broker id, request) in the order to send."""
        for broker_id in sorted(self._leader_states):
            yield broker_id, self._leader_and_isr(broker_id)
        topic_states = self._metadata_topics()
        live_brokers = self._live_brokers() if self._metadata_brokers else []
        for broker_id in sorted(self._metadata_brokers):
            if broker_id in self._reachable:
                yield broker_id, self._update_metadata(broker_id, topic_states, live_brokers)
        for broker_id in sorted(self._stop_states):
            yield broker_id, self._stop_replica(broker_id)

    def _leader_and_isr(self, broker_id: int) -> LeaderAndIsrRequest:
        states = self._leader_states[broker_id]
        leaders = dict.fromkeys(state.leader for state in states.values())
        return LeaderAndIsrRequest(
            controller_id=self._controller_id,
            controller_epoch=self._state.controller_epoch,
            broker_epoch=self._state.brokers[broker_id].broker_epoch,
            topic_states=[
                LeaderAndIsrTopicState(
                    topic_name=topic,
                    topic_id=self._topic_id(topic),
                    partition_states=of_topic,
                )
                for topic, of_topic in _by_topic(states).items()
            ],
            live_leaders=[
                _live_leader(self._state.brokers[leader])
                for leader in sorted(leaders)
                if leader in self._reachable
            ],
        )

    def _leader_state(self, tp: TopicPartition, *, is_new: bool) -> LeaderAndIsrPartitionState:
        partition = self._state.partition(tp)
        return LeaderAndIsrPartitionState(
            partition_index=tp.partition,
            controller_epoch=partition.controller_epoch,
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            isr=list(partition.isr),
            partition_epoch=partition.partition_epoch,
            replicas=list(partition.replicas),
            adding_replicas=list(partition.adding_replicas),
            removing_replicas=list(partition.removing_replicas),
            is_new=is_new,
            leader_recovery_state=int(partition.is_recovering),
        )

    def _metadata_state(self, tp: TopicPartition) -> UpdateMetadataPartitionState | None:
        partition = self._state.partition(tp)
        if not partition.has_leadership:
            return None
        is_deleting = self._state.is_being_deleted(tp.topic)
        return UpdateMetadataPartitionState(
            partition_index=tp.partition,
            controller_epoch=partition.controller_epoch,
            leader=LEADER_DURING_DELETE if is_deleting else partition.leader,
            leader_epoch=_INITIAL_EPOCH if is_deleting else partition.leader_epoch,
            isr=list(partition.isr),
            zk_version=_INITIAL_EPOCH if is_deleting else partition.partition_epoch,
            replicas=list(partition.replicas),
            offline_replicas=self._state.offline_replicas(tp),
        )

    def _metadata_topics(self) -> list[UpdateMetadataTopicState]:
        return [
            UpdateMetadataTopicState(
                topic_name=topic,
                topic_id=self._topic_id(topic),
                partition_states=of_topic,
            )
            for topic, of_topic in _by_topic(self._metadata_states).items()
        ] + [self._changed_row(topic) for topic in self._changed_configs]

    def _changed_row(self, name: str) -> UpdateMetadataTopicState:
        topic = self._state.topics.get(name)
        topic_id = ZERO_UUID if topic is None else topic.topic_id
        return UpdateMetadataTopicState(topic_name=name, topic_id=topic_id, partition_states=[])

    def _live_brokers(self) -> list[UpdateMetadataBroker]:
        return [_metadata_broker(self._state.brokers[broker_id]) for broker_id in self._reachable]

    def _update_metadata(
        self,
        broker_id: int,
        topic_states: list[UpdateMetadataTopicState],
        live_brokers: list[UpdateMetadataBroker],
    ) -> UpdateMetadataRequest:
        return UpdateMetadataRequest(
            controller_id=self._controller_id,
            type=self._metadata_type,
            controller_epoch=self._state.controller_epoch,
            broker_epoch=self._state.brokers[broker_id].broker_epoch,
            topic_states=topic_states,
            live_brokers=live_brokers,
        )

    def _topic_id(self, name: str) -> bytes:
        topic = self._state.topics.get(name)
        return self._unknown_topics.get(name, ZERO_UUID) if topic is None else topic.topic_id

    def _stop_epoch(self, tp: TopicPartition) -> int:
        if self._state.is_being_deleted(tp.topic):
            return EPOCH_DURING_DELETE
        partition = self._state.find(tp)
        return NO_EPOCH if partition is None else partition.leader_epoch

    def _stop_replica(self, broker_id: int) -> StopReplicaRequest:
        return StopReplicaRequest(
            controller_id=self._controller_id,
            controller_epoch=self._state.controller_epoch,
            broker_epoch=self._state.brokers[broker_id].broker_epoch,
            topic_states=[
                StopReplicaTopicState(topic_name=topic, partition_states=of_topic)
                for topic, of_topic in _by_topic(self._stop_states[broker_id]).items()
            ],
        )


def _by_topic(states: dict[TopicPartition, StateT]) -> dict[str, list[StateT]]:
    topics: dict[str, list[StateT]] = {}
    for tp, state in states.items():
        topics.setdefault(tp.topic, []).append(state)
    return topics


def _live_leader(broker: Broker) -> LeaderAndIsrLiveLeader:
    endpoint = broker.endpoints[0]
    return LeaderAndIsrLiveLeader(
        broker_id=broker.broker_id, host_name=endpoint.host, port=endpoint.port
    )


def _metadata_broker(broker: Broker) -> UpdateMetadataBroker:
    return UpdateMetadataBroker(
        id=broker.broker_id,
        endpoints=[
            UpdateMetadataEndpoint(
                port=endpoint.port,
                host=endpoint.host,
                listener=endpoint.name,
                security_protocol=endpoint.security_protocol,
            )
            for endpoint in broker.endpoints
        ],
        rack=broker.rack,
    )
