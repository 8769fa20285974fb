"""What a controller promises where replicas are away: failures are told, and deletions wait.

Source: KafkaController.scala processLeaderAndIsrResponseReceived, TopicDeletionManager.scala.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from controller.core import deletion, failures
from controller.core.effects import Report
from controller.core.events import RequestAnswered
from controller.core.phases import ReplicaPhase
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.metrics.rows import FailoverStep
from simulation.contracts.contract import Broken, of_function

_GOES: Final = (ReplicaPhase.DELETION_STARTED, ReplicaPhase.DELETION_SUCCESSFUL)


@of_function(failures.leader_and_isr_answered)
def leader_and_isr_answered(step: Step, event: RequestAnswered) -> Generator[None, None, Broken]:
    """What a broker says about a failure is told once: what went offline, and what is led again."""
    asked = step.run.probes.get(event.broker_id, [])
    failure_ids = [
        each for probe in asked if probe.sequence == event.sequence for each in probe.failure_ids
    ]
    count = len(step.effects)
    yield
    if any(probe.sequence == event.sequence for probe in step.run.probes.get(event.broker_id, [])):
        return f"what broker {event.broker_id} answered to {event.sequence} is waited for still"
    if event.response.error_code != ErrorCode.NONE:
        return None
    reports = [each for each in step.effects[count:] if isinstance(each, Report)]
    told = [(each.failure_id, each.step) for each in reports]
    wanted = [
        (each, kind)
        for each in failure_ids
        for kind in (FailoverStep.REPLICAS_OFFLINE, FailoverStep.LEADERS_ELECTED)
    ]
    if wrong := [each for each in wanted if told.count(each) != 1]:
        return f"{wrong} are to be told, told are {told}"
    return None


@of_function(deletion._delete_replicas)  # noqa: SLF001 -- every deletion goes through it
def delete_replicas(step: Step, topics: Sequence[str]) -> Generator[None, None, Broken]:
    """A deletion waits for replicas that are away, and goes on with all others."""
    yield
    state, run = step.state, step.run
    for topic in topics:
        partitions = enumerate(state.topics[topic].partitions)
        replicas = [(TopicPartition(topic, n), b) for n, each in partitions for b in each.replicas]
        away = [each for each in replicas if not state.is_replica_deletable(*each)]
        if away and topic not in run.deletion_ineligible:
            return f"{topic} does not wait, {away} are away"
        phases = {each: run.replica_phase_of(*each) for each in replicas if each not in away}
        if left := {each: phase.name for each, phase in phases.items() if phase not in _GOES}:
            return f"{left} are there while {topic} is deleted"
    return None
