"""What brokers are promised that register, heartbeat, stop, or are not heard any more.

Source: ClusterControlManager.java, BrokerHeartbeatManager.java; KafkaController.scala for a
controlled shutdown; KIP-112, KIP-631, KIP-1066.
"""

from __future__ import annotations

from collections.abc import Generator

from controller.core import brokers
from controller.core.events import RequestArrived, Tick
from controller.core.reports import PRODUCER_IDS_GAP
from controller.core.state import Broker, ClusterState
from controller.core.step import Step
from protocol.errors import ErrorCode
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.journal import JournalReport, asks_for_replicas, is_other_journal, report_of
from protocol.messages.lifecycle import BrokerHeartbeatRequest, BrokerRegistrationRequest
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.cluster_facts import alive, leaves, partitions, working
from simulation.contracts.controller.first_hearing import journal_of
from simulation.contracts.controller.told import answer_of

Check = Generator[None, None, Broken]
_RESERVED = 100
"""Directory ids below this number mean something else."""


@of_function(brokers.register)
def register(step: Step, event: RequestArrived) -> Check:
    """A registration is taken whole, by a new epoch for a new process, or refused for a reason.

    Log dirs that it names are online, all others are not.
    """
    request: BrokerRegistrationRequest = event.request
    state, broker_id = step.state, request.broker_id
    code = _registration_code(step, request)
    known, epochs = state.brokers.get(broker_id), state.next_broker_epoch
    yield
    answer = answer_of(step, event.token)
    after = state.brokers.get(broker_id)
    if answer.error_code != code:
        return f"{request} is answered {answer}, not {code!r}"
    if code is not ErrorCode.NONE:
        return None if after == known else f"{request} is refused, and {known} becomes {after}"
    if after is None or answer.broker_epoch != after.broker_epoch:
        return f"{answer} to {after}"
    if known is not None and known.incarnation == bytes(request.incarnation_id):
        return _returned(request, known, after)
    return _came_in(request, after, max(epochs, request.previous_broker_epoch + 1))


def _came_in(request: BrokerRegistrationRequest, after: Broker, least_epoch: int) -> Broken:
    """A new process has a new epoch and what it told, and is not alive before it heartbeats."""
    if after.broker_epoch < least_epoch or not after.is_fenced:
        return f"{after} comes in, epochs below {least_epoch} are taken"
    asked = [(e.name, e.host, e.port, e.security_protocol) for e in request.listeners]
    if list(map(tuple, after.endpoints)) != asked or after.rack != request.rack:
        return f"{request} becomes {after}"
    dirs = tuple(map(bytes, request.log_dirs))
    is_same = (after.log_dirs, after.incarnation) == (dirs, bytes(request.incarnation_id))
    return None if is_same else f"{request} becomes {after}"


def _returned(request: BrokerRegistrationRequest, known: Broker, after: Broker) -> Broken:
    """The same process registers again: what it has now is online, and all else is not."""
    online = frozenset(after.log_dirs) - frozenset(after.offline_log_dirs)
    has = frozenset(map(bytes, request.log_dirs))
    is_same = (after.broker_epoch, after.is_fenced) == (known.broker_epoch, known.is_fenced)
    if not is_same or not has <= online or not (known.is_fenced or online <= has):
        return f"{known} has {sorted(has)} now, and becomes {after}"
    return None


def _registration_code(step: Step, request: BrokerRegistrationRequest) -> ErrorCode:
    dirs = [bytes(each) for each in request.log_dirs]
    others = {
        each
        for broker_id, broker in step.state.brokers.items()
        if broker_id != request.broker_id
        for each in broker.log_dirs
    }
    is_reserved = any(int.from_bytes(each) < _RESERVED for each in dirs)
    is_bad = is_reserved or len(frozenset(dirs)) < len(dirs) or not others.isdisjoint(dirs)
    if request.cluster_id != step.settings.cluster_id:
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    if not request.listeners:
        return ErrorCode.INVALID_REGISTRATION
    if _is_second(step.state, request, dirs):
        return ErrorCode.DUPLICATE_BROKER_REGISTRATION
    report = report_of(request)
    is_other = report is not None and is_other_journal(report, step.state.journal_id)
    if not is_bad and is_other and not step.settings.accepts_other_journals:
        return ErrorCode.NOT_CONTROLLER
    return ErrorCode.INVALID_REGISTRATION if is_bad else ErrorCode.NONE


def _is_second(state: ClusterState, request: BrokerRegistrationRequest, dirs: list[bytes]) -> bool:
    known = state.brokers.get(request.broker_id)
    if known is None or known.is_fenced or not dirs or not known.log_dirs:
        return False
    is_same = known.incarnation == bytes(request.incarnation_id)
    return not is_same and frozenset(dirs).isdisjoint(known.log_dirs)


@of_function(brokers.heartbeat)
def heartbeat(step: Step, event: RequestArrived) -> Check:
    """A heartbeat keeps a broker alive, brings it in, or lets it go; what it says is known then.

    Who heard of what the journal lacks is brought in once it has told its replicas.
    """
    request: BrokerHeartbeatRequest = event.request
    state, broker_id = step.state, request.broker_id
    known, count = state.brokers.get(broker_id), len(step.records)
    is_current = known is not None and known.broker_epoch == request.broker_epoch
    stops = _replicated(state) if request.want_shut_down else ()
    leads = [tp for tp in stops if _leads_alone(state, tp, broker_id)]
    report = report_of(request) or JournalReport(topics=())
    is_news = broker_id in step.run.unlearned or journal_of(state).lacks(report)
    yield
    answer = answer_of(step, event.token)
    if known is None or not is_current:
        is_refused = answer.error_code == ErrorCode.STALE_BROKER_EPOCH
        return None if is_refused and len(step.records) == count else f"{request} of {known}"
    after = state.brokers[broker_id]
    has_to_tell = known.is_fenced and is_news and report.topics is None
    is_waited_for = step.run.awaits_logs and broker_id not in step.run.logs_told
    if asks_for_replicas(answer) is not (has_to_tell or is_waited_for):
        return f"{known} told {report}, and is answered {answer}"
    if request.want_shut_down:
        wanted = known.is_fenced or not leads
    elif request.want_fence:
        wanted = True
    else:
        wanted = has_to_tell
    if after.is_fenced is not wanted:
        return f"{request}: {known} becomes {after}, it leads {leads}"
    said = (answer.error_code, answer.is_fenced, answer.should_shut_down, answer.is_caught_up)
    if said != (ErrorCode.NONE, wanted, request.want_shut_down and wanted, True):
        return f"{request} of {known} is answered {answer}"
    return _heard(step, request, known, after)


def _heard(step: Step, request: BrokerHeartbeatRequest, known: Broker, after: Broker) -> Broken:
    seen = step.run.last_seen_ms.get(after.broker_id)
    if seen != (None if after.is_fenced else step.now_ms):
        return f"{after} was last seen at {seen}, now is {step.now_ms}"
    offline = frozenset(map(bytes, request.offline_log_dirs)).intersection(known.log_dirs)
    was_alive = not (known.is_fenced and after.is_fenced)
    wanted = frozenset(known.offline_log_dirs)
    if was_alive:
        wanted |= offline
    is_kept = not after.is_fenced and not wanted <= frozenset(after.offline_log_dirs)
    if is_kept or not frozenset(after.offline_log_dirs) <= wanted:
        return f"offline are {sorted(wanted)}: {after}"
    cordoned = known.cordoned_log_dirs
    if request.cordoned_log_dirs is not None:
        cordoned = tuple(sorted(map(bytes, request.cordoned_log_dirs)))
    return None if after.cordoned_log_dirs == cordoned else f"cordoned are {cordoned}: {after}"


def _replicated(state: ClusterState) -> list[TopicPartition]:
    """Return what another broker could lead."""
    return [
        tp
        for tp, one, topic in partitions(state)
        if len(one.replicas) > 1 and one.leader_epoch >= 0 and not leaves(topic, state)
    ]


@of_function(brokers.controlled_shutdown)
def controlled_shutdown(step: Step, event: RequestArrived) -> Check:
    """Who stops leads no more what others can lead, is in no Isr beside others, and hears the rest.

    Source: KafkaController.doControlledShutdown.
    """
    request, state = event.request, step.state
    known, count = state.brokers.get(request.broker_id), len(step.records)
    yield
    answer = answer_of(step, event.token)
    code = ErrorCode.NONE
    if known is None or known.is_fenced:
        is_old = request.broker_epoch == NO_EPOCH
        code = ErrorCode.BROKER_NOT_AVAILABLE if is_old else ErrorCode.UNKNOWN_SERVER_ERROR
    elif request.broker_epoch != NO_EPOCH and request.broker_epoch < known.broker_epoch:
        code = ErrorCode.STALE_BROKER_EPOCH
    if answer.error_code != code or (code is not ErrorCode.NONE and len(step.records) > count):
        return f"{request} of {known} is answered {answer}, not {code!r}"
    if code is not ErrorCode.NONE:
        return None
    own = [tp for tp in _replicated(state) if tp in state.hosted.get(request.broker_id, ())]
    led = [tp for tp in own if state.partition(tp).leader == request.broker_id]
    told = sorted((each.topic_name, each.partition_index) for each in answer.remaining_partitions)
    if told != sorted(led) or not state.brokers[request.broker_id].is_shutting_down:
        return f"it leads {led}, told is {told}: {state.brokers[request.broker_id]}"
    return next(filter(None, (_clings(state, tp, request.broker_id) for tp in own)), None)


def _leads_alone(state: ClusterState, tp: TopicPartition, broker_id: int) -> bool:
    """Tell whether a broker that leads has nobody to hand that over to."""
    is_leader = state.partition(tp).leader == broker_id
    return is_leader and not [each for each in _able_members(state, tp) if each != broker_id]


def _able_members(state: ClusterState, tp: TopicPartition) -> list[int]:
    """Return who of the Isr can lead."""
    isr = state.partition(tp).isr
    return [each for each in working(state, tp) if each in isr]


def _clings(state: ClusterState, tp: TopicPartition, broker_id: int) -> Broken:
    one = state.partition(tp)
    others = _able_members(state, tp)
    if one.leader == broker_id and others:
        return f"{tp} is still led by it, beside {others}"
    is_alone = len(one.isr) == 1 or one.leader == broker_id
    return f"{tp} still has it in its Isr: {one}" if broker_id in one.isr and not is_alone else None


@of_function(brokers.allocate_producer_ids)
def allocate_producer_ids(step: Step, event: RequestArrived) -> Check:
    """A block of producer ids is given to a broker of now, above all that were given, once.

    One gap is left where a broker may have blocks that the journal does not know.
    """
    request, state = event.request, step.state
    known, next_id, jumped = (
        state.brokers.get(request.broker_id),
        state.next_producer_id,
        _jumped(step),
    )
    is_current = known is not None and known.broker_epoch == request.broker_epoch
    unheard = [each for each in state.brokers if each not in step.run.reports]
    yield
    answer = answer_of(step, event.token)
    if not is_current:
        is_refused = answer.error_code == ErrorCode.STALE_BROKER_EPOCH
        is_kept = state.next_producer_id == next_id
        return None if is_refused and is_kept else f"{request} of {known} is answered {answer}"
    if unheard and not _jumped(step):
        return f"{unheard} may have blocks that the journal does not know: {answer}"
    start = next_id + PRODUCER_IDS_GAP * (_jumped(step) and not jumped)
    said = (answer.error_code, answer.producer_id_start, answer.producer_id_len)
    if said != (ErrorCode.NONE, start, brokers.PRODUCER_ID_BLOCK_COUNT):
        return f"{answer}, given are all below {start}"
    wanted = start + answer.producer_id_len
    return None if state.next_producer_id == wanted else f"next is {state.next_producer_id}"


def _jumped(step: Step) -> bool:
    return step.run.has_jumped


@of_function(brokers.expire_sessions)
def expire_sessions(step: Step, event: Tick) -> Check:
    """Who was not heard for a session is dead, and nobody else; a late clock blames nobody."""
    state, seen = step.state, dict(step.run.last_seen_ms)
    before = alive(state)
    is_late = step.now_ms > event.due_ms + step.settings.heartbeat_interval_ms
    yield
    silent = {
        each
        for each, at_ms in seen.items()
        if step.now_ms >= at_ms + step.settings.session_timeout_ms
    }
    wanted = [each for each in before if is_late or each not in silent]
    if alive(state) != wanted:
        return f"alive are {alive(state)} of {before}, last heard {seen}, now is {step.now_ms}"
    if is_late and any(each != step.now_ms for each in step.run.last_seen_ms.values()):
        return f"sessions go on from {step.run.last_seen_ms}, now is {step.now_ms}"
    return None
