"""What a topic may be called, and which manual assignments are sound. It knows no brokers' state.

Source: Topic.java, AdminZkClient.validateTopicCreate (3.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from protocol.errors import ErrorCode, KafkaError
from protocol.topic_names import topic_name_problem


def check_name(name: str, existing: Iterable[str]) -> None:
    """Check a new topic's name.

    Raises:
        KafkaError: INVALID_TOPIC_EXCEPTION.
    """
    problem = topic_name_problem(name)
    if problem:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    if "." in name or "_" in name:
        folded = name.replace(".", "_")
        collisions = [other for other in existing if other.replace(".", "_") == folded]
        if collisions:
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topics: {', '.join(collisions)}",
            )


def check_assignment(numbers: Sequence[int], assignment: Sequence[Sequence[int]]) -> None:
    """Check a manual assignment of a new topic.

    Args:
        numbers: the partition numbers, in the order of ``assignment``.
        assignment: the replicas of each.

    Raises:
        KafkaError: INVALID_REPLICA_ASSIGNMENT.
    """
    if len({len(replicas) for replicas in assignment}) != 1 or not assignment[0]:
        raise _bad_assignment("All partitions should have the same number of replicas")
    for number, replicas in zip(numbers, assignment, strict=True):
        if len(set(replicas)) != len(replicas):
            raise _bad_assignment(
                f"Duplicate replica assignment found: partition {number} -> {list(replicas)}"
            )
    if sorted(numbers) != list(range(len(numbers))):
        raise _bad_assignment("partitions should be a consecutive 0-based integer sequence")


def _bad_assignment(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
