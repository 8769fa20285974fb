"""CreateTopics: checks in Kafka's order, creates all good topics in one batch.

The answer waits until every reachable broker has taken LeaderAndIsr and UpdateMetadata, so that a
client which produces right after it meets no broker that does not know the topic. Source:
ZkAdminManager.createTopics.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from controller.core.events import RequestArrived
from controller.core.placement import (
    check_counts,
    check_room,
    check_total,
    place,
    start_for_new_topic,
)
from controller.core.step import Step
from controller.core.told_answers import answer_once_told
from controller.core.topic_rules import check_assignment, check_name
from controller.core.topics import add_topic, start_partitions, usable_brokers
from protocol.configs.parsing import check_topic_configs, describe_topic_configs
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.refusals import refuse_create_topics
from protocol.topic_names import CLUSTER_METADATA

_UNSET: Final = -1


class _Plan(NamedTuple):
    assignment: list[tuple[int, ...]]
    configs: dict[str, str]


def create_topics(step: Step, event: RequestArrived) -> None:
    """Serve CreateTopics v0-7."""
    request: CreateTopicsRequest = event.request
    try:
        check_total(sum(_partitions(step, topic) for topic in request.topics))
    except KafkaError as error:
        step.answer(event.token, refuse_create_topics(request, event.version, error))
        return
    counts = Counter(topic.name for topic in request.topics)
    results: list[CreatableTopicResult] = []
    tps: list[TopicPartition] = []
    for topic in request.topics:
        try:
            plan = _plan(step, topic, is_duplicate=counts[topic.name] > 1)
        except KafkaError as error:
            results.append(
                CreatableTopicResult(
                    name=topic.name, error_code=error.code, error_message=error.message
                )
            )
            continue
        if not request.validate_only:
            add_topic(step, topic.name, plan.assignment, plan.configs)
            tps.extend(step.state.topics[topic.name].keys)
        results.append(_created(step, topic.name, plan))
    if tps:
        start_partitions(step, tps)
    answer_once_told(
        step,
        event,
        results,
        lambda results: CreateTopicsResponse(topics=results),
        lambda result: CreatableTopicResult(
            name=result.name, error_code=ErrorCode.REQUEST_TIMED_OUT, error_message=None
        ),
        is_waiting=bool(tps),
    )


def _plan(step: Step, topic: CreatableTopic, *, is_duplicate: bool) -> _Plan:
    """Decide where a topic's replicas go.

    Raises:
        KafkaError: what is wrong with it.
    """
    _check_whole(step, topic, is_duplicate=is_duplicate)
    configs = _configs(topic)
    if topic.assignments:
        numbers = [entry.partition_index for entry in topic.assignments]
        manual = [tuple(entry.broker_ids) for entry in topic.assignments]
        check_assignment(numbers, manual)
        _check_known(step, manual)
        assignment = [replicas for _, replicas in sorted(zip(numbers, manual, strict=True))]
    else:
        assignment = _place(step, topic)
    check_name(topic.name, step.state.topics)
    check_topic_configs(configs, step.defaults)
    return _Plan(assignment, configs)


def _check_whole(step: Step, topic: CreatableTopic, *, is_duplicate: bool) -> None:
    if topic.name == CLUSTER_METADATA:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Creation of internal topic {topic.name} is prohibited."
        )
    if is_duplicate:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
    if topic.name in step.state.topics:
        is_deleting = step.state.is_deleting(topic.name)
        reason = "is marked for deletion." if is_deleting else "already exists."
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' {reason}")


def _configs(topic: CreatableTopic) -> dict[str, str]:
    nulls = [entry.name for entry in topic.configs if entry.value is None]
    if nulls:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Null value not supported for topic configs: {','.join(nulls)}",
        )
    is_counted = topic.num_partitions != _UNSET or topic.replication_factor != _UNSET
    if topic.assignments and is_counted:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "Both numPartitions or replicationFactor and replicasAssignments were set. "
            "Both cannot be used at the same time.",
        )
    return {entry.name: entry.value for entry in topic.configs if entry.value is not None}


def _check_known(step: Step, assignment: list[tuple[int, ...]]) -> None:
    named = dict.fromkeys(b for replicas in assignment for b in replicas)
    for broker_id in named:
        if broker_id not in step.state.brokers:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes broker {broker_id}, "
                "but no such broker is registered.",
            )
    check_room(step.state, named)


def _partitions(step: Step, topic: CreatableTopic) -> int:
    """Return how many are asked for; what is not above 0 is refused later."""
    if topic.assignments:
        return len(topic.assignments)
    if topic.num_partitions == _UNSET:
        return step.defaults.num_partitions
    return max(topic.num_partitions, 0)


def _place(step: Step, topic: CreatableTopic) -> list[tuple[int, ...]]:
    defaults = step.defaults
    partitions = _partitions(step, topic)
    replication_factor = topic.replication_factor
    if replication_factor == _UNSET:
        replication_factor = defaults.default_replication_factor
    candidates = usable_brokers(step)
    check_counts(partitions, replication_factor, len(candidates))
    return place(
        candidates, partitions, replication_factor, start_for_new_topic(candidates, step.chance)
    )


def _created(step: Step, name: str, plan: _Plan) -> CreatableTopicResult:
    topic = step.state.topics.get(name)
    return CreatableTopicResult(
        name=name,
        topic_id=ZERO_UUID if topic is None else topic.topic_id,
        error_message=None,
        num_partitions=len(plan.assignment),
        replication_factor=len(plan.assignment[0]),
        configs=[
            CreatableTopicConfigs(
                name=config.name,
                value=config.value,
                read_only=config.is_read_only,
                config_source=config.source,
                is_sensitive=config.is_sensitive,
            )
            for config in describe_topic_configs(plan.configs, step.default_overrides)
        ],
    )
