"""What records about brokers, log dirs and the journal promise: each changes what it says.

All else stays. A record that does more or less is replayed into another cluster than was told.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from controller.core.journal_records import (
    BrokerEpochsRaised,
    DecisionsLost,
    EpochsRecalled,
    JournalBegun,
    UnknownReplicasReported,
)
from controller.core.reassignment_records import (
    RemovalsConfirmed,
    RemovalsPending,
    ThrottlesClaimed,
    ThrottlesReleased,
)
from controller.core.records import (
    BrokerFenced,
    BrokerRegistered,
    BrokerUnfenced,
    ControllerStarted,
    LogDirsCordoned,
    LogDirsFailed,
    LogDirsReturned,
    ProducerIdsAllocated,
    ReplicasProbed,
    ShutdownBegun,
)
from controller.core.state import EPOCH_STARTS_MAX, Broker, ClusterState
from simulation.contracts.contract import Broken
from simulation.contracts.controller.cluster_facts import GONE, Facts, exactly, gone
from simulation.contracts.controller.record_promises import of_record

Check = Generator[None, None, Broken]


@of_record(ControllerStarted)
def controller_started(record: ControllerStarted, state: ClusterState) -> Check:
    """A new controller epoch begins behind all decisions; the newest beginnings are remembered."""
    number = max(record.journal_number, state.journal_number)
    ended = state.journal_number
    starts = {**state.epoch_starts, record.controller_epoch: ended}
    forgotten = sorted(starts, reverse=True)[EPOCH_STARTS_MAX:]
    wanted: Facts = {
        ("cluster_id",): record.cluster_id,
        ("controller_epoch",): record.controller_epoch,
        ("journal_number",): number,
        ("epoch_starts", record.controller_epoch): ended,
        **{("epoch_starts", each): GONE for each in forgotten},
    }
    return (yield from exactly(state, wanted))


@of_record(JournalBegun)
def journal_begun(record: JournalBegun, state: ClusterState) -> Check:
    """A journal gets its name."""
    return (yield from exactly(state, {("journal_id",): record.journal_id}))


@of_record(EpochsRecalled)
def epochs_recalled(record: EpochsRecalled, state: ClusterState) -> Check:
    """A compacted journal knows where controller epochs began, and no other ones."""
    known = {("epoch_starts", epoch): number for epoch, number in record.epoch_starts}
    return (yield from exactly(state, {**gone(state, "epoch_starts"), **known}))


@of_record(DecisionsLost)
def decisions_lost(record: DecisionsLost, state: ClusterState) -> Check:
    """What is known to be lost behind a decision is remembered, and never less of it."""
    return (yield from exactly(state, {("lost_after",): max(state.lost_after, record.after)}))


@of_record(BrokerEpochsRaised)
def broker_epochs_raised(record: BrokerEpochsRaised, state: ClusterState) -> Check:
    """Broker epochs go on above one that is in use, and never back."""
    epoch = max(state.next_broker_epoch, record.next_broker_epoch)
    return (yield from exactly(state, {("next_broker_epoch",): epoch}))


@of_record(UnknownReplicasReported)
def unknown_replicas_reported(record: UnknownReplicasReported, state: ClusterState) -> Check:
    """What a broker goes on with, unknown to the journal, is what it reported last.

    Of one that goes on with nothing, nothing is kept.
    """
    found = {("unknown_replicas", record.broker_id, tp): one for tp, one in record.replicas}
    wanted = {**gone(state, "unknown_replicas", record.broker_id), **found}
    broken = yield from exactly(state, wanted)
    if not broken and not found and record.broker_id in state.unknown_replicas:
        return f"broker {record.broker_id} goes on with nothing, and an entry is kept of it"
    return broken


@of_record(BrokerRegistered)
def broker_registered(record: BrokerRegistered, state: ClusterState) -> Check:
    """A broker that registers is fenced, its log dirs are whole, and no epoch is given twice."""
    broker_id = record.broker_id
    registered = Broker(
        broker_id=broker_id,
        broker_epoch=record.broker_epoch,
        incarnation=record.incarnation,
        endpoints=record.endpoints,
        rack=record.rack,
        log_dirs=record.log_dirs,
        offline_log_dirs=(),
        cordoned_log_dirs=None,
        is_fenced=True,
        is_shutting_down=False,
    )
    wanted: Facts = {
        ("brokers", broker_id): registered,
        ("next_broker_epoch",): max(state.next_broker_epoch, record.broker_epoch + 1),
        **gone(state, "offline", broker_id),
    }
    return (yield from exactly(state, wanted))


@of_record(BrokerUnfenced)
def broker_unfenced(record: BrokerUnfenced, state: ClusterState) -> Check:
    """A broker that comes is alive, and its replicas count as online until it says otherwise."""
    after = replace(state.brokers[record.broker_id], is_fenced=False, is_shutting_down=False)
    wanted: Facts = {
        ("brokers", record.broker_id): after,
        **gone(state, "offline", record.broker_id),
    }
    return (yield from exactly(state, wanted))


@of_record(BrokerFenced)
def broker_fenced(record: BrokerFenced, state: ClusterState) -> Check:
    """A broker that is fenced is dead; which of its replicas are offline is asked when it comes."""
    after = replace(state.brokers[record.broker_id], is_fenced=True, is_shutting_down=False)
    wanted: Facts = {
        ("brokers", record.broker_id): after,
        **gone(state, "offline", record.broker_id),
    }
    return (yield from exactly(state, wanted))


@of_record(ShutdownBegun)
def shutdown_begun(record: ShutdownBegun, state: ClusterState) -> Check:
    """A broker that stops is still told things."""
    after = replace(state.brokers[record.broker_id], is_shutting_down=True)
    return (yield from exactly(state, {("brokers", record.broker_id): after}))


@of_record(LogDirsFailed)
def log_dirs_failed(record: LogDirsFailed, state: ClusterState) -> Check:
    """Log dirs that failed are offline beside those that are already."""
    broker = state.brokers[record.broker_id]
    after = replace(broker, offline_log_dirs=broker.offline_log_dirs + record.log_dirs)
    return (yield from exactly(state, {("brokers", record.broker_id): after}))


@of_record(LogDirsReturned)
def log_dirs_returned(record: LogDirsReturned, state: ClusterState) -> Check:
    """The log dirs that a broker has now are all online."""
    broker = state.brokers[record.broker_id]
    after = replace(broker, log_dirs=record.log_dirs, offline_log_dirs=())
    return (yield from exactly(state, {("brokers", record.broker_id): after}))


@of_record(LogDirsCordoned)
def log_dirs_cordoned(record: LogDirsCordoned, state: ClusterState) -> Check:
    """The cordoned log dirs of a broker are those that it told last."""
    after = replace(state.brokers[record.broker_id], cordoned_log_dirs=record.log_dirs)
    return (yield from exactly(state, {("brokers", record.broker_id): after}))


@of_record(ReplicasProbed)
def replicas_probed(record: ReplicasProbed, state: ClusterState) -> Check:
    """Replicas are offline or online as their broker answered."""
    wanted: Facts = {}
    for tp in record.online:
        wanted["offline", record.broker_id, tp] = GONE
    for tp in record.offline:
        wanted["offline", record.broker_id, tp] = None
    return (yield from exactly(state, wanted))


@of_record(RemovalsPending)
def removals_pending(record: RemovalsPending, state: ClusterState) -> Check:
    """A compacted journal knows what brokers are still to delete."""
    wanted: Facts = {("removed", record.broker_id, tp): None for tp in record.removed}
    return (yield from exactly(state, wanted))


@of_record(RemovalsConfirmed)
def removals_confirmed(record: RemovalsConfirmed, state: ClusterState) -> Check:
    """What a broker has deleted it is not asked to delete again."""
    wanted: Facts = {("removed", record.broker_id, tp): GONE for tp in record.gone}
    return (yield from exactly(state, wanted))


@of_record(ThrottlesClaimed)
def throttles_claimed(record: ThrottlesClaimed, state: ClusterState) -> Check:
    """Throttles of reassignments are known as theirs."""
    wanted: Facts = {("throttled_topics", name): None for name in record.topics}
    wanted.update((("throttled_brokers", each), None) for each in record.brokers)
    return (yield from exactly(state, wanted))


@of_record(ThrottlesReleased)
def throttles_released(_: ThrottlesReleased, state: ClusterState) -> Check:
    """Throttles that were taken off are nobody's any more."""
    wanted = {**gone(state, "throttled_topics"), **gone(state, "throttled_brokers")}
    return (yield from exactly(state, wanted))


@of_record(ProducerIdsAllocated)
def producer_ids_allocated(record: ProducerIdsAllocated, state: ClusterState) -> Check:
    """Producer ids are given upwards: none of them ever twice."""
    if record.next_producer_id < state.next_producer_id:
        return f"from {state.next_producer_id} back to {record.next_producer_id}"
    return (yield from exactly(state, {("next_producer_id",): record.next_producer_id}))
