"""Brokers' own requests (registration, heartbeat, controlled shutdown, producer ids) and sessions.

It elects nobody itself: what follows is in ``failures``. Source: ClusterControlManager and
BrokerHeartbeatManager (KRaft); KafkaController for controlled shutdown.
"""

from __future__ import annotations

from typing import Final

from controller.core import catch_up, failures, log_dir_reports, reports
from controller.core.effects import Answer
from controller.core.election import Strategy
from controller.core.events import RequestArrived, Tick
from controller.core.partition_moves import bring_online
from controller.core.phases import ReplicaPhase
from controller.core.records import (
    BrokerRegistered,
    ProducerIdsAllocated,
    ShutdownBegun,
)
from controller.core.replica_moves import Replica, move_replicas
from controller.core.state import Broker, Endpoint
from controller.core.step import Step
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import NO_EPOCH, TopicPartition
from protocol.messages.journal import ask_for_replicas
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from protocol.messages.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

PRODUCER_ID_BLOCK_COUNT: Final = 1000
_RESERVED_UUIDS_END: Final = (100).to_bytes(16)
"""Ids below are reserved. Source: DirectoryId.reserved."""


def register(step: Step, event: RequestArrived) -> None:
    """Serve BrokerRegistration: a new incarnation of a live broker is a bounce."""
    request: BrokerRegistrationRequest = event.request
    if not may_register(step, event):
        return
    known = step.state.brokers.get(request.broker_id)
    if known is None or known.incarnation != request.incarnation_id:
        _take_registration(step, request, known)
    else:
        log_dir_reports.log_dirs_registered(step, request, known)
    reports.learn_late(step, request.broker_id)
    broker_epoch = step.state.brokers[request.broker_id].broker_epoch
    step.answer(event.token, BrokerRegistrationResponse(broker_epoch=broker_epoch))


def may_register(step: Step, event: RequestArrived) -> bool:
    """Check a registration and keep its report; answer it when it is refused."""
    request: BrokerRegistrationRequest = event.request
    try:
        _check_registration(step, request)
        reports.check_journal(step, request.broker_id, request)
    except KafkaError as error:
        step.warn(f"registration of broker {request.broker_id} refused: {error}")
        step.answer(event.token, BrokerRegistrationResponse(error_code=error.code))
        return False
    reports.note_report(step, request.broker_id, request)
    catch_up.raise_broker_epochs(step, request.previous_broker_epoch)
    return True


def heartbeat(step: Step, event: RequestArrived) -> None:
    """Serve BrokerHeartbeat: keeps the session, unfences, carries failed and cordoned log dirs."""
    request: BrokerHeartbeatRequest = event.request
    broker = step.state.brokers.get(request.broker_id)
    if broker is None or broker.broker_epoch != request.broker_epoch:
        step.answer(event.token, BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
        return
    reports.note_report(step, request.broker_id, request)
    has_to_tell = broker.is_fenced and not reports.is_learned(step, request.broker_id)
    is_heard = reports.has_told_logs(step, request.broker_id)
    if not has_to_tell:
        _follow_requests(step, broker, request)
    if step.state.is_reachable(request.broker_id):
        step.run.last_seen_ms[request.broker_id] = step.now_ms
    log_dir_reports.log_dirs_told(step, request)
    should_shut_down = request.want_shut_down and _may_stop(step, request.broker_id)
    answer = BrokerHeartbeatResponse(
        is_caught_up=True,
        is_fenced=not step.state.is_reachable(request.broker_id),
        should_shut_down=should_shut_down,
    )
    if has_to_tell or not is_heard:
        ask_for_replicas(answer)
    step.answer(event.token, answer)


def controlled_shutdown(step: Step, event: RequestArrived) -> None:
    """Serve ControlledShutdown: move leaderships away, answer what is left.

    It waits for no other broker. The one that leaves is answered behind all that it is sent, at the
    latest after a session: once it has the answer it asks to be let go, and what would still wait
    for it then is dropped.
    """
    request: ControlledShutdownRequest = event.request
    code = _shutdown_error(step, request)
    if code is not ErrorCode.NONE:
        step.answer(event.token, ControlledShutdownResponse(error_code=code))
        return
    remaining = _hand_over(step, request.broker_id)
    response = ControlledShutdownResponse(
        remaining_partitions=[
            RemainingPartition(topic_name=tp.topic, partition_index=tp.partition)
            for tp in remaining
        ]
    )
    step.when_answered(
        request.broker_id,
        Answer(event.token, response),
        deadline_ms=step.now_ms + step.settings.session_timeout_ms,
    )


def allocate_producer_ids(step: Step, event: RequestArrived) -> None:
    """Serve AllocateProducerIds: a block that no other broker ever gets."""
    request: AllocateProducerIdsRequest = event.request
    broker = step.state.brokers.get(request.broker_id)
    if broker is None or broker.broker_epoch != request.broker_epoch:
        step.answer(
            event.token, AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        )
        return
    reports.leave_gap_once(step)
    start = step.state.next_producer_id
    step.change(ProducerIdsAllocated(start + PRODUCER_ID_BLOCK_COUNT))
    step.answer(
        event.token,
        AllocateProducerIdsResponse(
            producer_id_start=start, producer_id_len=PRODUCER_ID_BLOCK_COUNT
        ),
    )


def expire_sessions(step: Step, event: Tick) -> None:
    """Fence brokers that did not heartbeat in time; forgive all when this process was late."""
    if step.now_ms - event.due_ms > step.settings.heartbeat_interval_ms:
        for broker_id in step.run.last_seen_ms:
            step.run.last_seen_ms[broker_id] = step.now_ms
        step.warn(f"late by {step.now_ms - event.due_ms} ms: every session begins anew")
        return
    timeout_ms = step.settings.session_timeout_ms
    expired = [b for b, seen in step.run.last_seen_ms.items() if step.now_ms - seen >= timeout_ms]
    if expired:
        failures.brokers_failed(step, expired, f"no heartbeat for {timeout_ms} ms")


def _check_registration(step: Step, request: BrokerRegistrationRequest) -> None:
    if request.cluster_id != step.settings.cluster_id:
        raise KafkaError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"expected cluster id {step.settings.cluster_id}, got {request.cluster_id}",
        )
    if not request.listeners:
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, "no listener")
    if _is_second(request, step.state.brokers.get(request.broker_id)):
        raise KafkaError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"a broker {request.broker_id} is alive, on other log dirs",
        )
    taken = {
        log_dir: broker.broker_id
        for broker in step.state.brokers.values()
        if broker.broker_id != request.broker_id
        for log_dir in broker.log_dirs
    }
    seen: dict[bytes, None] = {}
    for log_dir in map(bytes, request.log_dirs):
        if log_dir < _RESERVED_UUIDS_END or log_dir in seen or log_dir in taken:
            raise KafkaError(
                ErrorCode.INVALID_REGISTRATION,
                f"directory id {log_dir.hex()} is reserved, listed twice or of another broker",
            )
        seen[log_dir] = None


def _is_second(request: BrokerRegistrationRequest, known: Broker | None) -> bool:
    """Tell whether another broker with this id runs: a live one that shares no log dir with it.

    One that was restarted comes with its log dirs. Two that took turns in registering would fence
    each other for ever.
    """
    if known is None or known.is_fenced or known.incarnation == request.incarnation_id:
        return False
    own = list(map(bytes, request.log_dirs))
    return bool(own and known.log_dirs) and not any(one in known.log_dirs for one in own)


def _take_registration(
    step: Step, request: BrokerRegistrationRequest, known: Broker | None
) -> None:
    broker_id = request.broker_id
    if known is not None and not known.is_fenced:
        failures.brokers_failed(step, (broker_id,), "a new incarnation registered")
    step.change(
        BrokerRegistered(
            broker_id,
            step.state.next_broker_epoch,
            bytes(request.incarnation_id),
            tuple(
                Endpoint(listener.name, listener.host, listener.port, listener.security_protocol)
                for listener in request.listeners
            ),
            request.rack,
            tuple(map(bytes, request.log_dirs)),
        )
    )
    step.note(
        f"broker {broker_id} registered, epoch {step.state.brokers[broker_id].broker_epoch}, "
        f"{len(request.log_dirs)} log dirs online"
    )


def _follow_requests(step: Step, broker: Broker, request: BrokerHeartbeatRequest) -> None:
    wants_out = request.want_fence or request.want_shut_down
    if broker.is_fenced and not wants_out:
        failures.broker_started(step, broker.broker_id)
    elif not broker.is_fenced and request.want_fence and not request.want_shut_down:
        failures.brokers_failed(step, (broker.broker_id,), "it asked to be fenced")


def _may_stop(step: Step, broker_id: int) -> bool:
    """Hand over what the broker leads; fence it once nothing is left."""
    if not step.state.is_reachable(broker_id):
        return True
    is_done = step.state.is_shutting_down(broker_id) and not _replicated(step, broker_id)[0]
    if not is_done and _hand_over(step, broker_id):
        return False
    failures.brokers_failed(step, (broker_id,), "controlled shutdown")
    return True


def _shutdown_error(step: Step, request: ControlledShutdownRequest) -> ErrorCode:
    broker = step.state.brokers.get(request.broker_id)
    if broker is None or broker.is_fenced:
        is_old_sender = request.broker_epoch == NO_EPOCH
        return ErrorCode.BROKER_NOT_AVAILABLE if is_old_sender else ErrorCode.UNKNOWN_SERVER_ERROR
    if NO_EPOCH != request.broker_epoch < broker.broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    return ErrorCode.NONE


def _hand_over(step: Step, broker_id: int) -> list[TopicPartition]:
    """Move leaderships to other replicas and leave their Isrs; return what is still led.

    Source: KafkaController.doControlledShutdown.
    """
    if not step.state.is_shutting_down(broker_id):
        step.change(ShutdownBegun(broker_id))
        step.note(f"broker {broker_id} begins a controlled shutdown")
    led, followed = _replicated(step, broker_id)
    bring_online(step, led, Strategy.CONTROLLED_SHUTDOWN)
    batch = step.new_batch()
    for tp in followed:
        batch.add_stop_replica(broker_id, tp, delete=False)
    step.send_batch(batch)
    move_replicas(step, [Replica(tp, broker_id) for tp in followed], ReplicaPhase.OFFLINE)
    return _replicated(step, broker_id)[0]


def _replicated(step: Step, broker_id: int) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """Return the partitions with other replicas that the broker leads, and those it follows."""
    led: list[TopicPartition] = []
    followed: list[TopicPartition] = []
    for tp in step.state.hosted_by(broker_id):
        partition = step.state.partition(tp)
        is_replicated = len(partition.replicas) > 1 and partition.has_leadership
        if is_replicated and not step.state.is_being_deleted(tp.topic):
            (led if partition.leader == broker_id else followed).append(tp)
    return led, followed
