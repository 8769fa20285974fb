"""What ``--generate`` proposes, and what ``--execute`` and ``--cancel`` check and say.

Source: ReassignPartitionsCommand.java.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from controller.core.placement import (
    RandomSource,
    UsableBroker,
    check_counts,
    place,
    start_for_new_topic,
)
from jbodlab.kafka_tools.core.failures import (
    answered,
    command_failed,
    executed,
    from_kafka,
    operation_failed,
    whole_number,
)
from jbodlab.kafka_tools.core.json_fields import duplicates
from jbodlab.kafka_tools.core.reassignment_file import ProposedReassignment, ReplicaOn
from protocol.admin.cluster import TopicView
from protocol.admin.reassignments import ReassignmentView
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

IN_PROGRESS: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to "
    "override this and create a new partition assignment in addition to the existing one. The "
    "--additional flag can also be used to change the throttle by resubmitting the current "
    "reassignment."
)
VERIFY_REGULARLY: Final = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure "
    "the throttle is removed."
)


class Round(NamedTuple):
    """What one try to start moves came to."""

    started: list[ReplicaOn]
    pending: list[ReplicaOn]
    """The broker does not have them yet."""


def parse_brokers(text: str) -> list[int]:
    """Return the brokers of ``--broker-list``.

    Raises:
        ToolFailure: one is no number, or is there twice.
    """
    brokers = [whole_number(word) for word in text.split(",")]
    twice = sorted(duplicates(brokers))
    if twice:
        raise command_failed(
            f"Broker list contains duplicate entries: [{', '.join(map(str, twice))}]"
        )
    return brokers


def check_racks(candidates: Sequence[UsableBroker]) -> None:
    """Check that replicas can be spread over racks: all brokers have one, or none has.

    Raises:
        ToolFailure: only some have one.
    """
    with_rack = sum(candidate.rack is not None for candidate in candidates)
    if 0 < with_rack < len(candidates):
        raise operation_failed(
            "Not all brokers have rack information. Add --disable-rack-aware in command line to "
            "make replica assignment without rack information."
        )


def propose(
    topics: Mapping[str, TopicView], candidates: Sequence[UsableBroker], chance: RandomSource
) -> dict[TopicPartition, tuple[int, ...]]:
    """Return new replicas for all partitions of some topics.

    Args:
        topics: by name; each keeps its number of partitions and the replication factor of its
            first one.
        candidates: the brokers, sorted by id; without racks the replicas are not spread over racks.
        chance: where each topic begins.

    Raises:
        KafkaError: INVALID_REPLICATION_FACTOR.
    """
    proposed: dict[TopicPartition, tuple[int, ...]] = {}
    for name, topic in sorted(topics.items()):
        numbers = [each.partition for each in topic.partitions]
        replication_factor = len(topic.partitions[0].replicas)
        check_counts(len(numbers), replication_factor, len(candidates))
        start = start_for_new_topic(candidates, chance)
        placed = place(candidates, len(numbers), replication_factor, start)
        for number, replicas in zip(numbers, placed, strict=True):
            proposed[TopicPartition(name, number)] = replicas
    return proposed


def check_topics(wanted: Iterable[str], found: Mapping[str, TopicView]) -> None:
    """Check that topics exist.

    Raises:
        ToolFailure: the first that does not.
    """
    for topic in wanted:
        if topic not in found:
            message = f"Topic {topic} not found."
            raise executed(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message))


def check_brokers(plan: ProposedReassignment, known: Iterable[int]) -> None:
    """Check that a plan's brokers are in the cluster.

    Raises:
        ToolFailure: the first that is not.
    """
    live = set(known)
    for _, replicas in plan.partitions:
        for broker in replicas:
            if broker not in live:
                raise command_failed(f"Unknown broker id {broker}")


def current_replicas(
    plan: ProposedReassignment, topics: Mapping[str, TopicView]
) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the replicas that the partitions of a plan have now.

    Raises:
        ToolFailure: a topic or some partitions do not exist (KAFKA-16455).
    """
    partitions = [partition for partition, _ in plan.partitions]
    check_topics(dict.fromkeys(each.topic for each in partitions), topics)
    found = {each: topics[each.topic].partition(each.partition) for each in partitions}
    missing = [str(each) for each, description in found.items() if description is None]
    if missing:
        message = f"Unable to find partition: {', '.join(missing)}"
        raise executed(KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message))
    return {each: one.replicas for each, one in found.items() if one is not None}


def cancellable(
    partitions: Iterable[TopicPartition], known: Mapping[TopicPartition, ReassignmentView]
) -> list[TopicPartition]:
    """Return the partitions that are being reassigned, sorted; also those that only get replicas.

    Kafka 3.9's tool leaves the latter out, which was a mistake of its translation to Java.
    """
    return sorted(
        each
        for each in dict.fromkeys(partitions)
        if each in known and (known[each].adding or known[each].removing)
    )


def sort_answers(answers: Mapping[ReplicaOn, ErrorCode]) -> Round:
    """Return which moves began and which are to be tried again.

    Raises:
        ToolFailure: the first that was refused for good.

    Source: ReassignPartitionsCommand.java alterReplicaLogDirs.
    """
    started: list[ReplicaOn] = []
    pending: list[ReplicaOn] = []
    for replica, code in sorted(answers.items()):
        if code is ErrorCode.NONE:
            started.append(replica)
        elif code is ErrorCode.REPLICA_NOT_AVAILABLE:
            pending.append(replica)
        else:
            cause = executed(answered(code))
            raise command_failed(f"Failed to alter dir for {replica}", cause)
    return Round(started, pending)


def moves_started(started: Iterable[ReplicaOn], wanted: Mapping[ReplicaOn, str]) -> str:
    """Return the lines about moves that began; each has a blank at its end, as Kafka's."""
    return "\n".join(
        f"Successfully started moving log directory to {wanted[replica]} for replica "
        f"{replica.partition} with broker {replica.broker} "
        for replica in started
    )


def refused(errors: Mapping[TopicPartition, KafkaError], heading: str) -> str:
    """Return what is said about partitions that were refused."""
    lines = [f"{partition}: {from_kafka(error).message}" for partition, error in errors.items()]
    return "\n".join([heading, *sorted(lines)])


def plural(count: int) -> str:
    """Return the "s" of the tool's sentences."""
    return "" if count == 1 else "s"


def timed_out(pending: Iterable[ReplicaOn]) -> str:
    """Return what is said when moves could not be started in time."""
    replicas = list(pending)
    listed = ",".join(map(str, replicas))
    return (
        f"Timed out before log directory move{plural(len(replicas))} could be started for: {listed}"
    )
