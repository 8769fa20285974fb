"""A journal that is behind the world: it learns from brokers what is newer, and goes on above it.

A journal is behind when it was restored from a copy, or when its last records were damaged and cut.
Brokers tell what they have heard of it. Nothing of theirs is deleted; what cannot be learned
(topics with their configurations) is said. Kafka has no such case: its journal is replicated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from controller.core import missing_logs
from controller.core.claims import Claim, Reports, claims_of, epoch_of, longest_of
from controller.core.journal_records import BrokerEpochsRaised, DecisionsLost
from controller.core.partition_moves import write_leaderships
from controller.core.reassignment_records import AssignmentChanged, RemovalsConfirmed
from controller.core.records import (
    ControllerStarted,
    ProducerIdsAllocated,
    TopicDeleted,
)
from controller.core.state import ClusterState, Partition
from controller.core.step import Step
from protocol.ids import NO_EPOCH, NO_LEADER, ZERO_UUID, TopicPartition, listed
from protocol.messages.journal import JournalReport, ReportedReplica, is_other_journal


def is_ahead(state: ClusterState, report: JournalReport) -> bool:
    """Tell whether a broker has heard of decisions that this journal does not have.

    Also of those behind which a later epoch began because another broker had heard of them.
    """
    if bytes(report.journal_id) != state.journal_id:
        return False
    is_later = report.controller_epoch > state.controller_epoch
    return is_later or report.journal_number > _shared_number(state, report)


def _shared_number(state: ClusterState, report: JournalReport) -> int:
    """Return the last decision of this journal that a broker of it may have heard of, too."""
    later = [n for epoch, n in state.epoch_starts.items() if epoch > report.controller_epoch]
    return min(later, default=state.journal_number)


def newer_reports(state: ClusterState, reports: Reports) -> Reports:
    """Return the reports of decisions that this journal does not have, another journal's too."""
    return {
        broker_id: report
        for broker_id, report in reports.items()
        if is_ahead(state, report) or is_other_journal(report, state.journal_id)
    }


def raise_above(step: Step, reports: Iterable[JournalReport]) -> None:
    """Let producer ids, which must never be given twice, go on above all that brokers know."""
    start = step.state.next_producer_id
    end = max((report.producer_ids_end for report in reports), default=0)
    if end > start:
        step.warn(
            f"producer ids {start} to {end - 1} are in use, and the journal does not know them: "
            "blocks go on above them"
        )
        step.change(ProducerIdsAllocated(end))


def raise_broker_epochs(step: Step, previous_broker_epoch: int) -> None:
    """Let the next registration have a higher epoch than the one that a broker had before."""
    if previous_broker_epoch >= step.state.next_broker_epoch:
        step.change(BrokerEpochsRaised(previous_broker_epoch + 1))


def begin_epoch_above(step: Step, newer: Reports) -> int:
    """Log what brokers know that the journal does not, and begin an epoch above it.

    Returns:
        How many decisions the journal has lost, as far as can be told; for ``learn``.
    """
    _say(step, newer)
    lost = _lost_count(step.state, newer)  # The new epoch goes on behind the highest number heard.
    _begin_epoch(step, newer.values())
    if lost:
        # Each registration is a decision. A leader that knows a later life of a follower's broker
        # would take nothing from one with a lower epoch.
        raise_broker_epochs(step, step.state.next_broker_epoch + lost)
    return lost


def go_above(step: Step, newer: Reports) -> int:
    """Do the same for a broker that comes late; an epoch that is above it already stays."""
    state = step.state
    is_above = all(
        report.controller_epoch < state.controller_epoch
        and report.journal_number <= state.journal_number
        for report in newer.values()
    )
    if not is_above:
        return begin_epoch_above(step, newer)
    _say(step, newer)
    return _lost_count(state, newer)


def _begin_epoch(step: Step, heard: Collection[JournalReport]) -> None:
    """Begin a controller epoch above every one that the journal, or a broker, has heard of."""
    state = step.state
    epoch = max([state.controller_epoch, *(report.controller_epoch for report in heard)]) + 1
    number = max([state.journal_number, *(report.journal_number for report in heard)])
    step.change(ControllerStarted(step.settings.cluster_id, epoch, number))
    step.note(f"controller epoch {epoch} begins behind decision {number}")


def _say(step: Step, newer: Reports) -> None:
    """Have it logged, and remembered, what brokers know that the journal does not."""
    state = step.state
    for broker_id, report in newer.items():
        if is_other_journal(report, state.journal_id):
            step.warn(f"broker {broker_id} has data of another journal; that was accepted")
            continue
        if (shared := _shared_number(state, report)) > state.lost_after:
            step.change(DecisionsLost(shared))
        step.warn(
            f"the journal is behind: it lacks what came after decision {shared}, and broker "
            f"{broker_id} has heard of decision {report.journal_number} of controller epoch "
            f"{report.controller_epoch}; it was restored from a copy, or its end is damaged. What "
            "is newer is learned from brokers"
        )


def _lost_count(state: ClusterState, newer: Reports) -> int:
    """Return how many decisions the journal has lost, as far as can be told.

    At least one where there is news; others may have taken their numbers since.
    """
    heard = [
        report.journal_number - _shared_number(state, report)
        for report in newer.values()
        if not is_other_journal(report, state.journal_id)
    ]
    return max([1, *heard]) if newer else 0


def learn(step: Step, reports: Reports, lost: int) -> list[TopicPartition]:
    """Take over what brokers know better; return the partitions whose leadership changed.

    Nobody is told here. The epoch of this controller must have begun above theirs.

    Args:
        step: of this event.
        reports: those with the brokers' replicas.
        lost: what ``begin_epoch_above``, or ``go_above``, returned.
    """
    claims = claims_of(reports)
    missing_logs.note(step, reports)
    if not step.run.hearing_is_over:  # What is served since then is not forgotten.
        _forget_topics_made_anew(step, claims)
    changed = _newer_leaderships(step, reports, claims)
    changed.update(missing_logs.without_who_has_no_log(step, reports, claims, changed))
    _take_assignments(step, claims, changed)
    changed.update(_above_lost(step, changed, lost))
    _write(step, changed)
    _keep_what_is_replica_again(step, claims)
    _say_unknown(step, claims)
    return list(changed)


def settle(step: Step) -> list[TopicPartition]:
    """Do the same for partitions that waited for somebody to tell of a log, by what is told now."""
    changed = missing_logs.settled(step)
    _take_assignments(step, {}, changed)
    _write(step, changed)
    return list(changed)


def _write(step: Step, changed: dict[TopicPartition, Partition]) -> None:
    if changed:
        write_leaderships(step, changed)
        step.warn(f"learned from brokers, with new epochs: {listed(list(changed))}")
    missing_logs.say_awaited(step)


def _forget_topics_made_anew(step: Step, claims: Mapping[TopicPartition, Sequence[Claim]]) -> None:
    """Forget topics whose name belongs to another one by now; its data must not be deleted."""
    for name, topic in list(step.state.topics.items()):
        told = [c.topic_id for tp, all_ in claims.items() if tp.topic == name for c in all_]
        known = [topic_id for topic_id in told if topic_id != ZERO_UUID]
        if known and topic.topic_id not in known:
            step.warn(f"topic {name} was deleted and made anew since: the old one is forgotten")
            step.change(TopicDeleted(name))


def _newer_leaderships(
    step: Step, reports: Reports, claims: Mapping[TopicPartition, Sequence[Claim]]
) -> dict[TopicPartition, Partition]:
    """Return what claims make of partitions.

    Once this controller acts, a leader that is online stays, and one that comes late is elected
    when it is live.
    """
    changed: dict[TopicPartition, Partition] = {}
    for tp, told in claims.items():
        partition = step.state.find(tp)
        if partition is None:
            continue
        topic_id = step.state.topics[tp.topic].topic_id
        own = [claim for claim in told if claim.topic_id in (topic_id, ZERO_UUID)]
        is_late = step.run.hearing_is_over
        is_led = is_late and step.state.is_replica_online(tp, partition.leader)
        newer = _above(partition, own) if is_led else _newer(step, partition, own, reports)
        if newer != partition and (newer.isr or partition.has_leadership):
            is_away = is_late and not step.state.is_replica_online(tp, newer.leader)
            changed[tp] = replace(newer, leader=NO_LEADER) if is_away else newer
    return changed


def _newer(
    step: Step, partition: Partition, claims: Sequence[Claim], reports: Reports
) -> Partition:
    """Return the leadership that a leader, or else the longest log, gives a partition.

    A follower knows the epoch but not the last Isr: only the leader of the newest epoch does. Logs
    decide where all replicas have told theirs. The epoch becomes a new one, above those of logs,
    too, so that every replica takes what it is told next.
    """
    warm = [claim for claim in claims if claim.replica.leader_epoch != NO_EPOCH]
    newest = max(warm, key=lambda claim: (claim.age, claim.is_leaders), default=None)
    logs = {claim.broker_id: claim.replica for claim in claims}
    epoch = epoch_of(claim.replica for claim in claims)
    is_sure = newest is not None and newest.is_leaders
    is_told = all(missing_logs.has_told(step, reports, replica) for replica in partition.replicas)
    is_held = any(r in logs for r in partition.replicas) and not missing_logs.is_awaited(partition)
    if not is_sure and is_told and is_held:
        return _longest(partition, logs)
    if newest is None or newest.age <= (partition.leader_epoch, partition.partition_epoch):
        is_above = epoch <= partition.leader_epoch
        return partition if is_above else _above(partition, claims)
    leader = newest.replica.leader
    return replace(
        partition,
        leader=leader,
        leader_epoch=epoch + 1,
        # None where a controller that had lost the topic told of it: who led was in it.
        isr=newest.isr or (partition.isr if leader == NO_LEADER else (leader,)),
        partition_epoch=newest.replica.partition_epoch,
    )


def _above(partition: Partition, claims: Sequence[Claim]) -> Partition:
    """Return the leadership as it is, with an epoch above those of a broker that comes late."""
    epoch = epoch_of(claim.replica for claim in claims)
    if epoch < partition.leader_epoch:
        return partition
    return replace(partition, leader_epoch=epoch + 1)


def _above_lost(
    step: Step, changed: Mapping[TopicPartition, Partition], lost: int
) -> dict[TopicPartition, Partition]:
    """Return partitions above every leader epoch that lost decisions may have given them.

    Brokers tell of their replicas, and had told clients of all others, too. A client takes nobody
    for the leader that leads in a lower epoch than it has heard of (KIP-320, ``Metadata.java``), so
    it would read no more (seed 1051610). And what was deleted since comes back empty: nobody may
    take what is written now for what was read before, at the same offset of the same epoch.
    """
    found: dict[TopicPartition, Partition] = {}
    for tp in step.state.partitions() if lost else ():
        known = step.state.partition(tp)
        epoch = known.leader_epoch + missing_logs.epochs_in(lost)
        partition = changed.get(tp, known)
        is_behind = partition.has_leadership and partition.leader_epoch < epoch
        if is_behind and not step.state.is_being_deleted(tp.topic):
            found[tp] = replace(partition, leader_epoch=epoch)
    return found


def _longest(partition: Partition, logs: Mapping[int, ReportedReplica]) -> Partition:
    """Return the partition with the replicas in the Isr that have the longest log.

    Nobody remembers the Isr. What was acknowledged was in every member's log; of all replicas the
    log with the last epoch, and in it the highest end, holds all of it. Who led by the journal, and
    does not have it, leads no more.
    """
    epoch = max(partition.leader_epoch, epoch_of(logs.values()))
    isr = tuple(longest_of({r: logs[r] for r in partition.replicas if r in logs}))
    if epoch == partition.leader_epoch and frozenset(isr) == frozenset(partition.isr):
        return partition
    leader = partition.leader if partition.leader in isr else NO_LEADER
    return replace(partition, leader=leader, isr=isr, leader_epoch=epoch + 1)


def _take_assignments(
    step: Step,
    claims: Mapping[TopicPartition, Sequence[Claim]],
    changed: Mapping[TopicPartition, Partition],
) -> None:
    """Take over reassignments that the newest claims know of, and that leave the Isr as it is.

    And those that follow from who has a log.
    """
    for tp, partition in changed.items():
        before = _assignment(step.state.partition(tp))
        after = _assignment(partition)
        if after == before and tp in claims:
            replica = max(claims[tp], key=lambda claim: claim.age).replica
            if set(partition.isr) <= set(replica.replicas):
                after = _assignment(replica)
        if after != before:
            _assign(step, tp, before, after)


_Assignment = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def _assignment(known: Partition | ReportedReplica) -> _Assignment:
    replicas, adding = tuple(known.replicas), tuple(known.adding_replicas)
    return replicas, adding, tuple(known.removing_replicas)


def _assign(step: Step, tp: TopicPartition, before: _Assignment, after: _Assignment) -> None:
    step.change(AssignmentChanged(tp.topic, tp.partition, *after))
    for broker_id in (b for b in before[0] if b not in after[0]):
        step.change(RemovalsConfirmed(broker_id, (tp,)))  # Nobody is sure enough to delete.


def _keep_what_is_replica_again(
    step: Step, claims: Mapping[TopicPartition, Sequence[Claim]]
) -> None:
    """Take back orders to delete replicas: brokers that are replicas again must not obey them."""
    for broker_id, tps in list(step.state.removed.items()):
        kept = tuple(
            tp for tp in tps if any(broker_id in c.replica.replicas for c in claims.get(tp, ()))
        )
        if kept:
            step.change(RemovalsConfirmed(broker_id, kept))


def _say_unknown(step: Step, claims: Mapping[TopicPartition, Sequence[Claim]]) -> None:
    unknown = list(_unknown(step.state, claims))
    if unknown:
        step.warn(
            f"brokers hold replicas that the journal does not know: {listed(unknown)}; "
            "their data stays where it is, and nobody serves it"
        )


def _unknown(
    state: ClusterState, claims: Mapping[TopicPartition, Sequence[Claim]]
) -> Iterator[TopicPartition]:
    for tp, told in claims.items():
        topic = state.topics.get(tp.topic)
        is_known = topic is not None and tp.partition < len(topic.partitions)
        ids = [claim.topic_id for claim in told]
        if not is_known or not any(i in (ZERO_UUID, topic and topic.topic_id) for i in ids):
            yield tp
