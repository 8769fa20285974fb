"""The vocabulary: Kafka's ids and offsets as named types. It has no behaviour and imports nothing of ours."""

from __future__ import annotations

from typing import Final, NamedTuple, NewType

BrokerId = NewType("BrokerId", int)
Offset = NewType("Offset", int)
LeaderEpoch = NewType("LeaderEpoch", int)
ControllerEpoch = NewType("ControllerEpoch", int)
BrokerEpoch = NewType("BrokerEpoch", int)
PartitionEpoch = NewType("PartitionEpoch", int)
ProducerId = NewType("ProducerId", int)
TopicId = NewType("TopicId", bytes)
"""16 raw bytes of a uuid, most significant half first."""
DirectoryId = NewType("DirectoryId", bytes)
"""16 raw bytes: the ``directory.id`` of one log dir."""

ZERO_UUID: Final = bytes(16)
"""Stands for "no id" on the wire."""

NO_LEADER: Final = BrokerId(-1)
LEADER_DURING_DELETE: Final = BrokerId(-2)
EPOCH_DURING_DELETE: Final = LeaderEpoch(-2)
NO_EPOCH: Final = -1
NO_OFFSET: Final = Offset(-1)
CONSUMER_REPLICA_ID: Final = BrokerId(-1)
FUTURE_LOCAL_REPLICA_ID: Final = BrokerId(-3)


class TopicPartition(NamedTuple):
    """The name of one partition."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
