"""What a run saw inside its nodes, as plain values in the order of time: the evidence of checkers.

`simulation.world.sampler` writes one when something differs from the one before; it judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

from protocol.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition
from simulation.core.rebalances import UnheardRebalance

SEEN_WITHIN_US: Final = 20_000
"""What changes while clients work is in the samples of a simulation so much later at most."""


class SampleSource(StrEnum):
    """Where a stage can look, in words; at what clients saw always, which is the history."""

    CLIENTS = "what clients saw"
    DECISIONS = "the controller's decisions"
    REPLICAS = "replicas in brokers"
    COMMITS = "high watermarks in their moment"
    """Answers of real brokers come one after the other; a leader's is written late, to be safe."""
    LOG_DIRS = "log dirs in brokers"
    LOGS = "logs on disks"
    JOURNAL = "the controller's journal"
    CONTROLLER = "the controller's memory"
    """Without it the journal is held against what leaders were told."""
    QUEUES = "queues"
    CONNECTIONS = "connections"


class Role(StrEnum):
    """How a broker stands to a partition."""

    LEADER = "leader"
    FOLLOWER = "follower"
    OFFLINE = "offline"
    """Its log dir failed."""
    GONE = "gone"
    """Not hosted any more, or its broker is down."""


HOSTED_ROLES: Final = (Role.LEADER, Role.FOLLOWER)
"""Of a replica whose log is open."""


class ReplicaSample(NamedTuple):
    """One replica in the engine of its broker, from then on."""

    at_us: int
    broker: int
    boot: int
    """Which of the broker's processes it is in."""
    tp: TopicPartition
    role: Role
    topic_id: bytes = b""
    log_dir: str = ""
    """Of the current log; "" when it is not known."""
    leader_epoch: int = NO_EPOCH
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = 0
    isr: tuple[int, ...] = ()
    """As the leader has it from the controller."""
    size_bytes: int = -1
    """Of all segments, when the sample was written; -1: not known."""
    next_offset: int = NO_OFFSET
    """Where its next append goes, behind those that wait for the disk. NO_OFFSET: not known."""
    last_stable_offset: int = NO_OFFSET
    """A leader's: up to where who reads committed records gets any. NO_OFFSET: not known."""
    partition_epoch: int = NO_EPOCH
    """A leader's: one more with every change of leader, Isr or replicas. NO_EPOCH: not known."""


class PartitionSample(NamedTuple):
    """One partition in the state of the controller, from then on."""

    at_us: int
    tp: TopicPartition
    topic_id: bytes
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    offline: tuple[int, ...] = ()
    """Replicas that the controller knows to be offline: a dead broker, a failed log dir."""
    is_deleted: bool = False
    """Or about to be."""
    target: tuple[int, ...] = ()
    """The replicas without those that a reassignment takes away; (): not known."""
    partition_epoch: int = NO_EPOCH
    """One more with every change of leader, Isr or replicas."""
    is_recovering: bool = False
    """The leader was elected unclean and has not finished recovering."""
    is_gone: bool = False
    """It is deleted: the controller takes every replica of it for gone."""
    is_reassigned: bool = False
    """A reassignment of it is under way."""


class LogDirSample(NamedTuple):
    """One log dir in the engine of its broker, from then on."""

    at_us: int
    broker: int
    path: str
    is_online: bool
    is_cordoned: bool = False


class BrokerSample(NamedTuple):
    """One broker in the state of the controller, from then on."""

    at_us: int
    broker: int
    is_usable: bool
    """New replicas may be placed there: it is alive, and not all its log dirs are refused."""
    life: tuple[int, bool] = (NO_EPOCH, False)  # Its epoch, and whether it is fenced.


class AheadSample(NamedTuple):
    """An offset that a broker keeps for its next start was larger than it may be, at a look."""

    at_us: int
    broker: int
    tp: TopicPartition
    what: Literal["high watermark", "compacted"]
    """Of the log as its checkpoint says, or up to where compaction has gone."""
    offset: int
    bound: int
    """The high watermark in memory, or the last stable offset."""
    high_watermark: int


class ObeyedSample(NamedTuple):
    """Which controller a broker obeyed last, from then on."""

    at_us: int
    broker: int
    boot: int
    controller_epoch: int


class NodeSample(NamedTuple):
    """One process, from then on."""

    at_us: int
    node: str
    is_up: bool
    """Runs and is not paused."""
    boot: int = 0
    """Another number: another process than before."""


class ClockSkew(NamedTuple):
    """A node's wall clock was put ahead of the others', or behind."""

    at_us: int
    node: str
    by_ms: int


class FaultSample(NamedTuple):
    """Something that was broken on purpose, from a time to a time."""

    begin_us: int
    end_us: int | None
    """None: to the end of the run."""
    node: str
    """"": the whole cluster, or its network."""
    log_dir: str = ""
    """"": not one log dir alone."""
    what: str = ""
    between: tuple[str, ...] = ()
    """Two nodes, or one and ``*``: a fault of the network stands between them alone."""


class Damage(NamedTuple):
    """A disk lost or changed bytes that it had been given."""

    at_us: int
    broker: int
    log_dir: str
    what: str
    is_lasting: bool = False
    """Fetching the log's end again does not heal it: bytes in its middle are others now."""
    tp: TopicPartition | None = None
    """The only partition that can have suffered; None: all in the log dir."""
    is_emptied: bool = False
    """All of it is gone, what was damaged too."""


class BatchSample(NamedTuple):
    """One batch in a log on a disk."""

    base_offset: int
    next_offset: int
    digest: int
    """Of all its bytes."""
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: tuple[tuple[int, int], ...]
    """Offset and number of each record; no control records."""
    is_transactional: bool = False
    marker: Literal["", "commit", "abort"] = ""
    """What a control batch says of the open transaction of its producer."""
    leader_epoch: int = 0
    """Of the leader that gave it its offsets."""


class EpochBegin(NamedTuple):
    """Where a leader epoch begins in a log, as its broker has it."""

    epoch: int
    offset: int


class ProducerSample(NamedTuple):
    """One producer of a log: what its next batch is held against, and snapshots hold."""

    producer_id: int
    epoch: int
    last_sequence: int
    """-1: it wrote nothing in this epoch."""
    transaction_first_offset: int
    """Where its open transaction begins; -1: none is open."""


class LogSample(NamedTuple):
    """One log as it lies on a disk at the end of the run."""

    broker: int
    log_dir: str
    tp: TopicPartition
    is_future: bool
    is_readable: bool = True
    """Its log dir is online; nothing is known of the batches of others."""
    high_watermark: int = 0
    """As the engine has it; 0 for a future log."""
    log_start_offset: int = 0
    is_leader: bool = False
    batches: tuple[BatchSample, ...] = ()
    producers: tuple[ProducerSample, ...] | None = None
    """Those that its broker knows of, in memory; None: nobody looked."""
    epochs: tuple[EpochBegin, ...] | None = None
    """The leader epochs that its broker knows of, in memory; None: nobody looked."""


class Misanswer(NamedTuple):
    """A request that was not answered exactly once, or one of far too many."""

    at_us: int
    connection: str
    api_key: int
    correlation_id: int
    what: str


class GaugeSample(NamedTuple):
    """The most that something with a bound ever was."""

    at_us: int
    node: str
    name: str
    value: int
    bound: int


class JournalSample(NamedTuple):
    """The controller's state beside the one that its journal, or a compacted one, replays to."""

    at_us: int
    decided: tuple[Any, ...]
    """Lines of text (``state_facts``) that say all of the state; or what leaders were told."""
    replayed: tuple[Any, ...]


class ActBeforeSync(NamedTuple):
    """The controller did or said something before the reason for it was durable."""

    at_us: int
    journal_number: int
    """Of the decision that it rests on, as the controller has it."""
    durable_number: int
    """Of the last decision on the journal's disk then."""


class ToldBeforeSync(NamedTuple):
    """A message of the controller had something in it that its journal could still lose."""

    at_us: int
    text: str


class ToldPartition(NamedTuple):
    """What one answer to Metadata told of one partition."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    offline: tuple[int, ...]


class TopicView(NamedTuple):
    """What one answer to Metadata told of topics."""

    asked_us: int
    at_us: int
    broker: int
    named: tuple[str, ...] | None
    """What was asked for; None: all that there are."""
    found: Mapping[str, int]
    """Topic -> how many partitions it has, as told; 0 where that was an error."""
    partitions: Mapping[TopicPartition, ToldPartition]
    """Those of topics that were found."""


class Denial(NamedTuple):
    """An answer of UNKNOWN_TOPIC_OR_PARTITION to Produce or Fetch."""

    asked_us: int
    at_us: int
    broker: int
    tp: TopicPartition


class TopicSample(NamedTuple):
    """The configuration of a topic at any time of the run, as it held."""

    at_us: int
    topic: str
    configs: dict[str, str]


class BrokerConfigsSample(NamedTuple):
    """What was set for a broker while it ran, in the state of the controller, from then on."""

    at_us: int
    broker: str
    """Its id, or "": for all of them."""
    configs: dict[str, str]


@dataclass(slots=True)
class Samples:
    """All of one run. Every list is in the order of time."""

    replicas: list[ReplicaSample] = field(default_factory=list[ReplicaSample])
    partitions: list[PartitionSample] = field(default_factory=list[PartitionSample])
    log_dirs: list[LogDirSample] = field(default_factory=list[LogDirSample])
    brokers: list[BrokerSample] = field(default_factory=list[BrokerSample])
    ahead: list[AheadSample] = field(default_factory=list[AheadSample])
    obeyed: list[ObeyedSample] = field(default_factory=list[ObeyedSample])
    nodes: list[NodeSample] = field(default_factory=list[NodeSample])
    journal_edits_us: list[int] = field(default_factory=list[int])
    """When a hand changed the controller's journal."""
    topics: list[TopicSample] = field(default_factory=list[TopicSample])
    broker_configs: list[BrokerConfigsSample] = field(default_factory=list[BrokerConfigsSample])
    clock_skews: list[ClockSkew] = field(default_factory=list[ClockSkew])
    faults: list[FaultSample] = field(default_factory=list[FaultSample])
    damages: list[Damage] = field(default_factory=list[Damage])
    views: list[TopicView] = field(default_factory=list[TopicView])
    """What clients were told, but for libraries'."""
    denials: list[Denial] = field(default_factory=list[Denial])
    gauges: list[GaugeSample] = field(default_factory=list[GaugeSample])
    """One per node and name."""
    misanswers: list[Misanswer] = field(default_factory=list[Misanswer])
    unheard: list[UnheardRebalance] = field(default_factory=list[UnheardRebalance])
    journals: list[JournalSample] = field(default_factory=list[JournalSample])
    acts_before_sync: list[ActBeforeSync] = field(default_factory=list[ActBeforeSync])
    told_before_sync: list[ToldBeforeSync] = field(default_factory=list[ToldBeforeSync])
    contradictions: list[str] = field(default_factory=list[str])
    """What nodes have in two ways that differ, or otherwise than decided; of the end."""
    misloads: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """When a coordinator had what, for a while, that its log had otherwise."""
    logs: list[LogSample] = field(default_factory=list[LogSample])
    """Of the end."""
    sources: tuple[SampleSource, ...] = (SampleSource.CLIENTS,)
    """Where somebody looked; whether anything was there is another question."""
    seen_within_us: int = SEEN_WITHIN_US
    """What changed is here so much later at most."""
    began_us: int = 0
    """When the story began. All other times are those of the loop; people are told times since."""
    healed_us: int | None = None
    """When the last fault was taken off and everything was started again; None: never."""
    ended_us: int = 0

    def is_damaged(self, broker: int, at_us: int) -> bool:
        """Tell whether a disk of a broker had lost or changed something by then."""
        return any(each.broker == broker and each.at_us <= at_us for each in self.damages)

    def told_time(self, at_us: int) -> str:
        """Return a time as violations tell it, and the lines of the story: since that began."""
        return f"{(at_us - self.began_us) / 1e6:.6f} s"
