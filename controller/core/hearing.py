"""Before a new controller acts it hears every broker that its journal calls alive.

Its journal may be behind the world (``catch_up``), and nobody is to be told, elected or given
anything by what it says until that is known. Heartbeats are answered meanwhile, reads too; all
else waits. Brokers that are not heard within the session timeout are dead. Kafka's
controller needs none of this: its journal has a quorum.
"""

from __future__ import annotations

from typing import Final

from controller.core import (
    brokers,
    catch_up,
    describe,
    missing_logs,
    reports,
    startup,
    unknown_replicas,
)
from controller.core.events import RequestArrived, Tick
from controller.core.journal_records import JournalBegun
from controller.core.records import BrokerFenced
from controller.core.run_state import Hearing
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.messages.configs import DescribeConfigsRequest
from protocol.messages.journal import ask_for_replicas
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
)

_UUID_BYTES: Final = 16


def begin(step: Step) -> None:
    """Begin to listen; who has nobody to listen to, or no need to, takes over at once."""
    if step.settings.has_zookeeper:
        _take_over(step)
        return
    step.run.is_new_journal = step.state.journal_number == 0
    if not step.state.journal_id:
        step.change(JournalBegun(step.chance.randbytes(_UUID_BYTES)))
    reachable = step.state.reachable_brokers()
    # Where none is alive all of them start together, and the journal may be a copy.
    awaited = reachable or sorted(step.state.brokers)
    for broker_id in reachable:
        step.begin_session(broker_id)
    deadline_ms = step.now_ms + step.settings.session_timeout_ms
    step.run.hearing = Hearing(dict.fromkeys(awaited), deadline_ms)
    _end_when_heard(step, step.run.hearing)


def take(step: Step, hearing: Hearing, event: RequestArrived) -> list[RequestArrived]:
    """Serve what can be served before the controller acts; return what is to be served now."""
    request = event.request
    if isinstance(request, BrokerHeartbeatRequest):
        _heartbeat(step, hearing, event)
    elif isinstance(request, BrokerRegistrationRequest):
        if brokers.may_register(step, event):  # That broker is heard; it waits for its epoch.
            hearing.held.append(event)
    elif isinstance(request, DescribeConfigsRequest):
        describe.describe_configs(step, event)
    else:
        hearing.held.append(event)
    return _end_when_heard(step, hearing)


def expire(step: Step, hearing: Hearing, event: Tick) -> list[RequestArrived]:
    """Go on without those who were not heard; a process that was late listens once more."""
    if step.now_ms - event.due_ms > step.settings.heartbeat_interval_ms:
        hearing.deadline_ms = step.now_ms + step.settings.session_timeout_ms
        for broker_id in step.run.last_seen_ms:
            step.run.last_seen_ms[broker_id] = step.now_ms
    if step.now_ms < hearing.deadline_ms:
        return []
    for broker_id in _missing(step, hearing):
        del hearing.awaited[broker_id]
        if broker_id not in step.run.reports and step.state.is_reachable(broker_id):
            step.warn(f"broker {broker_id} is dead: not heard since this controller started")
            _fence(step, broker_id)
    return _end_when_heard(step, hearing)


def _heartbeat(step: Step, hearing: Hearing, event: RequestArrived) -> None:
    request: BrokerHeartbeatRequest = event.request
    broker = step.state.brokers.get(request.broker_id)
    if broker is None or broker.broker_epoch != request.broker_epoch:
        step.answer(event.token, BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
        return
    reports.note_report(step, request.broker_id, request)
    answer = BrokerHeartbeatResponse(is_caught_up=True, is_fenced=broker.is_fenced)
    if request.broker_id in _missing(step, hearing):
        ask_for_replicas(answer)
    step.answer(event.token, answer)


def _fence(step: Step, broker_id: int) -> None:
    step.change(BrokerFenced(broker_id))
    step.run.last_seen_ms.pop(broker_id, None)


def _missing(step: Step, hearing: Hearing) -> list[int]:
    """Return who is to be heard still; with its replicas, once the journal is behind."""
    known = step.run.reports
    wants_replicas = _are_replicas_wanted(step)
    return [
        broker_id
        for broker_id in hearing.awaited
        if broker_id not in known or (wants_replicas and known[broker_id].topics is None)
    ]


def _are_replicas_wanted(step: Step) -> bool:
    """Tell whether the journal is behind, or somebody is to tell of a log."""
    is_behind = bool(catch_up.newer_reports(step.state, step.run.reports))
    return is_behind or missing_logs.are_awaited(step.state)


def _end_when_heard(step: Step, hearing: Hearing) -> list[RequestArrived]:
    """Take over once all are heard; return what waited for that."""
    if _missing(step, hearing):
        return []
    step.run.hearing = None
    _take_over(step)
    return hearing.held


def _take_over(step: Step) -> None:
    known = step.run.reports
    newer = catch_up.newer_reports(step.state, known)
    is_behind = _are_replicas_wanted(step)
    lost = catch_up.begin_epoch_above(step, newer)
    catch_up.raise_above(step, known.values())
    if is_behind:
        catch_up.learn(step, known, lost)
        unknown_replicas.note(step, known)
    for report in known.values():
        report.topics = ()
    startup.controller_started(step)
    unknown_replicas.tell(step, step.state.reachable_brokers())
    step.run.hearing_is_over = True
