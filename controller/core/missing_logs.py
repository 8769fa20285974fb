"""Partitions of whose Isr nobody has a log, by a journal that is behind: who may have it instead.

They were moved to other brokers by decisions that are lost, or deleted, or the log is lost. Who was
elected of that Isr would serve an empty log, and what others have acknowledged were gone. So nobody
is in the Isr, and nobody leads without an unclean election, until all brokers have told of their
logs. Kafka has no such case: its journal is replicated. An empty Isr it knows from KIP-966.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from controller.core.claims import Claim, Reports, claims_of, epoch_of, longest_of
from controller.core.state import ClusterState, Partition
from controller.core.step import Step
from protocol.ids import NO_EPOCH, NO_LEADER, ZERO_UUID, TopicPartition, listed
from protocol.messages.journal import ReportedReplica

_LEADER_EPOCHS_MAX: Final = 4
"""No decision raises the leader epoch of a partition more often."""


def has_told(step: Step, reports: Reports, broker_id: int) -> bool:
    """Tell whether a broker has said of all its log dirs which replicas are there."""
    is_whole = broker_id not in step.run.untold
    return is_whole and broker_id in reports and reports[broker_id].topics is not None


def are_awaited(state: ClusterState) -> bool:
    """Tell whether a partition waits for somebody to tell of its log."""
    return any(is_awaited(state.partition(tp)) for tp in state.partitions())


def is_awaited(partition: Partition) -> bool:
    """Tell whether nobody is in the Isr until somebody tells of a log."""
    return partition.has_leadership and not partition.isr


def note(step: Step, reports: Reports) -> None:
    """Keep of which logs brokers tell, for those that come later."""
    for broker_id, report in reports.items():
        if report.topics is None:
            continue
        of_broker = claims_of({broker_id: report})
        step.run.logs_told[broker_id] = {tp: claims[0] for tp, claims in of_broker.items()}
        if has_told(step, reports, broker_id):
            step.run.have_told[broker_id] = None
        else:
            step.run.have_told.pop(broker_id, None)


def without_who_has_no_log(
    step: Step,
    reports: Reports,
    claims: Mapping[TopicPartition, Sequence[Claim]],
    changed: Mapping[TopicPartition, Partition],
) -> dict[TopicPartition, Partition]:
    """Return partitions whose Isr has brokers that tell of no such replica, without those.

    They are replicas no more, or their log is lost: who is elected of them serves an empty one.
    """
    found: dict[TopicPartition, Partition] = {}
    for tp in step.state.partitions():
        partition = changed.get(tp, step.state.partition(tp))
        holders = {claim.broker_id for claim in claims.get(tp, ())}
        isr = tuple(
            member
            for member in partition.isr
            if member in holders or not has_told(step, reports, member)
        )
        if not partition.has_leadership or (isr and isr == tuple(partition.isr)):
            continue
        if isr:
            leader = partition.leader if partition.leader in isr else NO_LEADER
            epoch = partition.leader_epoch + (tp not in changed)
            found[tp] = replace(partition, leader=leader, isr=isr, leader_epoch=epoch)
        elif (other := _by_logs(step, tp, partition)) != partition:
            found[tp] = other
    return found


def settled(step: Step) -> dict[TopicPartition, Partition]:
    """Return partitions that waited for a log, as they go on by what all brokers have told."""
    found: dict[TopicPartition, Partition] = {}
    for tp in step.state.partitions():
        partition = step.state.partition(tp)
        if is_awaited(partition) and (other := _by_logs(step, tp, partition)) != partition:
            found[tp] = other
    return found


def say_awaited(step: Step) -> None:
    """Have it logged which partitions wait, and for whom, if they are others than before."""
    tps = [tp for tp in step.state.partitions() if is_awaited(step.state.partition(tp))]
    if tps and not step.run.awaits_logs:
        untold = [each for each in step.state.brokers if each not in step.run.have_told]
        step.warn(
            f"no broker of the Isr has a log of {listed(tps)}: nobody leads them until brokers "
            f"{untold} have told what is in all their log dirs, but by an unclean election"
        )
    step.run.awaits_logs = bool(tps)


def epochs_in(lost: int) -> int:
    """Return by how much ``lost`` decisions raise the leader epoch of a partition at most."""
    return lost * _LEADER_EPOCHS_MAX


def lost_since(state: ClusterState) -> int:
    """Return how many decisions this journal may have lost at most; 0: none."""
    return state.journal_number - state.lost_after if state.lost_after else 0


def _by_logs(step: Step, tp: TopicPartition, partition: Partition) -> Partition:
    """Return a partition of whose Isr nobody has a log with those in it that have the longest one.

    Those become its replicas of which none had told that it is one. While a broker has not told,
    nobody is in the Isr: its log may be longer. Once all have, and nobody has a log, there is none.
    """
    logs = _logs(step, tp)
    longest = longest_of(logs)
    is_moved = bool(longest) and not any(each in partition.replicas for each in longest)
    if is_moved:
        holders = tuple(sorted(logs))
        partition = replace(partition, replicas=holders, adding_replicas=(), removing_replicas=())
    if not all(broker_id in step.run.have_told for broker_id in step.state.brokers):
        epoch = partition.leader_epoch + bool(partition.isr)  # What is heard late may be newer.
        return replace(partition, leader=NO_LEADER, isr=(), leader_epoch=epoch)
    if longest:
        isr = tuple(each for each in partition.replicas if each in longest)
        epoch = max(partition.leader_epoch, epoch_of(logs.values())) + 1
        return replace(partition, leader=NO_LEADER, isr=isr, leader_epoch=epoch)
    if partition.isr:
        return partition
    lost = step.state.journal_number - step.state.lost_after
    epoch = partition.leader_epoch + epochs_in(lost)
    return replace(partition, isr=partition.target_replicas, leader_epoch=epoch)


def _logs(step: Step, tp: TopicPartition) -> dict[int, ReportedReplica]:
    """Return what brokers have told of logs that hold something, or did, and are to be kept."""
    ids = (step.state.topics[tp.topic].topic_id, ZERO_UUID)
    told = {broker_id: logs[tp] for broker_id, logs in step.run.logs_told.items() if tp in logs}
    return {
        broker_id: claim.replica
        for broker_id, claim in sorted(told.items())
        if claim.topic_id in ids
        and (claim.replica.log_end_offset > 0 or claim.replica.log_epoch != NO_EPOCH)
        and tp not in step.state.removed.get(broker_id, ())
    }
