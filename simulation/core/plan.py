"""A plan: a cluster, its clients, what is done to it, and what must come of it.

One model for scenario files and for what a seed draws. Runs nothing and reads no file
(``simulation.core.plan_document`` does).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from simulation.core.actions import Action, CreateTopic, Fault, Step, When
from simulation.core.references import NewName, NodeRef, TopicRef

World: TypeAlias = Literal["simulated", "real"]
EXAMINED: Final = "conform-"
"""What the names of all that an examiner makes begin with; no history tells what becomes of it."""
WORLDS: Final[tuple[World, ...]] = ("simulated", "real")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """The cluster: brokers 1, 2, ... with log dirs d1, d2, ... each."""

    brokers: int = 3
    log_dirs: int = 2
    """Of every broker."""
    capacity_mib: int | None = None
    """Of every log dir; more ends in ENOSPC."""
    racks: tuple[str, ...] = ()
    """Of the brokers in order."""
    configs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Kafka's broker keys, for all brokers."""
    broker_configs: Mapping[int, Mapping[str, str]] = field(
        default_factory=dict[int, Mapping[str, str]]
    )
    """Broker -> the same for it alone."""
    heartbeat_interval_ms: int = 500
    session_timeout_ms: int = 3000
    topics: tuple[CreateTopic, ...] = ()
    """Created before the clock of the steps starts."""

    def document(self) -> dict[str, Any]:
        """Return what ``cluster.yaml`` says of it, but for ports, which the stage knows."""
        return {
            "cluster_id": "scenario",
            "controller": {
                "heartbeat_interval_ms": self.heartbeat_interval_ms,
                "session_timeout_ms": self.session_timeout_ms,
            },
            "brokers": [self._broker_document(broker) for broker in self.broker_ids],
            "configs": dict(self.configs),
        }

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The ids of its brokers."""
        return tuple(range(1, self.brokers + 1))

    @property
    def log_dir_names(self) -> tuple[str, ...]:
        """The names that each broker's log dirs have in a plan."""
        return tuple(f"d{number}" for number in range(1, self.log_dirs + 1))

    @property
    def node_names(self) -> tuple[str, ...]:
        """The names of its processes."""
        return ("controller", *(f"broker-{broker}" for broker in self.broker_ids))

    def _broker_document(self, broker: int) -> dict[str, Any]:
        document: dict[str, Any] = {
            "id": broker,
            "log_dirs": [
                {"path": log_dir_path(broker, name)}
                if self.capacity_mib is None
                else {"path": log_dir_path(broker, name), "capacity_mib": self.capacity_mib}
                for name in self.log_dir_names
            ],
        }
        if self.racks:
            document["rack"] = self.racks[broker - 1]
        if broker in self.broker_configs:
            document["configs"] = dict(self.broker_configs[broker])
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One client that works on one topic while things happen."""

    name: NewName
    topic: TopicRef = ""
    """Everybody has one but who examines, who makes topics of its own."""
    kind: Literal[
        "produce", "consume", "transform", "move", "administer", "regroup", "contend", "examine"
    ] = "produce"
    """``transform`` consumes and produces ``into`` another topic, exactly once, by transactions.

    ``move`` moves replicas between the log dirs of their brokers, by chance. ``administer`` sets,
    reads and deletes offsets of a group without members, and the group. ``regroup`` is several
    members of a group, by either protocol, that come and go and do what they must not. ``contend``
    is several producers of the same transactional ids, by either version of transactions, that put
    each other out and do what they must not. ``examine`` asks what `jbodlab conform` asks; where
    there is an authorizer it gives and takes rights on what it made.
    """
    client: Literal["plain", "aiokafka", "java"] = "plain"
    """``plain`` shows every answer as it came; ``aiokafka`` is the library as people use it.

    ``java`` asks as the Java client of 4.3 does: in groups by the consumer protocol (KIP-848), in
    transactions by their second version (KIP-890).
    """
    group: str | None = None
    """A consumer's: it shares the topic with the others of that group, and commits. Not plain.

    A transformer needs one, whose offsets are committed by its transactions: aiokafka's one of its
    own, Java's may share it with others. Who administers one or regroups has it alone.
    Who contends commits its offsets, as one that is not in it.
    """
    into: TopicRef | None = None
    """Where a transformer writes a record for each that it reads; what else who regroups reads."""
    transactional: bool = False
    """A producer's, not plain: each ``batch_records`` are a transaction over all partitions."""
    aborts_every: int = 0
    """Of so many transactions of such a producer the last is aborted; 0: none is.

    Java's transformers, too: what they have read they read again then.
    """
    fetch_bytes: int | None = None
    """A consumer's or transformer's of client java: of one answer; None: as many as there are.

    An answer has one batch at least.
    """
    rack: str | None = None
    """A plain consumer's: where it is. It reads from replicas there, where leaders name them."""
    read_committed: bool = False
    """A consumer's, not plain: it sees no transactions that are open or aborted."""
    acks: Literal["all", "1", "0"] = "all"
    idempotent: bool = False
    interval_ms: int = 50
    """Between two requests of one client."""
    slower_after_ms: int | None = None
    """A producer makes a tenth of its records from then on; None: it keeps its rate."""
    record_bytes: int = 100
    batch_records: int = 1
    """Records of one request."""
    keys: int = 0
    """Records have one of so many keys, in turn; 0: none. Every eighth of a key deletes it."""
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    """Of the batches that it writes."""
    message_format: Literal[0, 1, 2] = 2
    """0 and 1: it speaks as clients did before Kafka 0.10 and 0.11, whose records are message sets.

    A producer sends them (Produce 0 and 2), a consumer gets them (Fetch 1 and 3).
    """
    records_max: int | None = None
    """So many, or requests of who regroups or contends, cases of who examines, end it.

    None: the run does.
    """
    begins: bool = True
    """By itself, when the cluster is ready; otherwise by a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ends: faults off, what is broken is repaired, and everything must heal."""

    heals_within_ms: int = 60_000
    """Every partition with an online Isr member has a leader and a full Isr by then."""
    start_nodes: bool = True
    """Start what is down, resume what is paused."""
    restart_log_dirs: bool = True
    """Bring offline log dirs back, once no fault is on them."""
    replace_log_dirs: bool = False
    """Put empty disks in the place of those that wrote to wrong places, and accept the loss."""
    met_within_ms: int = 0
    """How long faults that have met nothing stay on after the steps, while all else is repaired.

    What they wait for is made to happen, if it can be. 0: they must have met something by then.
    """
    empty_faults: Literal["fail", "count"] = "fail"
    """What comes of faults that met nothing all the same.

    ``fail``: whoever wrote the plan tests nothing with them. ``count``: chance put them there; the
    run counts them, and they break no rule of the cluster.
    """
    judged_cases: int = 0
    """So many cases of ``conform`` are drawn, and held against Apache Kafka's answers, in the end.

    Where a log dir is cordoned or offline in the end, a coordinator's topic lost or a connection
    dead, none is. Some want the configurations of ``draw_judged.CONFIGS``.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A whole run."""

    name: str
    """As a file name: lower case, words joined by hyphens."""
    shows: str
    """One sentence."""
    scenarios: tuple[int, ...] = ()
    """Numbers of docs/scenarios.md that it shows whole."""
    worlds: tuple[World, ...] = WORLDS
    """Where it can run."""
    because: str | None = None
    """Why not in every world; one sentence."""
    cluster: ClusterPlan = ClusterPlan()
    workloads: tuple[Workload, ...] = ()
    steps: tuple[Step, ...] = ()
    crashes: tuple[tuple[NodeRef, ...], ...] = ()
    """Who crashes in ``swap-matrix``, by turns: one node, or several, as ``[1, controller]``.

    Of several the first crashes at its disk operations, and the others with it; none: each node
    alone.
    """
    ending: Ending = Ending()

    @property
    def actions(self) -> tuple[Action, ...]:
        """Every action, those inside ``when`` too, in the order of the text."""
        return tuple(_actions(self.steps))

    @property
    def fault_names(self) -> tuple[str, ...]:
        """The names of all faults that it sets."""
        return tuple(action.name for action in self.actions if isinstance(action, Fault))


def is_examined(topic: str) -> bool:
    """Tell whether an examiner made the topic: it is deleted, hidden, and has old records."""
    return topic.startswith(EXAMINED)


def log_dir_path(broker: int, log_dir: str) -> str:
    """Return where a log dir lies below the folder of the cluster."""
    return f"data/b{broker}/{log_dir}"


def _actions(steps: tuple[Step, ...]) -> Iterator[Action]:
    for step in steps:
        yield step.action
        if isinstance(step.action, When):
            yield from _actions(step.action.steps)
