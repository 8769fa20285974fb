"""What a broker promises of the cluster's metadata: it is what the controller told last.

Source: ZkMetadataCache.scala, KIP-112 (offline replicas).
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator
from itertools import chain
from typing import Final, TypeAlias

from broker.core.metadata_answer import MetadataAnswers
from broker.core.metadata_image import MetadataChange, MetadataImage, PartitionImage, TopicImage
from protocol.errors import ErrorCode
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.control import (
    FULL_METADATA,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from simulation.contracts.contract import Broken, of_method

_DELETED: Final = -2
"""The leader of a partition that is being deleted."""


def _told(state: UpdateMetadataPartitionState) -> PartitionImage:
    return PartitionImage(
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=tuple(state.isr),
        replicas=tuple(state.replicas),
        offline_replicas=tuple(state.offline_replicas),
        partition_epoch=state.zk_version,
    )


_Known: TypeAlias = dict[str, dict[int, PartitionImage]]
"""Topic -> partition -> what is known of it; no topic without any."""


def _known(image: MetadataImage) -> _Known:
    return {topic.name: dict(topic.partitions) for topic in image.topics() if topic.partitions}


@of_method(MetadataImage, "update")
def update(
    image: MetadataImage, request: UpdateMetadataRequest
) -> Generator[None, MetadataChange, Broken]:
    """What is told is known, the rest stays; one of everything leaves nothing that it lacks."""
    before, generation = _known(image), image.generation
    change = yield
    told: _Known = {}
    for topic in request.topic_states:
        for state in topic.partition_states:
            told.setdefault(topic.topic_name, {})[state.partition_index] = _told(state)
    is_all = request.type == FULL_METADATA
    gone = [tp for tp, one in _each(told) if one.leader == _DELETED]
    if is_all:
        gone += [tp for tp, _ in _each(before) if tp.partition not in told.get(tp.topic, ())]
    known, wanted = _known(image), _with({} if is_all else before, told)
    if known != wanted:
        found, due = dict(_each(known)), dict(_each(wanted))
        wrong = [tp for tp in {**found, **due} if found.get(tp) != due.get(tp)]
        return f"{wrong[0]} is known as {found.get(wrong[0])}, told is {due.get(wrong[0])}"
    if sorted(change.deleted) != sorted(gone):
        return f"{change.deleted} are called deleted, {gone} are"
    alive = sorted(row.id for row in request.live_brokers)
    dead = [one for one in _named(known) if image.is_alive(one) and one not in alive]
    if dead or not all(map(image.is_alive, alive)):
        return f"{alive} are alive, {dead} are dead and count as alive"
    return _names_and_generations(image, request, generation)


def _each(known: _Known) -> Iterator[tuple[TopicPartition, PartitionImage]]:
    for name, partitions in known.items():
        for index, one in partitions.items():
            yield TopicPartition(name, index), one


def _with(before: _Known, told: _Known) -> _Known:
    """Return what is to be known when this was told."""
    wanted = dict(before)
    for name, partitions in told.items():
        all_of_it = {**wanted.pop(name, {}), **partitions}
        left = {index: one for index, one in all_of_it.items() if one.leader != _DELETED}
        if left:
            wanted[name] = left
    return wanted


def _named(known: _Known) -> list[int]:
    found = (one.replicas for partitions in known.values() for one in partitions.values())
    return list(dict.fromkeys(chain.from_iterable(found)))


def _names_and_generations(
    image: MetadataImage, request: UpdateMetadataRequest, generation: int
) -> Broken:
    """Say whether a topic is not found by its id, or an old answer would be given again."""
    if image.generation <= generation:
        return f"generation {image.generation} after {generation}"
    for row in request.topic_states:
        topic_id, name = bytes(row.topic_id), row.topic_name
        if not image.has_topic(name):
            if topic_id != ZERO_UUID and image.topic_name(topic_id) == name:
                return f"{name} is gone, and found by its id"
            continue
        if image.topic_id(name) != topic_id:
            return f"{name} has the id {image.topic_id(name).hex()}, told is {topic_id.hex()}"
        if topic_id != ZERO_UUID and image.topic_name(topic_id) != name:
            return f"{topic_id.hex()} is called {image.topic_name(topic_id)}, told is {name}"
        if image.topic_generations[name] <= generation:
            return f"{name} is as it was at generation {image.topic_generations[name]}"
    return None


@of_method(MetadataAnswers, "answer")
def answer(
    answers: MetadataAnswers,
    request: MetadataRequest,
    version: int,
    *,
    cluster_id: str,
    creating: Container[str] = (),
) -> Generator[None, MetadataResponse, Broken]:
    """Clients are told of exactly what they ask for, as the controller told it last."""
    response = yield
    image, listener = answers.image, answers.listener
    brokers = [(one.node_id, one.host, one.port, one.rack) for one in response.brokers]
    if brokers != [tuple(one) for one in image.live_brokers(listener)]:
        return f"brokers are told as {brokers}, alive are {image.live_brokers(listener)}"
    if response.cluster_id != cluster_id:
        return f"the cluster is called {response.cluster_id}"
    told = [(row.name, bytes(row.topic_id)) for row in response.topics]
    asked = request.topics
    if asked is None or (version == 0 and not asked):
        wanted = [(topic.name, topic.topic_id) for topic in image.topics()]
        if told != wanted:
            return f"of all topics {told} are told, there are {wanted}"
    elif len(told) != len({(one.name, bytes(one.topic_id)) for one in asked}):
        return f"asked for {asked}, told {told}"
    for row in response.topics:
        broken = _row(answers, row, version, creating)
        if broken is not None:
            return broken
    return None


def _row(
    answers: MetadataAnswers, row: MetadataResponseTopic, version: int, creating: Container[str]
) -> Broken:
    topic = None if row.name is None else answers.image.topic(row.name)
    if topic is None:
        wanted = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION}
        if row.name is None:
            wanted = {ErrorCode.UNKNOWN_TOPIC_ID}
        elif row.name in creating:
            wanted = {ErrorCode.LEADER_NOT_AVAILABLE}
        if row.error_code in wanted and not row.partitions:
            return None
        return f"{row.name}, which is not known, is told as {row}"
    if row.error_code != ErrorCode.NONE or bytes(row.topic_id) != topic.topic_id:
        return f"{row.name} is told as {row}"
    if [one.partition_index for one in row.partitions] != sorted(topic.partitions):
        return f"{row.name} has {sorted(topic.partitions)}, told is {row.partitions}"
    return _partitions(answers, row, topic, version)


def _partitions(
    answers: MetadataAnswers, row: MetadataResponseTopic, topic: TopicImage, version: int
) -> Broken:
    for one in row.partitions:
        known = topic.partitions[one.partition_index]
        reached = answers.image.live_broker(known.leader, answers.listener) is not None
        wanted = (known.leader if reached else -1, known.leader_epoch, known.offline_replicas)
        told = (one.leader_id, one.leader_epoch, tuple(one.offline_replicas))
        if told != wanted or (version > 0 and not _is_right(one, known, is_led=reached)):
            return f"{row.name}-{one.partition_index} is {known}, told as {one}"
    return None


def _is_right(one: MetadataResponsePartition, known: PartitionImage, *, is_led: bool) -> bool:
    has_members = (tuple(one.replica_nodes), tuple(one.isr_nodes)) == (known.replicas, known.isr)
    return has_members and (one.error_code == ErrorCode.NONE) is is_led
