"""What a controller promises that has just begun: to hear the brokers first, and go on above them.

Kafka has no such case: its journal is replicated.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from typing import Any, NamedTuple

from controller.core import catch_up, hearing, unknown_replicas
from controller.core.decision import Decision
from controller.core.effects import Answer
from controller.core.events import Event, RequestArrived, Tick
from controller.core.machine import Machine
from controller.core.run_state import Hearing
from controller.core.state import ClusterState, Partition
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, ZERO_UUID, TopicPartition
from protocol.messages.journal import JournalReport, ReportedReplica, asks_for_replicas, report_of
from protocol.messages.lifecycle import BrokerHeartbeatRequest
from simulation.contracts.contract import Broken, of_function, of_method
from simulation.contracts.controller.cluster_facts import alive, partitions

Reports = Mapping[int, JournalReport]


class Journal(NamedTuple):
    """How far a journal is, before the epoch of this controller begins."""

    journal_id: bytes
    controller_epoch: int
    number: int
    starts: dict[int, int]

    def lacks(self, report: JournalReport) -> bool:
        """Tell whether a broker has heard of what is not in it."""
        if bytes(report.journal_id) not in {ZERO_UUID, self.journal_id}:
            return True
        if bytes(report.journal_id) != self.journal_id:
            return False
        ends = [number for epoch, number in self.starts.items() if epoch > report.controller_epoch]
        end = min(ends) if ends else self.number
        return report.controller_epoch > self.controller_epoch or report.journal_number > end


def journal_of(state: ClusterState) -> Journal:
    """Return how far the journal is now."""
    return Journal(
        state.journal_id, state.controller_epoch, state.journal_number, dict(state.epoch_starts)
    )


@of_function(hearing.take)
def take(
    step: Step, heard: Hearing, event: RequestArrived
) -> Generator[None, list[RequestArrived], Broken]:
    """A controller acts once all are heard; with their replicas, where its journal is behind.

    Or where it has that nobody is in an Isr until somebody tells of a log.
    """
    waits = any(one.leader_epoch > NO_EPOCH and not one.isr for _, one, _ in partitions(step.state))
    journal, awaited = journal_of(step.state), list(heard.awaited)
    before = dict(step.run.reports)
    told = {each for each, report in before.items() if report.topics is not None}
    yield
    after = step.run.reports
    broker_id = _who_beats(step, event)
    if broker_id is not None and after.get(broker_id) is before.get(broker_id):
        return f"broker {broker_id} was heard, and that is forgotten"
    for each in [each for each in after if after[each] is not before.get(each)]:
        report = report_of(event.request)
        if report is None or report.topics is not None:
            told.add(each)
    is_behind = waits or any(map(journal.lacks, after.values()))
    missing = [each for each in awaited if each not in (told if is_behind else after)]
    acts = step.run.hearing is None
    if acts is bool(missing):
        return f"acts: {acts}, not heard are {missing} of {awaited}, behind: {is_behind}"
    return _unasked(step, event, missing)


def _who_beats(step: Step, event: RequestArrived) -> int | None:
    """Return whose heartbeat it is; None: nobody's who is registered so."""
    request = event.request
    if not isinstance(request, BrokerHeartbeatRequest):
        return None
    known = step.state.brokers.get(request.broker_id)
    is_current = known is not None and known.broker_epoch == request.broker_epoch
    return request.broker_id if is_current else None


def _unasked(step: Step, event: RequestArrived, missing: list[int]) -> Broken:
    """Who has to tell its replicas yet is asked for them."""
    request = event.request
    if not isinstance(request, BrokerHeartbeatRequest) or request.broker_id not in missing:
        return None
    # Any: an answer to a heartbeat.
    answers: list[Any] = [
        each.response
        for each in step.effects
        if isinstance(each, Answer) and each.token == event.token
    ]
    is_asked = all(each.error_code != ErrorCode.NONE or asks_for_replicas(each) for each in answers)
    return None if is_asked else f"broker {request.broker_id} is not asked for its replicas"


@of_function(hearing.expire)
def expire(
    step: Step, heard: Hearing, event: Tick
) -> Generator[None, list[RequestArrived], Broken]:
    """A controller waits a session for brokers, no longer; who was not heard is dead then."""
    due_ms, reports = heard.deadline_ms, dict(step.run.reports)
    before = alive(step.state)
    is_late = step.now_ms > event.due_ms + step.settings.heartbeat_interval_ms
    yield
    acts = step.run.hearing is None
    if acts is not (not is_late and step.now_ms >= due_ms):
        return f"acts: {acts} at {step.now_ms}, due was {due_ms}, late: {is_late}"
    wanted = [each for each in before if not acts or each in reports]
    dead = [each for each in before if acts and each not in reports]
    if [each for each in dead if each in alive(step.state)]:
        return f"{dead} were not heard, alive are {alive(step.state)}"
    return None if set(wanted) <= set(alive(step.state)) else f"alive are {alive(step.state)}"


@of_method(Machine, "step")
def goes_on_above(machine: Machine, _: Event, _now_ms: int) -> Generator[None, Decision, Broken]:
    """A controller that acts is above what brokers tell: its epoch, and the producer ids it gives.

    An id that is given twice lets one producer's records count as another's.
    """
    yield
    state, run = machine.state, machine.run
    if run.hearing is not None:
        return None
    for broker_id, report in run.reports.items():
        is_own = bytes(report.journal_id) == state.journal_id
        if is_own and report.controller_epoch > state.controller_epoch:
            return f"broker {broker_id} knows {report}, the epoch is {state.controller_epoch}"
        if report.producer_ids_end > state.next_producer_id:
            return f"broker {broker_id} knows {report}, the next id is {state.next_producer_id}"
    return None


@of_function(catch_up.begin_epoch_above)
def begins_above(step: Step, newer: Reports) -> Generator[None, int, Broken]:
    """A controller epoch begins above all that is known; no broker epoch is given that was lost.

    Each decision that the journal lost may have been a registration.
    """
    journal, before = journal_of(step.state), step.state.next_broker_epoch
    lost = yield
    known = [each for each in newer.values() if bytes(each.journal_id) == journal.journal_id]
    due = max((each.journal_number - journal.number for each in known), default=0)
    if lost < due:
        return f"{lost} decisions are lost, broker reports have {due} more"
    heard = [journal.controller_epoch, *(each.controller_epoch for each in newer.values())]
    if step.state.controller_epoch <= max(heard):
        return f"epoch {step.state.controller_epoch} begins, heard were {heard}"
    after = step.state.next_broker_epoch
    is_above = not newer or after >= before + due
    return None if is_above else f"{due} decisions are lost; broker epochs: {before}, then {after}"


@of_function(catch_up.learn)
def learn(step: Step, reports: Reports, lost: int) -> Generator[None, list[TopicPartition], Broken]:
    """What brokers know better is gone on with above all epochs that they know.

    A broker that is a replica by them is to delete nothing, nor is one that was a replica before.
    Where no leader tells of its Isr, those are in it that have the longest log of all replicas.
    What no replica has any more was deleted since, or is led by nobody until all brokers have told
    of their logs. All goes on above what clients may have heard: each lost decision may have been
    an election.
    """
    deleting = {tp: None for tps in step.state.removed.values() for tp in tps}
    epochs = {tp: one.leader_epoch for tp, one, _ in partitions(step.state)}
    ids = {name: topic.topic_id for name, topic in step.state.topics.items()}
    claims = list(_claims(reports))
    telling = {
        broker_id: None
        for broker_id, report in reports.items()
        if report.topics is not None and broker_id not in step.run.untold
    }
    yield
    for tp, one, _ in partitions(step.state):
        if one.leader_epoch > NO_EPOCH and (empty := _without_log(step, one, tp, reports, telling)):
            return f"{empty} may be elected for {tp}, and have no log of it"
        stays = step.state.is_being_deleted(tp.topic) or epochs.get(tp, NO_EPOCH) == NO_EPOCH
        if not stays and one.leader_epoch < epochs[tp] + lost:
            return f"{lost} decisions are lost; {tp} was in epoch {epochs[tp]}, goes on as {one}"
    for tp, topic_id, replica in claims:
        one, before = step.state.find(tp), epochs.get(tp, NO_EPOCH)
        is_own = topic_id in {ZERO_UUID, ids.get(tp.topic)}
        if one is None or not is_own or before == NO_EPOCH:
            continue
        if replica.leader_epoch > before and replica.leader_epoch >= one.leader_epoch:
            return f"{tp} goes on as {one}, known is {replica}, lost are {lost}"
        due = [each for each, tps in step.state.removed.items() if tp in tps]
        if due and (tp not in deleting or any(each in replica.replicas for each in due)):
            return f"{tp} is to be deleted by {due}, and was by {replica.replicas}"
        if one.leader_epoch > before and (shorter := _shorter(tp, one, reports)):
            return f"{shorter} are in the Isr of {tp}, and have not the longest log: {one}"
    return None


def _without_log(
    step: Step, one: Partition, tp: TopicPartition, reports: Reports, telling: Collection[int]
) -> list[int]:
    """Return members of the Isr that tell of no such replica, where others may have one.

    Not those that told earlier that they have none (seed 72).
    """
    found = [
        member
        for member in one.isr
        if member in telling
        and tp not in [each for each, _, _ in _claims({member: reports[member]})]
    ]
    run = step.run
    earlier = [each for each in one.isr if each in run.have_told and tp not in run.logs_told[each]]
    return found if any(each not in (*found, *earlier) for each in one.isr) else []


@of_function(unknown_replicas.first_leader_epoch)
def first_leader_epoch(step: Step, tp: TopicPartition) -> Generator[None, int, Broken]:
    """Who still has a replica that the journal lost hears of its next leader by a later epoch.

    Later than what it goes on with, and than that by which it was told that nobody leads it. Who
    has not told of it goes on with one that a lost decision made, if its topic was there by then.
    """
    state, topic = step.state, step.state.topics[tp.topic]
    known = [found[tp] for found in state.unknown_replicas.values() if tp in found]
    heard = [one.leader_epoch + 1 for one in known if one.topic_id in {ZERO_UUID, topic.topic_id}]
    if 0 < state.lost_after >= topic.decision:
        heard.append(0)
    epoch = yield
    return None if epoch > max(heard, default=NO_EPOCH) else f"{tp} begins by {epoch}: {known}"


def _shorter(tp: TopicPartition, one: Partition, reports: Reports) -> list[int]:
    """Return who is in the Isr without the longest log, where all are there and nobody knows it."""
    told = {
        broker_id: replica
        for broker_id, report in reports.items()
        for found, _, replica in _claims({broker_id: report})
        if found == tp
    }
    newest = max((each.leader_epoch, each.partition_epoch) for each in told.values())
    leaders = [
        each
        for each, replica in told.items()
        if replica.leader == each and (replica.leader_epoch, replica.partition_epoch) == newest
    ]
    if leaders or not all(each in told for each in one.replicas):
        return []
    ends = {each: (told[each].log_epoch, told[each].log_end_offset) for each in one.replicas}
    return [each for each in one.isr if ends.get(each) != max(ends.values())]


def _claims(reports: Reports) -> Generator[tuple[TopicPartition, bytes, ReportedReplica]]:
    for report in reports.values():
        for topic in report.topics or ():
            for replica in topic.replicas:
                yield TopicPartition(topic.name, replica.partition), topic.topic_id, replica
