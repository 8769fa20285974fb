"""Restarts one broker after the other while idempotent producers of several clients write.

Each client has a topic of replication factor 1 and one of 3, so that every round tries all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec
from protocol.faults.model import broker_node
from tests.restarts.loads import PARTITIONS, Client, Load, command_of
from tests.restarts.script import read_value
from tests.restarts.verdict import Verdict, judge

BROKERS = (1, 2, 3)
DEADLINE_MS = 90_000
READ_S = 120
ACKED_PER_ROUND = 20
"""Records of each partition that must be acknowledged between two restarts."""
SEGMENTS = {"segment.bytes": "262144"}
"""Small ones, so that some restarts find a log just rolled."""
CONFIGS = {
    "replica.high.watermark.checkpoint.interval.ms": "500",
    "jbodlab.log.dir.io.deadline.ms": "60000",
    "log.flush.offset.checkpoint.interval.ms": "2000",
}


class Way(StrEnum):
    """How a broker ends before it is started again."""

    CLEAN = "clean"
    """As ``jbodlab brokers restart`` ends it."""
    KILL = "kill -9"


@dataclass(slots=True)
class Outcome:
    """What all rounds came to."""

    restarts: dict[Way, int] = field(default_factory=dict[Way, int])
    leaders_moved: int = 0
    """Leaderships of replicated partitions that were elsewhere after a round."""
    fatal_in: dict[Way, dict[Client, int]] = field(default_factory=dict[Way, dict[Client, int]])
    """Producers that were ended for good, by the way of the round in which that was told."""
    verdicts: dict[Client, dict[str, Verdict]] = field(
        default_factory=dict[Client, dict[str, Verdict]]
    )
    """By client and topic."""

    said: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By client, what its library wrote of producer epochs."""

    @property
    def is_clean(self) -> bool:
        """Whether no producer failed and no record was lost, doubled or disordered."""
        return all(
            verdict.is_clean for topics in self.verdicts.values() for verdict in topics.values()
        )


class Rounds:
    """A cluster and its loads: ``play`` restarts, then ``judge``."""

    def __init__(self, cluster: Cluster, loads: Sequence[Load]) -> None:
        self._cluster = cluster
        self._loads = loads
        self._turn = 0
        self.outcome = Outcome()

    def play(self, way: Way) -> None:
        """Restart the next broker and wait until every client writes to every partition again.

        Raises:
            LabError: a process ended, or something did not happen before its deadline.
        """
        broker = BROKERS[self._turn % len(BROKERS)]
        self._turn += 1
        before = self._leaders()
        fatal = [len(load.fatal) for load in self._loads]
        if way is Way.CLEAN:
            self._cluster.restart_broker(broker)
        else:
            self._cluster.kill(broker_node(broker))
            self._cluster.start_broker(broker)
        self._settle()
        after = self._leaders()
        outcome = self.outcome
        outcome.leaders_moved += sum(after[place] != before[place] for place in after)
        outcome.restarts[way] = outcome.restarts.get(way, 0) + 1
        of_way = outcome.fatal_in.setdefault(way, {})
        for load, known in zip(self._loads, fatal, strict=True):
            of_way[load.client] = of_way.get(load.client, 0) + len(load.fatal) - known

    def _settle(self) -> None:
        questions = [load.advance(ACKED_PER_ROUND) for load in self._loads]
        names = [load.topics[1] for load in self._loads]

        def settled(admin: ClusterAdmin) -> bool:
            for load in self._loads:
                assert load.is_running, f"{load.client} has ended"
            partitions = admin.any_view(names).partitions
            whole = all(len(one.isr) == len(BROKERS) for one in partitions)
            return whole and all(question() for question in questions)

        self._cluster.wait_until(settled, "every client writes to every partition", DEADLINE_MS)

    def _leaders(self) -> dict[tuple[str, int], int]:
        names = [load.topics[1] for load in self._loads]
        with ClusterAdmin(self._cluster.spec) as admin:
            view = admin.any_view(names)
        return {(one.topic, one.partition): one.leader for one in view.partitions}

    def judge(self) -> Outcome:
        """End the loads and compare what they told with the logs.

        Raises:
            TimeoutError: a load or a log did not come to its end.
        """
        for load in self._loads:
            load.end()
        bootstrap = ",".join(self._cluster.bootstrap_servers)
        for load in self._loads:
            verdicts = self.outcome.verdicts[load.client] = {}
            self.outcome.said[load.client] = load.said_of_epochs()
            for topic in load.topics:
                ended = [told for told in load.ended if told.place[0] == topic]
                # A fatal error is told once for both topics and stands with the first.
                fatal = load.fatal if topic == load.topics[0] else ()
                verdicts[topic] = judge(ended, fatal, _read(bootstrap, topic))
        return self.outcome


@contextmanager
def rounds(root: Path, clients: Sequence[Client], rate: int) -> Generator[Rounds]:
    """Give a running cluster under load; all of it ends with the block.

    Args:
        root: for its files.
        clients: which write.
        rate: records a second of each client.

    Raises:
        PeerMissingError: Java is wanted and not there.
    """
    loads: list[Load] = []
    for client in clients:
        folder = root / client
        folder.mkdir(parents=True)
        loads.append(Load(client, command_of(client, folder), folder / "stderr.txt"))
    cluster = Cluster(write_lab_spec(root / "lab", LabShape(configs=CONFIGS)))
    with running(cluster):
        try:
            _create(cluster, [topic for load in loads for topic in load.topics])
            for load in loads:
                load.start(",".join(cluster.bootstrap_servers), rate)
            under_way = Rounds(cluster, loads)
            _wait_for(cluster, [load.advance(ACKED_PER_ROUND) for load in loads])
            yield under_way
        finally:
            for load in loads:
                load.kill()


def _wait_for(cluster: Cluster, questions: Sequence[Callable[[], bool]]) -> None:
    cluster.wait_until(
        lambda _admin: all(question() for question in questions),
        "every client writes to every partition",
        DEADLINE_MS,
    )


def _create(cluster: Cluster, topics: Sequence[str]) -> None:
    with ClusterAdmin(cluster.spec) as admin:
        for topic in topics:
            is_replicated = topic.endswith("rf3")
            count = len(BROKERS)
            assignment = {
                number: [BROKERS[(number + i) % count] for i in range(count)][
                    : count if is_replicated else 1
                ]
                for number in range(PARTITIONS)
            }
            configs = SEGMENTS | ({"min.insync.replicas": "2"} if is_replicated else {})
            admin.create_topic(
                TopicSpec(
                    name=topic,
                    partitions=PARTITIONS,
                    replication_factor=len(assignment[0]),
                    configs=configs,
                ),
                assignment=assignment,
            )
        cluster.wait_until(
            lambda view: all(
                len(view.view(broker, topics).partitions) == PARTITIONS * len(topics)
                for broker in BROKERS
            ),
            "every broker knows the topics",
        )


def _read(bootstrap: str, topic: str) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Read a topic to its ends; producer and number of each record, by partition.

    By offset: a consumer may be given a record again when its leader moves, a log has it once.
    """
    places = [(topic, number) for number in range(PARTITIONS)]
    found: dict[tuple[str, int], dict[int, tuple[int, int]]] = {place: {} for place in places}
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False}
    )
    try:
        ends = {
            place: consumer.get_watermark_offsets(TopicPartition(*place), timeout=30)[1]
            for place in places
        }
        consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in places])
        deadline_s = time.monotonic() + READ_S
        left = {place for place, end in ends.items() if end > 0}
        while left and time.monotonic() < deadline_s:
            for message in consumer.consume(5000, timeout=1):
                assert message.error() is None, message.error()
                number, offset, data = message.partition(), message.offset(), message.value()
                assert number is not None
                assert offset is not None
                assert data is not None
                place = (topic, number)
                found[place].setdefault(offset, read_value(data))
                if offset + 1 >= ends[place]:
                    left.discard(place)
        if left:
            raise TimeoutError(f"{sorted(left)} not read to the end within {READ_S} s")
    finally:
        consumer.close()
    return {place: [told[offset] for offset in sorted(told)] for place, told in found.items()}
