"""What tests of the engine send as controller and producer, and what they read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from protocol.ids import TopicPartition
from protocol.messages.control import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol.records.batch import iterate_batches
from protocol.records.build import BatchOptions, NewRecord, build_batch

BROKER_EPOCH = 5
ORDERS = TopicPartition("orders", 0)


def topic_id_of(name: str) -> bytes:
    return name.encode().ljust(16, b"\1")[:16]


@dataclass
class Led:
    """What the controller knows of a partition."""

    replicas: list[int]
    leader: int
    isr: list[int]
    leader_epoch: int = 0
    partition_epoch: int = 0


def leader_and_isr(
    led: dict[TopicPartition, Led],
    *,
    is_new: bool = False,
    controller_epoch: int = 1,
    broker_epoch: int = BROKER_EPOCH,
) -> LeaderAndIsrRequest:
    topics: dict[str, list[LeaderAndIsrPartitionState]] = {}
    for tp, one in led.items():
        topics.setdefault(tp.topic, []).append(
            LeaderAndIsrPartitionState(
                partition_index=tp.partition,
                controller_epoch=controller_epoch,
                leader=one.leader,
                leader_epoch=one.leader_epoch,
                isr=one.isr,
                partition_epoch=one.partition_epoch,
                replicas=one.replicas,
                is_new=is_new,
            )
        )
    return LeaderAndIsrRequest(
        controller_id=9,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=[
            LeaderAndIsrTopicState(
                topic_name=name, topic_id=topic_id_of(name), partition_states=rows
            )
            for name, rows in topics.items()
        ],
    )


def update_metadata(
    led_partitions: Mapping[TopicPartition, Led],
    broker_ids: Sequence[int],
    racks: Mapping[int, str] | None = None,
) -> UpdateMetadataRequest:
    topics: dict[str, list[UpdateMetadataPartitionState]] = {}
    for tp, led in led_partitions.items():
        topics.setdefault(tp.topic, []).append(
            UpdateMetadataPartitionState(
                partition_index=tp.partition,
                controller_epoch=1,
                leader=led.leader,
                leader_epoch=led.leader_epoch,
                isr=led.isr,
                zk_version=led.partition_epoch,
                replicas=led.replicas,
            )
        )
    return UpdateMetadataRequest(
        controller_id=9,
        controller_epoch=1,
        broker_epoch=BROKER_EPOCH,
        topic_states=[
            UpdateMetadataTopicState(
                topic_name=name, topic_id=topic_id_of(name), partition_states=rows
            )
            for name, rows in topics.items()
        ],
        live_brokers=[
            UpdateMetadataBroker(
                id=broker_id,
                rack=None if racks is None else racks.get(broker_id),
                endpoints=[
                    UpdateMetadataEndpoint(
                        port=broker_id, host="lab", listener="PLAINTEXT", security_protocol=0
                    )
                ],
            )
            for broker_id in broker_ids
        ],
    )


def records(values: Sequence[str] | str, options: BatchOptions | None = None) -> memoryview:
    texts = [values] if isinstance(values, str) else values
    new = [NewRecord(text.encode(), timestamp_ms=1_700_001_000_000) for text in texts]
    return memoryview(build_batch(new, options or BatchOptions()))


def offsets_of(result: Any) -> list[int]:
    """The base offsets of the batches in a fetch result."""
    return [header.base_offset for part in result.records for _, header in iterate_batches(part)]
