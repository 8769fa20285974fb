"""What brokers report of the journal: kept while this controller runs, and held against it.

What follows from a journal that is behind is in ``catch_up``.
"""

from __future__ import annotations

from typing import Any, Final

from controller.core import catch_up, missing_logs, startup, unknown_replicas
from controller.core.claims import Reports
from controller.core.effects import End
from controller.core.partition_moves import elect_leaderless
from controller.core.records import ProducerIdsAllocated
from controller.core.step import Step
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.journal import JournalReport, is_other_journal, report_of
from protocol.messages.lifecycle import BrokerHeartbeatRequest

PRODUCER_IDS_GAP: Final = 1_000_000_000
"""Left out once when a broker cannot be asked which blocks it has: a million blocks."""


def note_report(step: Step, broker_id: int, request: Any) -> None:
    """Keep what a registration or heartbeat reports, and go above what must not be given twice.

    A broker that reports nothing (not one of ours) knows nothing.
    """
    report = report_of(request) or JournalReport(topics=())
    before = step.run.reports.get(broker_id)
    if report.topics is None and before is not None and step.run.hearing is not None:
        report.topics = before.topics
    step.run.reports[broker_id] = report
    if _has_offline_log_dir(step, broker_id, request):
        step.run.untold[broker_id] = None
    else:
        step.run.untold.pop(broker_id, None)
    if step.run.hearing is None:
        catch_up.raise_above(step, (report,))


def _has_offline_log_dir(step: Step, broker_id: int, request: Any) -> bool:
    """Tell whether a broker runs without one of its log dirs, as far as it can be known.

    Who registers names those that are online; a disk that was replaced has another id.
    """
    if isinstance(request, BrokerHeartbeatRequest):
        return bool(request.offline_log_dirs)
    known = step.state.brokers.get(broker_id)
    return known is not None and len(request.log_dirs) < len(known.log_dirs)


def check_journal(step: Step, broker_id: int, request: Any) -> None:
    """Refuse a broker whose data is another journal's, unless that was accepted.

    Raises:
        KafkaError: NOT_CONTROLLER, which lets the broker go on and try again.
    """
    report = report_of(request)
    is_other = report is not None and is_other_journal(report, step.state.journal_id)
    if not is_other or step.settings.accepts_other_journals:
        return
    text = (
        f"broker {broker_id} has heard of decisions of another journal than this one: "
        "was the journal removed, or emptied? Stop this controller and put the journal back, or a "
        "copy of it. Only if there is none: start the controller (or jbodlab up) with "
        "--accept-new-journal; topics that this journal does not have are lost then"
    )
    if not step.state.brokers:
        step.effects.append(End(text))
    raise KafkaError(ErrorCode.NOT_CONTROLLER, text)


def leave_gap_once(step: Step) -> None:
    """Leave a gap before the first block, if there is a broker that could not be asked.

    It may have been given blocks that the journal, restored from a copy, does not know.
    """
    if step.run.has_jumped or step.settings.has_zookeeper:
        return
    named = () if step.run.is_new_journal else step.settings.broker_ids
    unheard = [b for b in (*step.state.brokers, *named) if b not in step.run.reports]
    if not unheard:
        return
    step.run.has_jumped = True
    start = step.state.next_producer_id
    step.change(ProducerIdsAllocated(start + PRODUCER_IDS_GAP))
    step.warn(
        f"brokers {sorted(dict.fromkeys(unheard))} were not heard since this controller started, "
        f"and may have been given producer ids: {start} to {start + PRODUCER_IDS_GAP - 1} are left "
        "out"
    )


def learn_late(step: Step, broker_id: int) -> None:
    """Take over what a broker knows that registers after this controller began to act."""
    report = step.run.reports.get(broker_id)
    if report is None:
        return
    known = {broker_id: report}
    newer = catch_up.newer_reports(step.state, known)
    if newer:
        changed = catch_up.learn(step, newer, catch_up.go_above(step, newer))
    else:
        changed = _hear_of_logs(step, known)
    _take_in(step, known, changed)
    unknown_replicas.tell(step, (broker_id,))


def is_learned(step: Step, broker_id: int) -> bool:
    """Take over what a broker knows that comes back without registering anew.

    False: it has to tell its replicas first; by its next heartbeat it does.
    """
    known = {broker_id: step.run.reports[broker_id]}
    newer = catch_up.newer_reports(step.state, known)
    if newer and broker_id not in step.run.unlearned:
        step.run.unlearned[broker_id] = catch_up.go_above(step, newer)
    if broker_id in step.run.unlearned and known[broker_id].topics is not None:
        lost = step.run.unlearned.pop(broker_id)
        _take_in(step, known, catch_up.learn(step, known, lost))
    return broker_id not in step.run.unlearned


def has_told_logs(step: Step, broker_id: int) -> bool:
    """Take over which logs a broker tells of, where partitions wait for somebody to tell of one.

    False: it has not told yet, and is to be asked; it does by its next heartbeat.
    """
    known = {broker_id: step.run.reports[broker_id]}
    if broker_id not in step.run.logs_told and known[broker_id].topics is not None:
        _take_in(step, known, _hear_of_logs(step, known))
    return not step.run.awaits_logs or broker_id in step.run.logs_told


def _hear_of_logs(step: Step, reports: Reports) -> list[TopicPartition]:
    if not step.run.awaits_logs:
        return []
    missing_logs.note(step, reports)
    return catch_up.settle(step)


def _take_in(step: Step, reports: Reports, changed: list[TopicPartition]) -> None:
    """Elect who leads by what is known now, and tell the replicas of what has changed.

    What brokers told of their replicas holds once.
    """
    unknown_replicas.note(step, reports)
    for report in reports.values():
        report.topics = ()
    if not changed:
        return
    startup.set_phases(step, changed)
    elect_leaderless(step)
    batch = step.new_batch()
    for tp in changed:
        batch.add_leader_and_isr(step.state.partition(tp).replicas, tp, is_new=False)
    step.send_batch(batch)
