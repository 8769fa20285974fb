"""What brokers say to a controller that listens before it acts."""

from __future__ import annotations

from collections.abc import Sequence

from controller.core.machine import Machine
from controller.core.state import ClusterState
from protocol.messages.journal import JournalReport, ReportedReplica, ReportedTopic, put_report
from protocol.messages.lifecycle import BrokerHeartbeatRequest


def nothing_newer(machine: Machine) -> list[BrokerHeartbeatRequest]:
    """Return the heartbeats of all who are waited for, which know nothing of the journal."""
    hearing = machine.run.hearing
    return [] if hearing is None else [heartbeat(machine.state, b) for b in hearing.awaited]


def heartbeat(
    state: ClusterState, broker_id: int, report: JournalReport | None = None
) -> BrokerHeartbeatRequest:
    epoch = state.brokers[broker_id].broker_epoch
    request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch)
    if report is not None:
        put_report(request, report)
    return request


def reported(name: str, *replicas: ReportedReplica) -> ReportedTopic:
    return ReportedTopic(name=name, topic_id=name.encode().ljust(16, b"-"), replicas=replicas)


def led(
    leader: int, epochs: tuple[int, int], isr: Sequence[int], replicas: Sequence[int] = (1, 2)
) -> ReportedReplica:
    """Return what a process says that was told of a leader; (leader epoch, partition epoch)."""
    return ReportedReplica(
        partition=0,
        leader=leader,
        leader_epoch=epochs[0],
        isr=isr,
        partition_epoch=epochs[1],
        replicas=replicas,
        log_epoch=epochs[0],
        log_end_offset=10,
    )


def cold(log_epoch: int, log_end_offset: int) -> ReportedReplica:
    """Return what a process says that nobody has told anything."""
    return ReportedReplica(partition=0, log_epoch=log_epoch, log_end_offset=log_end_offset)
