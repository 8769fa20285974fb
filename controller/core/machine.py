"""The controller as a machine: one event in, records and effects out. No IO, no clock.

The rules are in the other modules; this one finds the rule and looks after who waits how long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, assert_never

from controller.core import (
    acls,
    alter_configs,
    brokers,
    create_partitions,
    create_topics,
    delete_topics,
    deletion,
    describe,
    elect_leaders,
    failures,
    preferred,
    quotas,
    reassignment,
    reassignment_progress,
    registrations,
    removals,
    scram,
    throttles,
    topics,
)
from controller.core.alter_partition import alter_partition
from controller.core.alter_reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from controller.core.decision import Decision
from controller.core.events import (
    AclsRead,
    ClientConfigsRead,
    ConfigsRead,
    Event,
    LogDirEventsRead,
    RegistrationsRead,
    RequestAnswered,
    RequestArrived,
    Started,
    Tick,
    TopicsRead,
)
from controller.core.hearing import begin as begin_to_listen
from controller.core.hearing import expire, take
from controller.core.own_writes import note_own_writes
from controller.core.placement import RandomSource
from controller.core.quorum import describe_quorum
from controller.core.run_state import Hearing, RunState, Waiting, WantedTopic
from controller.core.settings import Settings
from controller.core.state import ClusterState
from controller.core.step import Step
from protocol.messages.acls import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from protocol.messages.cluster import DescribeClusterRequest, DescribeQuorumRequest
from protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from protocol.messages.control import (
    AlterPartitionRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
)
from protocol.messages.elections import ElectLeadersRequest
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControlledShutdownRequest,
)
from protocol.messages.producer_ids import AllocateProducerIdsRequest
from protocol.messages.quotas import AlterClientQuotasRequest, DescribeClientQuotasRequest
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
)
from protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from protocol.witness import Witness, unwitnessed

Serve = Callable[[Step, RequestArrived], None]

SERVED: Final[dict[type[Any], Serve]] = {
    BrokerRegistrationRequest: brokers.register,
    BrokerHeartbeatRequest: brokers.heartbeat,
    ControlledShutdownRequest: brokers.controlled_shutdown,
    AllocateProducerIdsRequest: brokers.allocate_producer_ids,
    AlterPartitionRequest: alter_partition,
    CreateTopicsRequest: create_topics.create_topics,
    CreatePartitionsRequest: create_partitions.create_partitions,
    DeleteTopicsRequest: delete_topics.delete_topics,
    AlterPartitionReassignmentsRequest: alter_partition_reassignments,
    ListPartitionReassignmentsRequest: list_partition_reassignments,
    ElectLeadersRequest: elect_leaders.elect_leaders,
    DescribeConfigsRequest: describe.describe_configs,
    ListConfigResourcesRequest: describe.list_config_resources,
    IncrementalAlterConfigsRequest: alter_configs.incremental_alter_configs,
    AlterConfigsRequest: alter_configs.alter_configs,
    DescribeClusterRequest: describe.describe_cluster,
    DescribeQuorumRequest: describe_quorum,
    CreateAclsRequest: acls.create_acls,
    DescribeAclsRequest: acls.describe_acls,
    DeleteAclsRequest: acls.delete_acls,
    DescribeUserScramCredentialsRequest: scram.describe_credentials,
    AlterUserScramCredentialsRequest: scram.alter_credentials,
    DescribeClientQuotasRequest: quotas.describe_client_quotas,
    AlterClientQuotasRequest: quotas.alter_client_quotas,
}
"""Request class -> the rule that answers it, at once or later."""


class HalfDoneError(Exception):
    """A rule failed after it had changed the state: only a replay of the journal can help."""


class Machine:
    """The controller's only writer of state."""

    def __init__(
        self,
        state: ClusterState,
        settings: Settings,
        chance: RandomSource,
        witness: Witness = unwitnessed,
    ) -> None:
        """Take over a replayed state; the first event must be ``Started``."""
        self.state = state
        self.run = RunState(witness=witness)
        self._settings = settings
        self._chance = chance

    def want_topics(self, wanted: list[WantedTopic]) -> None:
        """Have these topics created as soon as their brokers are there."""
        self.run.wanted_topics = list(wanted)

    def step(self, event: Event, now_ms: int) -> Decision:
        """Take one event.

        Args:
            event: what happened.
            now_ms: loop time; never less than in the call before.

        Raises:
            HalfDoneError: a defect; this machine must not be used any more.
        """
        self.run.witness(type(event), _subject(event))
        step = Step(self.state, self.run, self._settings, self._chance, now_ms)
        try:
            _take(step, event)
        except Exception as error:
            if step.records:
                raise HalfDoneError(f"{type(event).__name__} failed half-way") from error
            raise
        if step.records:
            self.state.journal_number += 1
            if self._settings.has_zookeeper:
                note_own_writes(self.run, step.records, self.state.journal_number)
        effects = [*step.effects, *step.notes]
        return Decision(self.state.journal_number, step.records, effects)

    def next_deadline_ms(self) -> int | None:
        """Return when a ``Tick`` is due, in loop time; None when nothing is waited for."""
        timeout_ms = self._settings.session_timeout_ms
        deadlines = [seen_ms + timeout_ms for seen_ms in self.run.last_seen_ms.values()]
        deadlines += [w.deadline_ms for w in self.run.waiting if w.deadline_ms is not None]
        if self.run.hearing is not None:
            deadlines.append(self.run.hearing.deadline_ms)
        if self.run.balance_at_ms is not None:
            deadlines.append(self.run.balance_at_ms)
        if self.run.reassignments_due_ms is not None:
            deadlines.append(self.run.reassignments_due_ms)
        if self.run.wanted_topics and self.run.wanted_since_ms is not None:
            deadlines.append(self.run.wanted_since_ms + timeout_ms)
        return min(deadlines, default=None)


def _subject(event: Event) -> type[Any]:
    if isinstance(event, RequestArrived | RequestAnswered):
        return event.request.__class__
    return event.__class__


def _take(step: Step, event: Event) -> None:
    hearing = step.run.hearing
    if hearing is not None:
        _listen(step, hearing, event)
        return
    match event:
        case RequestArrived():
            SERVED[type(event.request)](step, event)
        case RequestAnswered():
            _answered(step, event)
        case Tick():
            brokers.expire_sessions(step, event)
            preferred.balance_when_due(step)
        case (
            RegistrationsRead()
            | LogDirEventsRead()
            | TopicsRead()
            | ConfigsRead()
            | ClientConfigsRead()
            | AclsRead()
        ):
            registrations.take(step, event)
        case Started():
            begin_to_listen(step)
            if step.run.hearing is not None:
                return
        case _:
            assert_never(event)
    _follow_up(step)


def _listen(step: Step, hearing: Hearing, event: Event) -> None:
    """Take an event before this controller acts, and all that was held back once it does."""
    released: list[RequestArrived] = []
    if isinstance(event, RequestArrived):
        released = take(step, hearing, event)
    elif isinstance(event, Tick):
        released = expire(step, hearing, event)
    if step.run.hearing is None:
        for held in released:
            SERVED[type(held.request)](step, held)
        _follow_up(step)


def _follow_up(step: Step) -> None:
    topics.create_wanted_topics(step)
    reassignment.complete_ready(step)
    reassignment_progress.tell(step)
    throttles.release_when_over(step)
    _settle(step)


def _answered(step: Step, event: RequestAnswered) -> None:
    progress = step.run.channels.get(event.broker_id)
    if progress is None or progress.broker_epoch != event.broker_epoch:
        return
    if event.sequence <= progress.answered:
        return  # of the channel before this one, which is closed when the journal has it
    assert event.sequence == progress.answered + 1
    progress.answered = event.sequence
    step.run.note_heard(event.broker_id, event.sequence)
    if isinstance(event.request, LeaderAndIsrRequest):
        failures.leader_and_isr_answered(step, event)
    elif isinstance(event.request, StopReplicaRequest):
        removals.stop_replica_answered(step, event)
        deletion.stop_replica_answered(step, event)


def _settle(step: Step) -> None:
    """Let go of those whose brokers have been told, or whose time is up."""
    still: list[Waiting] = []
    for waiting in step.run.waiting:
        if _is_told(step, waiting):
            step.effects.append(waiting.done)
        elif waiting.deadline_ms is not None and step.now_ms >= waiting.deadline_ms:
            if waiting.late is not None:
                step.effects.append(waiting.late)
        else:
            still.append(waiting)
    step.run.waiting = still


def _is_told(step: Step, waiting: Waiting) -> bool:
    for broker_id, (broker_epoch, sequence) in waiting.told.items():
        progress = step.run.channels.get(broker_id)
        is_same = progress is not None and progress.broker_epoch == broker_epoch
        if is_same and progress is not None and progress.answered < sequence:
            return False
    return True
