"""What the controller may forget at a restart: phases, sessions, channels, who waits.

No rules. The next start makes it anew from the journaled state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from controller.core.claims import Claim
from controller.core.effects import Effect
from controller.core.events import RequestArrived
from controller.core.phases import PartitionPhase, ReplicaPhase
from controller.core.reassignment_rules import Assignment
from protocol.configs.parsing import BrokerConfig
from protocol.ids import TopicPartition
from protocol.messages.journal import JournalReport
from protocol.witness import Witness, unwitnessed

DELETED_TOPICS_KEPT_MAX: Final = 10_000
"""More are not deleted while one report of a broker is on its way."""
NOT_SENT: Final = 0
"""The sequence of what could not be sent to a broker."""


@dataclass(slots=True)
class Progress:
    """How far one broker's channel is."""

    broker_epoch: int
    sent: int = 0
    """Sequence of the last request put into it."""
    metadata_sent: int = 0
    """Sequence of the last UpdateMetadata among them."""
    answered: int = 0
    """Sequence of the last request that was answered."""


@dataclass(slots=True)
class Waiting:
    """An effect held back until brokers have answered all that was sent to them up to now."""

    told: dict[int, tuple[int, int]]
    """Broker id -> (its broker epoch, the sequence to be answered)."""
    deadline_ms: int | None
    done: Effect
    late: Effect | None
    """Done instead at the deadline."""


@dataclass(slots=True)
class Probe:
    """A LeaderAndIsr that asks one broker which of its replicas are offline."""

    sequence: int
    failure_ids: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class WantedTopic:
    """A topic of the cluster file that does not exist yet."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]


@dataclass(slots=True)
class Hearing:
    """The time before a new controller acts: what brokers know of the journal is heard first."""

    awaited: dict[int, None]
    """The brokers that are to be heard."""
    deadline_ms: int
    """Loop time; those not heard by then are dead."""
    held: list[RequestArrived] = field(default_factory=list[RequestArrived])
    """What waits for the controller to act."""


@dataclass(slots=True)
class RunState:
    """All of it."""

    partition_phases: dict[TopicPartition, PartitionPhase] = field(
        default_factory=dict[TopicPartition, PartitionPhase]
    )
    leaderless: dict[TopicPartition, None] = field(default_factory=dict[TopicPartition, None])
    """The partitions in phase NEW or OFFLINE."""
    replica_phases: dict[TopicPartition, dict[int, ReplicaPhase]] = field(
        default_factory=dict[TopicPartition, dict[int, ReplicaPhase]]
    )
    channels: dict[int, Progress] = field(default_factory=dict[int, Progress])
    sequences: dict[int, int] = field(default_factory=dict[int, int])
    """Broker id -> the last sequence of any of its channels: none is used twice."""
    last_seen_ms: dict[int, int] = field(default_factory=dict[int, int])
    """Of every unfenced broker."""
    deletion_begun: dict[str, None] = field(default_factory=dict[str, None])
    deletion_ineligible: dict[str, None] = field(default_factory=dict[str, None])
    deleted_topic_ids: dict[bytes, None] = field(default_factory=dict[bytes, None])
    """Of the last topics that every replica answered to be gone, oldest first."""
    waiting: list[Waiting] = field(default_factory=list[Waiting])
    probes: dict[int, list[Probe]] = field(default_factory=dict[int, list[Probe]])
    """Broker id -> probes not answered yet."""
    asked_before_return: dict[int, int] = field(default_factory=dict[int, int])
    """Broker id -> the last sequence sent to it before it last said what came back there."""
    asked_before_removal: dict[int, dict[TopicPartition, int]] = field(
        default_factory=dict[int, dict[TopicPartition, int]]
    )
    """Broker id -> replica taken from it -> the last sequence sent to it before that."""
    wanted_topics: list[WantedTopic] = field(default_factory=list[WantedTopic])
    wanted_since_ms: int | None = None
    """Since when enough brokers for every wanted topic are there."""
    balance_at_ms: int | None = None
    """When preferred leaders are looked after next."""
    reassignments: dict[TopicPartition, Assignment] = field(
        default_factory=dict[TopicPartition, Assignment]
    )
    """Those under way, as the last metric row has told; who is told of next comes first."""
    reassignments_due_ms: int | None = None
    """When some of them are told of again."""
    unclean_elections_count: int = 0
    hearing: Hearing | None = None
    """None: it is over."""
    reports: dict[int, JournalReport] = field(default_factory=dict[int, JournalReport])
    """Broker id -> the last it reported of the journal since the start."""
    untold: dict[int, None] = field(default_factory=dict[int, None])
    """Brokers of them with a log dir that is offline: nobody tells which replicas are in it."""
    logs_told: dict[int, dict[TopicPartition, Claim]] = field(
        default_factory=dict[int, dict[TopicPartition, Claim]]
    )
    """Broker id -> the logs that it told of while the journal was behind."""
    have_told: dict[int, None] = field(default_factory=dict[int, None])
    """Brokers of them that told what is in all their log dirs."""
    awaits_logs: bool = False
    """Whether a partition has nobody in its Isr until others have told of their logs."""
    unheard_configs: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    """Broker id -> topic or row that changed -> the sequence that told it so, not answered yet.

    ``NOT_SENT``: it was away.
    """
    told_as_new: dict[tuple[int, int, TopicPartition], None] = field(
        default_factory=dict[tuple[int, int, TopicPartition], None]
    )
    """Broker id, its epoch, and what it refused for the log of an older topic since it is live."""
    unlearned: dict[int, int] = field(default_factory=dict[int, int])
    """Fenced brokers that heard of what the journal lacks and have not told their replicas yet.

    And how many decisions it lacks.
    """
    hearing_is_over: bool = False
    """Whether the controller acts."""
    is_new_journal: bool = False
    """Whether the journal was empty when this controller started."""
    has_jumped: bool = False
    """Whether a gap was left for blocks of producer ids that nobody could be asked about."""
    defaults: tuple[dict[str, str], BrokerConfig] | None = None
    """Dynamic configs of all brokers, and the configuration they were made into."""
    own_writes: dict[str, int] = field(default_factory=dict[str, int])
    """What own decisions change in ZooKeeper -> the last decision that may not be read there."""
    witness: Witness = unwitnessed

    def note_deleted(self, topic_id: bytes) -> None:
        """Keep which topic is gone."""
        self.deleted_topic_ids[topic_id] = None
        if len(self.deleted_topic_ids) > DELETED_TOPICS_KEPT_MAX:
            del self.deleted_topic_ids[next(iter(self.deleted_topic_ids))]

    def note_heard(self, broker_id: int, sequence: int) -> None:
        """Take the answer to a sequence: what that told is heard."""
        unheard = self.unheard_configs.get(broker_id)
        if unheard:
            self.unheard_configs[broker_id] = {
                name: sent for name, sent in unheard.items() if not NOT_SENT < sent <= sequence
            }

    def was_asked_before_return(self, broker_id: int, sequence: int) -> bool:
        """Tell whether a request is of before a broker last said what came back there."""
        return sequence <= self.asked_before_return.get(broker_id, 0)

    def phase_of(self, tp: TopicPartition) -> PartitionPhase:
        """Return a partition's phase."""
        return self.partition_phases.get(tp, PartitionPhase.NON_EXISTENT)

    def replica_phase_of(self, tp: TopicPartition, broker_id: int) -> ReplicaPhase:
        """Return a replica's phase."""
        return self.replica_phases.get(tp, {}).get(broker_id, ReplicaPhase.NON_EXISTENT)

    def set_phase(self, tp: TopicPartition, phase: PartitionPhase) -> None:
        """Move a partition, keeping ``leaderless`` in step."""
        self.witness(self.phase_of(tp), phase)
        if phase is PartitionPhase.NON_EXISTENT:
            self.partition_phases.pop(tp, None)
        else:
            self.partition_phases[tp] = phase
        if phase in (PartitionPhase.NEW, PartitionPhase.OFFLINE):
            self.leaderless[tp] = None
        else:
            self.leaderless.pop(tp, None)

    def set_replica_phase(self, tp: TopicPartition, broker_id: int, phase: ReplicaPhase) -> None:
        """Move a replica."""
        self.witness(self.replica_phase_of(tp, broker_id), phase)
        if phase is not ReplicaPhase.NON_EXISTENT:
            self.replica_phases.setdefault(tp, {})[broker_id] = phase
            return
        phases = self.replica_phases.get(tp, {})
        phases.pop(broker_id, None)
        if not phases:
            self.replica_phases.pop(tp, None)
