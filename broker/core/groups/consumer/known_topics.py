"""The topics of the cluster as groups of the consumer protocol see them, and their hashes.

A group stores a hash of all topics that it reads: another hash means a new assignment.
Source: Utils.computeTopicHash, Utils.computeGroupHash, ModernGroup.computeMetadataHash (KIP-1101).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct
from typing import Final, NamedTuple

from xxhash import xxh3_64_intdigest

from broker.core.metadata_image import MetadataImage, TopicImage
from protocol.ids import ZERO_UUID

_MAGIC: Final = b"\0"
"""Would change with what is hashed."""
_INT32: Final = Struct("<i")
_UINT64: Final = Struct("<Q")
_SIGN: Final = 1 << 63
_UUID_HALF: Final = 8


class KnownTopic(NamedTuple):
    """One topic; its partitions count from 0 on."""

    topic_id: bytes
    name: str
    racks: Sequence[Sequence[str]]
    """Of the replicas of each partition, sorted, without those that have none."""


def topic_hash(topic: KnownTopic) -> int:
    """Return Kafka's hash of a topic, from 0 to 2^64-1."""
    parts = [_MAGIC, topic.topic_id[_UUID_HALF - 1 :: -1], topic.topic_id[:-9:-1]]
    parts += (_text(topic.name), _INT32.pack(len(topic.racks)))
    for index, racks in enumerate(topic.racks):
        parts.append(_INT32.pack(index))
        for rack in racks:
            parts += (_INT32.pack(_length(rack)), _text(rack))
    return xxh3_64_intdigest(b"".join(parts))


def group_hash(hashes: Mapping[str, int]) -> int:
    """Return Kafka's hash of topics, given theirs by name, as it is stored: a signed int64."""
    if not hashes:
        return 0
    hashed = xxh3_64_intdigest(b"".join(_UINT64.pack(hashes[name]) for name in sorted(hashes)))
    return hashed - 2 * _SIGN if hashed & _SIGN else hashed


class KnownTopics:
    """Reads the broker's metadata, and keeps what it hashed."""

    __slots__ = ("_hashes", "_image", "_names", "_names_generation", "_racks", "_racks_generation")

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._hashes: dict[str, tuple[int, int, int]] = {}
        """By name: generations of the topic and of the racks, and the hash."""
        self._racks: dict[int, str | None] = {}
        """Of every broker that was alive once: who is dead for a while has its rack."""
        self._racks_generation = -1
        self._names: frozenset[str] = frozenset()
        self._names_generation = -1

    @property
    def generation(self) -> int:
        """Grows with every change."""
        return self._image.generation

    def names(self) -> frozenset[str]:
        """Return the names of all topics."""
        if self._names_generation != self._image.generation:
            self._names_generation = self._image.generation
            names = frozenset(topic.name for topic in self._image.topics())
            self._names = self._names if names == self._names else names
        return self._names

    def get(self, name: str) -> KnownTopic | None:
        """Return a topic; None for one that is not there, or has no id."""
        topic = self._image.topic(name)
        if topic is None or topic.topic_id == ZERO_UUID:
            return None
        self._learn_racks()
        racks = [self._partition_racks(topic, index) for index in range(len(topic.partitions))]
        return KnownTopic(topic.topic_id, name, racks)

    def topic_id(self, name: str) -> bytes | None:
        """Return the id of a topic; None for one that is not there, or has none."""
        topic_id = self._image.topic_id(name)
        return None if topic_id == ZERO_UUID else topic_id

    def ids(self, names: Iterable[str]) -> frozenset[bytes]:
        """Return the ids of those that are there."""
        found = (self.topic_id(name) for name in names)
        return frozenset(topic_id for topic_id in found if topic_id is not None)

    def partition_counts(self, names: Iterable[str]) -> dict[bytes, int]:
        """Return how many partitions those have that are there, by topic id."""
        counts: dict[bytes, int] = {}
        for name in names:
            topic = self._image.topic(name)
            if topic is not None and topic.topic_id != ZERO_UUID:
                counts[topic.topic_id] = len(topic.partitions)
        return counts

    def name(self, topic_id: bytes) -> str | None:
        """Return the name that belongs to an id."""
        return self._image.topic_name(topic_id)

    def hash_of(self, names: Iterable[str]) -> int:
        """Return what a group stores that reads these; those that are not there do not count."""
        self._learn_racks()
        hashes: dict[str, int] = {}
        for name in names:
            found = self._hash(name)
            if found is not None:
                hashes[name] = found
        return group_hash(hashes)

    def _hash(self, name: str) -> int | None:
        generation = self._image.topic_generations.get(name)
        if generation is None:
            self._hashes.pop(name, None)
            return None
        kept = self._hashes.get(name)
        if kept is not None and kept[:2] == (generation, self._racks_generation):
            return kept[2]
        topic = self.get(name)
        if topic is None:
            return None
        self._hashes[name] = (generation, self._racks_generation, topic_hash(topic))
        return self._hashes[name][2]

    def _learn_racks(self) -> None:
        if self._racks_generation == self._image.brokers_generation:
            return
        self._racks_generation = self._image.brokers_generation
        for broker in self._image.live_brokers():
            self._racks[broker.id] = broker.rack

    def _partition_racks(self, topic: TopicImage, index: int) -> list[str]:
        partition = topic.partitions.get(index)
        replicas = () if partition is None else partition.replicas
        racks = [self._racks.get(broker) for broker in replicas]
        return sorted(rack for rack in racks if rack is not None)


def _text(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass") + _INT32.pack(_length(text))


def _length(text: str) -> int:
    """Return how many UTF-16 units a text has, as Java counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
