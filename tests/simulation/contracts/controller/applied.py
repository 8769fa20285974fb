"""Records that are applied wrongly, and what contracts say of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from random import Random
from typing import Final

from controller.core.acl_records import AclsCreated
from controller.core.config_records import (
    BrokerConfigsChanged,
)
from controller.core.journal_records import (
    UnknownReplicasReported,
)
from controller.core.quota_records import ClientQuotaSet
from controller.core.reassignment_records import (
    RemovalsPending,
    ThrottlesClaimed,
)
from controller.core.records import (
    ControllerStarted,
    Record,
    ReplicasProbed,
)
from controller.core.run_state import RunState
from controller.core.scram_records import ScramCredentialStored
from controller.core.state import ClusterState, Partition, UnknownReplica
from controller.core.step import Step
from controller.core.token_records import DelegationTokenStored
from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.ids import TopicPartition
from protocol.security.scram import ScramCredential
from tests.controller.core.cluster import registered, settings, topic_records
from tests.simulation.contracts.wrong_rules import told_of

Wrong = Callable[[Record, ClusterState], None]
T0: Final = TopicPartition("t", 0)
LOST: Final = TopicPartition("lost", 0)
USER: Final = (("user", "alice"),)
CREDENTIAL: Final = ScramCredential(b"salt", b"stored", b"server", 4096)
ACL: Final = AclBinding(
    ResourcePattern(AclResourceType.TOPIC, "t", PatternType.LITERAL),
    "User:alice",
    "*",
    AclOperation.READ,
    PermissionType.ALLOW,
)
BEFORE: Final[list[Record]] = [
    ControllerStarted("c", 1),
    *registered(1, 1),
    *registered(2, 2),
    *topic_records("t", [Partition(replicas=(1, 2), leader=1, leader_epoch=3, isr=(1, 2))]),
    ReplicasProbed(2, (T0,), ()),
    RemovalsPending(1, (LOST,)),
    UnknownReplicasReported(2, ((LOST, UnknownReplica(b"i" * 16, 4)),)),
    ThrottlesClaimed(("t",), (1,)),
    BrokerConfigsChanged("1", {"log.retention.ms": "5"}),
    AclsCreated((ACL,)),
    ScramCredentialStored("alice", "SCRAM-SHA-256", CREDENTIAL),
    DelegationTokenStored("id", "text"),
    ClientQuotaSet(USER, "consumer_byte_rate", 1.0),
]


def a_step() -> Step:
    state = ClusterState()
    for each in BEFORE:
        each.apply(state)
    return Step(state, RunState(), settings(), Random(0), 0)


def told_while(step: Step, record: Record) -> list[str]:
    return told_of(None, "Step.change", lambda: step.change(record))


def changes_nothing(_record: Record) -> Wrong:
    def apply(_: Record, _state: ClusterState) -> None:
        return

    return apply


def changes_too_much(record: Record) -> Wrong:
    right = vars(type(record))["apply"]

    def apply(each: Record, state: ClusterState) -> None:
        right(each, state)
        state.hosted.setdefault(1, {})[LOST] = None

    return apply


def tells(record: Record) -> None:
    """Assert that it is told when this record changes nothing, or too much, and not else."""
    assert told_while(a_step(), record) == []
    for wrong in (changes_nothing(record), changes_too_much(record)):
        step = a_step()
        with ExitStack() as planted:
            planted.callback(setattr, type(record), "apply", vars(type(record))["apply"])
            setattr(type(record), "apply", wrong)  # noqa: B010 -- one of a protocol
            told = told_while(step, record)
        assert told
        assert f": {type(record).__name__}: not changed as promised" in told[0]
