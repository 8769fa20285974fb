"""A machine among pure brokers: feeds events, keeps what was sent, lets brokers answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from controller.core import effects as done
from controller.core.decision import Durable
from controller.core.events import Event, RequestAnswered, RequestArrived, Started, Tick
from controller.core.machine import Machine
from controller.core.records import (
    BrokerRegistered,
    BrokerUnfenced,
    Leadership,
    LeadershipChanged,
    Record,
    TopicCreated,
)
from controller.core.settings import Settings
from controller.core.state import ClusterState, Endpoint, Partition
from protocol.configs.parsing import broker_config
from protocol.ids import TopicPartition
from protocol.messages.lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    Listener,
)
from protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    DeletableTopicResult,
    DeleteTopicsRequest,
)
from tests.controller.core.broker_model import BrokerModel
from tests.controller.core.heard import nothing_newer

CLUSTER_ID = "cluster-under-test"
HEARTBEAT_MS, SESSION_MS = 500, 3000


def settings(**configs: str) -> Settings:
    """Configs by Kafka's names with ``_`` for ``.``."""
    overrides = {name.replace("_", "."): value for name, value in configs.items()}
    return Settings(
        cluster_id=CLUSTER_ID,
        controller_id=100,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        broker_ids=(1, 2, 3),
        defaults=broker_config(overrides),
        overrides=overrides,
        tells_nodes_apart=True,
    )


def log_dir(broker_id: int, number: int) -> bytes:
    return bytes([broker_id, number]) * 8


def tp(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def registered(broker_id: int, epoch: int, rack: str | None = None) -> list[Record]:
    """Return the records of a live broker."""
    return [
        BrokerRegistered(
            broker_id,
            epoch,
            bytes([broker_id]) * 16,
            (Endpoint("PLAINTEXT", f"host{broker_id}", 9092, 0),),
            rack,
            (log_dir(broker_id, 1), log_dir(broker_id, 2)),
        ),
        BrokerUnfenced(broker_id),
    ]


def topic_records(name: str, partitions: Sequence[Partition]) -> list[Record]:
    """Return the records of a topic with leadership."""
    topic_id = name.encode().ljust(16, b"-")
    return [
        TopicCreated(name, topic_id, {}, tuple(p.replicas for p in partitions)),
        LeadershipChanged(
            tuple(
                Leadership(
                    name,
                    number,
                    p.leader,
                    p.leader_epoch,
                    p.isr,
                    p.partition_epoch,
                    p.controller_epoch,
                    is_recovering=False,
                )
                for number, p in enumerate(partitions)
            )
        ),
    ]


class Cluster:
    """One machine and its brokers."""

    def __init__(
        self,
        records: Iterable[Record] = (),
        *,
        config: Settings | None = None,
        brokers: dict[int, BrokerModel] | None = None,
        seed: int = 0,
        decision_ends: Iterable[int] = (),
        is_heard: bool = True,
    ) -> None:
        self.records: list[Record] = list(records)
        self.decision_ends = list(decision_ends)
        self.config = config or settings()
        self.machine = Machine(self.replay(), self.config, Random(seed))
        self.now_ms = 1_000
        self.brokers = brokers or {b: BrokerModel() for b in self.state.brokers}
        self.held: list[int] = []
        """Brokers that do not answer for now."""
        self.sent: dict[int, list[Any]] = {}
        self.answers: dict[int, Any] = {}
        self.reports: list[done.Report] = []
        self.reassignments: list[done.ReassignmentReport] = []
        self.notes: list[done.Note] = []
        self._epochs: dict[int, int] = {}
        self._queues: dict[int, list[done.Send]] = {}
        self._tokens = self._incarnations = 0
        self.feed(Started())
        for request in nothing_newer(self.machine) if is_heard else ():
            self.ask(request, 1)

    @property
    def state(self) -> ClusterState:
        return self.machine.state

    def feed(self, event: Event) -> list[done.Effect]:
        decision = self.machine.step(event, self.now_ms)
        if decision.records:
            self.records.extend(decision.records)
            self.decision_ends.append(len(self.records))
        effects = list(decision.effects(Durable(decision.journal_number)))
        for effect in effects:
            self._do(effect)
        return effects

    def ask(self, request: Any, version: int = 0) -> int:
        """Return the token; the answer may come later."""
        self._tokens += 1
        self.feed(RequestArrived(self._tokens, request, version))
        return self._tokens

    def call(self, request: Any, version: int = 0) -> Any:
        """Ask, let the brokers answer, return the answer."""
        token = self.ask(request, version)
        self.settle()
        return self.answers[token]

    def settle(self) -> None:
        """Let brokers answer, in order per broker, until nothing is under way."""
        while True:
            ready = [b for b, queue in self._queues.items() if queue and b not in self.held]
            if not ready:
                return
            for broker_id in ready:
                self.answer_next(broker_id)

    def answer_next(self, broker_id: int) -> None:
        if not self._queues.get(broker_id):
            return
        send = self._queues[broker_id].pop(0)
        response = self.brokers.setdefault(broker_id, BrokerModel()).answer(send.request)
        self.feed(
            RequestAnswered(
                broker_id, self._epochs[broker_id], send.sequence, send.request, response
            )
        )

    def advance(self, ms: int) -> None:
        """Let time pass in steps of a heartbeat; ticks come when they are due."""
        end_ms = self.now_ms + ms
        while True:
            due_ms = self.machine.next_deadline_ms()
            if due_ms is None or due_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, due_ms)
            self.feed(Tick(due_ms))
        self.now_ms = end_ms

    def take(self) -> dict[int, list[Any]]:
        """Return what was sent since the last call."""
        sent, self.sent = self.sent, {}
        return sent

    def register(
        self, broker_id: int, *, rack: str | None = None, dirs: Sequence[int] = (1, 2)
    ) -> BrokerRegistrationResponse:
        """Register a new incarnation; it stays fenced."""
        self._incarnations += 1
        before = self.brokers.get(broker_id, BrokerModel())
        self.brokers[broker_id] = BrokerModel(files=before.files, older=before.older)
        response: BrokerRegistrationResponse = self.call(
            BrokerRegistrationRequest(
                broker_id=broker_id,
                cluster_id=CLUSTER_ID,
                incarnation_id=self._incarnations.to_bytes(16),
                listeners=[
                    Listener(
                        name="PLAINTEXT", host=f"host{broker_id}", port=9092, security_protocol=0
                    )
                ],
                rack=rack,
                log_dirs=[log_dir(broker_id, number) for number in dirs],
            )
        )
        return response

    def start_broker(
        self,
        broker_id: int,
        *,
        rack: str | None = None,
        dirs: Sequence[int] = (1, 2),
        bad: Sequence[str] = (),
    ) -> None:
        """Register and unfence; ``bad`` replicas answer KAFKA_STORAGE_ERROR."""
        self.register(broker_id, rack=rack, dirs=dirs)
        self.brokers[broker_id].bad = [tp(name) for name in bad]
        self.beat(broker_id)

    def beat(
        self,
        broker_id: int,
        *,
        offline: Sequence[int] = (),
        cordoned: Sequence[int] | None = None,
        want_shut_down: bool = False,
        want_fence: bool = False,
    ) -> BrokerHeartbeatResponse:
        known = self.state.brokers.get(broker_id)
        response: BrokerHeartbeatResponse = self.call(
            BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=-1 if known is None else known.broker_epoch,
                offline_log_dirs=[log_dir(broker_id, number) for number in offline],
                cordoned_log_dirs=None
                if cordoned is None
                else [log_dir(broker_id, number) for number in cordoned],
                want_shut_down=want_shut_down,
                want_fence=want_fence,
            ),
            2,
        )
        return response

    def fail_log_dir(self, broker_id: int, number: int, bad: Sequence[str]) -> None:
        """Break a log dir with these replicas and let the broker report it."""
        self.brokers[broker_id].bad += [tp(name) for name in bad]
        offline = [*self.offline_numbers(broker_id), number]
        self.beat(broker_id, offline=offline)

    def return_log_dirs(
        self, broker_id: int, dirs: Sequence[int], *, still_bad: Sequence[str] = ()
    ) -> None:
        """Let the same process register again with these log dirs online."""
        known = self.state.brokers[broker_id]
        self.brokers[broker_id].bad = [tp(name) for name in still_bad]
        self.call(
            BrokerRegistrationRequest(
                broker_id=broker_id,
                cluster_id=self.state.cluster_id or CLUSTER_ID,
                incarnation_id=known.incarnation,
                listeners=[
                    Listener(name=e.name, host=e.host, port=e.port, security_protocol=0)
                    for e in known.endpoints
                ],
                rack=known.rack,
                log_dirs=[log_dir(broker_id, number) for number in dirs],
            )
        )
        self.settle()

    def offline_numbers(self, broker_id: int) -> list[int]:
        return [directory[1] for directory in self.state.brokers[broker_id].offline_log_dirs]

    def expire(self, *broker_ids: int) -> None:
        """Let these brokers fall silent while the others heartbeat."""
        for _ in range(SESSION_MS // HEARTBEAT_MS + 1):
            for broker_id in self.state.reachable_brokers():
                if broker_id not in broker_ids:
                    self.beat(broker_id)
            self.advance(HEARTBEAT_MS)
        self.settle()

    def shut_down(self, broker_id: int) -> ControlledShutdownResponse:
        token = self.ask_to_shut_down(broker_id)
        self.settle()
        return self.answers[token]

    def ask_to_shut_down(self, broker_id: int) -> int:
        epoch = self.state.brokers[broker_id].broker_epoch
        return self.ask(ControlledShutdownRequest(broker_id=broker_id, broker_epoch=epoch), 3)

    def create(
        self, name: str, *replicas: Sequence[int], configs: dict[str, str] | None = None
    ) -> CreatableTopicResult:
        """Create a topic with a manual assignment."""
        request = create_request(name, *replicas, configs=configs)
        result: CreatableTopicResult = self.call(request, 7).topics[0]
        return result

    def create_and_forget(self, name: str, *replicas: Sequence[int]) -> None:
        self.ask(create_request(name, *replicas), 7)

    def delete(self, *names: str) -> list[DeletableTopicResult]:
        request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=60_000)
        return list(self.call(request, 5).responses)

    def partition(self, name: str) -> Partition:
        return self.state.partition(tp(name))

    def replay(self) -> ClusterState:
        """Return what the records so far give."""
        state = ClusterState()
        for number, record in enumerate(self.records, 1):
            record.apply(state)
            state.journal_number += self.decision_ends.count(number)
        return state

    def restart(self) -> Cluster:
        """Return the next controller, started from the records of this one; brokers stay."""
        ends = self.decision_ends
        after = Cluster(self.records, config=self.config, brokers=self.brokers, decision_ends=ends)
        after._incarnations = self._incarnations
        return after

    def _do(self, effect: done.Effect) -> None:
        if isinstance(effect, done.Send):
            self.sent.setdefault(effect.broker_id, []).append(effect.request)
            self._queues[effect.broker_id].append(effect)
        elif isinstance(effect, done.ConnectBroker):
            self._queues[effect.broker_id] = []
            self._epochs[effect.broker_id] = effect.broker_epoch
        elif isinstance(effect, done.Answer):
            assert effect.token not in self.answers, "answered twice"
            self.answers[effect.token] = effect.response
        elif isinstance(effect, done.Report):
            self.reports.append(effect)
        elif isinstance(effect, done.ReassignmentReport):
            self.reassignments.append(effect)
        elif isinstance(effect, done.Note):
            self.notes.append(effect)
        else:
            self._queues[getattr(effect, "broker_id")] = []  # noqa: B009 -- DisconnectBroker


def create_request(
    name: str, *replicas: Sequence[int], configs: dict[str, str] | None = None
) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=-1,
                replication_factor=-1,
                assignments=[
                    CreatableReplicaAssignment(partition_index=number, broker_ids=list(ids))
                    for number, ids in enumerate(replicas)
                ],
                configs=[CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
            )
        ]
    )


def three_brokers(*records: Record, config: Settings | None = None) -> Cluster:
    """Return a cluster of brokers 1, 2, 3 that are live and have been told everything."""
    live = [record for broker_id in (1, 2, 3) for record in registered(broker_id, broker_id)]
    cluster = Cluster([*live, *records], config=config)
    cluster.settle()
    cluster.take()
    return cluster


def leadership(cluster: Cluster, name: str) -> tuple[int, int, tuple[int, ...]]:
    partition = cluster.partition(name)
    return partition.leader, partition.leader_epoch, partition.isr
