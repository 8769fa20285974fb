"""CreatePartitions: more partitions for topics that exist. Answers as CreateTopics does.

Source: ControllerApis.createPartitions, ZkAdminManager.createPartitions (3.9).
"""

from __future__ import annotations

from collections import Counter

from controller.core.events import RequestArrived
from controller.core.lost_partitions import start_added
from controller.core.placement import (
    check_counts,
    check_room,
    check_total,
    place,
    start_for_growth,
)
from controller.core.records import PartitionsAdded
from controller.core.state import Topic
from controller.core.step import Step
from controller.core.told_answers import answer_once_told
from controller.core.topics import usable_brokers
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from protocol.refusals import refuse_create_partitions


def create_partitions(step: Step, event: RequestArrived) -> None:
    """Serve CreatePartitions v0-3."""
    request: CreatePartitionsRequest = event.request
    try:
        check_total(sum(_added(step, topic) for topic in request.topics))
    except KafkaError as error:
        step.answer(event.token, refuse_create_partitions(request, event.version, error))
        return
    counts = Counter(topic.name for topic in request.topics)
    results: list[CreatePartitionsTopicResult] = []
    tps: list[TopicPartition] = []
    for topic in {topic.name: topic for topic in request.topics}.values():
        try:
            assignment = _plan(step, topic, is_duplicate=counts[topic.name] > 1)
        except KafkaError as error:
            results.append(_failed(topic.name, error))
            continue
        if not request.validate_only:
            first = len(step.state.topics[topic.name].partitions)
            step.change(PartitionsAdded(topic.name, tuple(assignment)))
            tps.extend(step.state.topics[topic.name].keys[first:])
            step.note(f"topic {topic.name} grows: {first} -> {topic.count} partitions")
        results.append(CreatePartitionsTopicResult(name=topic.name))
    if tps:
        start_added(step, tps)
    answer_once_told(
        step,
        event,
        results,
        lambda results: CreatePartitionsResponse(results=results),
        lambda result: CreatePartitionsTopicResult(
            name=result.name, error_code=ErrorCode.REQUEST_TIMED_OUT
        ),
        is_waiting=bool(tps),
    )


def _added(step: Step, topic: CreatePartitionsTopic) -> int:
    """Return how many new partitions are asked for; what cannot grow is refused later."""
    existing = step.state.topics.get(topic.name)
    return 0 if existing is None else max(topic.count - len(existing.partitions), 0)


def _plan(step: Step, topic: CreatePartitionsTopic, *, is_duplicate: bool) -> list[tuple[int, ...]]:
    """Decide where the new replicas go.

    Raises:
        KafkaError: what is wrong with the wish.
    """
    if is_duplicate:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
    existing = _growing(step, topic)
    added = topic.count - len(existing.partitions)
    if topic.assignments is not None:
        manual = [tuple(entry.broker_ids) for entry in topic.assignments]
        _check_manual(step, existing, added, manual)
        return manual
    first = existing.partitions[0].replicas
    candidates = usable_brokers(step)
    check_counts(added, len(first), len(candidates))
    start = start_for_growth(candidates, first[0], len(existing.partitions))
    return place(candidates, added, len(first), start)


def _growing(step: Step, topic: CreatePartitionsTopic) -> Topic:
    existing = step.state.topics.get(topic.name)
    if existing is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic.name}' does not exist."
        )
    if existing.is_deleting:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")
    if step.state.is_reassigning(topic.name):
        raise KafkaError(
            ErrorCode.REASSIGNMENT_IN_PROGRESS,
            f"A partition reassignment is in progress for the topic '{topic.name}'.",
        )
    count = len(existing.partitions)
    if topic.count == count:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {count} partitions.")
    if topic.count < count:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic currently has {count} partitions, which is higher than the requested "
            f"{topic.count}.",
        )
    return existing


def _check_manual(step: Step, existing: Topic, added: int, manual: list[tuple[int, ...]]) -> None:
    unknown = sorted({b for replicas in manual for b in replicas if b not in step.state.brokers})
    if unknown:
        raise _bad(f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}.")
    check_room(step.state, (broker_id for replicas in manual for broker_id in replicas))
    if len(manual) != added:
        raise _bad(
            f"Increasing the number of partitions by {added} but {len(manual)} assignments "
            "provided."
        )
    for number, replicas in enumerate(manual, len(existing.partitions)):
        if not replicas:
            raise _bad(f"Cannot have replication factor of 0 for partition id {number}.")
        if len(set(replicas)) != len(replicas):
            raise _bad(
                "Duplicate brokers not allowed in replica assignment: "
                f"{', '.join(map(str, replicas))} for partition id {number}."
            )
    _check_same_size(existing, manual)


def _check_same_size(existing: Topic, manual: list[tuple[int, ...]]) -> None:
    size = len(existing.partitions[0].replicas)
    numbered = enumerate(manual, len(existing.partitions))
    others = [(number, len(replicas)) for number, replicas in numbered if len(replicas) != size]
    if others:
        raise _bad(
            f"Inconsistent replication factor between partitions, partition 0 has {size} while "
            f"partitions {[number for number, _ in others]} have replication factors "
            f"{[other for _, other in others]}, respectively."
        )


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def _failed(name: str, error: KafkaError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(
        name=name, error_code=error.code, error_message=error.message
    )
