"""Groups with their members go from jbodlab to Apache Kafka 3.9.2 and back; tools tell the same.

Both listen at the same address, so that a consumer that lives through a change knows nothing of it.
Needs Java and Maven (for Kafka's jars); skipped without them.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.peer.kafka import VERSION
from jbodlab.processes.cluster import CONTROLLER
from jbodlab.processes.lab_spec import LabShape
from protocol.faults.model import broker_node
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.deadlines import DEADLINE_S
from tests.integration.apache_kafka import (
    BUILD_DIR,
    NO_AUTO_CREATION,
    apache_kafka,
    jars,
    known_topic,
)
from tests.integration.labs import FAST, Lab, running_lab
from tests.kafka_tools.tools import KafkaTools

TOPIC = "orders"
LEFT, STATIC, LIVE, SIMPLE, ATOMIC, NEW_PROTOCOL = (
    "left",
    "static",
    "live",
    "simple",
    "atomic",
    "of-kip-848",
)
SESSION_MS = "300000"
"""Of members: longer than a change of brokers takes."""
CLASSIC: Mapping[str, str] = {"session.timeout.ms": SESSION_MS}
INSTANCE: Mapping[str, str] = {**CLASSIC, "group.instance.id": "desk-1"}
KIP_848: Mapping[str, str] = {"group.protocol": "consumer"}
CONFIGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}
KAFKA_CONFIGS = {
    **NO_AUTO_CREATION,
    **CONFIGS,
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
COMPACTED = {"cleanup.policy": "compact"}


class Story:
    """One address, whoever listens there; and who reads there all the time."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = folder
        (self.broker,) = lab.cluster.spec.brokers
        self.server = f"127.0.0.1:{self.broker.port}"
        self.written = 0
        self.live = self.consumer(LIVE)
        self.live.subscribe([TOPIC])

    def consumer(self, group: str, member: Mapping[str, str] = CLASSIC) -> Any:
        settings = {
            "bootstrap.servers": self.server,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        return Consumer({**settings, **member})

    def write(self, count: int) -> None:
        producer = Producer({"bootstrap.servers": self.server, "enable.idempotence": True})
        for number in range(self.written, self.written + count):
            producer.produce(TOPIC, str(number).encode())
        assert producer.flush(DEADLINE_S) == 0
        self.written += count

    def read(self, consumer: Any, count: int) -> list[int]:
        """Read so many records and commit them; return their offsets."""
        offsets: list[int] = []
        end = time.monotonic() + DEADLINE_S
        while len(offsets) < count:
            assert time.monotonic() < end, f"{offsets} after {DEADLINE_S} s"
            messages = consumer.consume(1, timeout=1)
            offsets += [each.offset() for each in messages if each.error() is None]
        behind = TopicPartition(TOPIC, 0, offsets[-1] + 1)
        (told,) = consumer.commit(offsets=[behind], asynchronous=False)
        assert told.error is None
        return offsets

    def read_as(self, group: str, count: int, member: Mapping[str, str] = CLASSIC) -> list[int]:
        """Join a group, read and commit, and close: a static member does not leave by it."""
        with closing(self.consumer(group, member)) as consumer:
            consumer.subscribe([TOPIC])
            return self.read(consumer, count)

    def commit(self, group: str, offset: int) -> None:
        """Commit as a consumer does that is no member."""
        with closing(self.consumer(group)) as consumer:
            consumer.assign([TopicPartition(TOPIC, 0)])
            behind = TopicPartition(TOPIC, 0, offset, "by hand")
            consumer.commit(offsets=[behind], asynchronous=False)

    def commit_in_transactions(self, offset: int) -> None:
        """Commit an offset in one transaction; abort another one with an offset behind it."""
        producer = Producer({"bootstrap.servers": self.server, "transactional.id": "copies"})
        producer.init_transactions(DEADLINE_S)
        with closing(self.consumer(ATOMIC)) as consumer:
            group = consumer.consumer_group_metadata()
            for behind, end in (
                (offset, producer.commit_transaction),
                (offset + 1, producer.abort_transaction),
            ):
                producer.begin_transaction()
                producer.send_offsets_to_transaction(
                    [TopicPartition(TOPIC, 0, behind)], group, DEADLINE_S
                )
                end(DEADLINE_S)

    @contextmanager
    def kafka(self) -> Generator[None]:
        """Have Apache Kafka in the place of jbodlab for the length of a block."""
        topics = [
            known_topic(self.lab, TOPIC, {}),
            known_topic(self.lab, CONSUMER_OFFSETS, COMPACTED),
            known_topic(self.lab, TRANSACTION_STATE, COMPACTED),
        ]
        cluster = self.lab.cluster
        cluster.stop([broker_node(self.broker.id)])
        cluster.stop([CONTROLLER])
        with apache_kafka(
            self.folder / "kafka",
            broker_id=self.broker.id,
            cluster_id=cluster.spec.cluster_id,
            log_dirs=[one.path for one in self.broker.log_dirs],
            topics=topics,
            configs=KAFKA_CONFIGS,
            port=self.broker.port,
        ) as kafka:
            yield
            kafka.stop()
        cluster.start_controller()
        cluster.start_broker(self.broker.id)
        for topic in (TOPIC, CONSUMER_OFFSETS, TRANSACTION_STATE):
            self.lab.wait_for_full_isr(topic)


class Told:
    """What kafka-consumer-groups tells of all groups, by group."""

    def __init__(self, tools: KafkaTools) -> None:
        self.offsets = rows(tools, "--offsets")
        self.members = rows(tools, "--members --verbose")
        self.states = rows(tools, "--state")

    def of_classic_groups(self) -> list[dict[str, list[str]]]:
        """Leave out the group of a protocol that Apache Kafka 3.9.2 has not with ZooKeeper."""
        tables = (self.offsets, self.members, self.states)
        return [
            {group: line for group, line in table.items() if group != NEW_PROTOCOL}
            for table in tables
        ]

    def committed(self) -> dict[str, int]:
        """By group; GROUP TOPIC PARTITION CURRENT-OFFSET ... ."""
        return {group: int(words[3]) for group, words in self.offsets.items()}

    def counts(self) -> dict[str, tuple[str, str]]:
        """State and number of members, which stand last."""
        return {group: (words[-2], words[-1]) for group, words in self.states.items()}


def rows(tools: KafkaTools, option: str) -> dict[str, list[str]]:
    """Return the words of the line of each group; there is one partition, one member at most."""
    printed = tools.run(f"kafka-consumer-groups --describe --all-groups {option}")
    assert printed.code == 0, printed.err
    lines = [line.split() for line in printed.lines if line and not line.startswith("GROUP")]
    found = {words[0]: words for words in lines if words[0] != "Consumer"}
    assert len(found) == len([words for words in lines if words[0] != "Consumer"])
    return found


@pytest.fixture
def story(tmp_path: Path) -> Generator[Story]:
    jars()
    shape = LabShape(brokers=1, configs=FAST | CONFIGS)
    with running_lab(tmp_path / "lab", shape) as lab:
        lab.create(TOPIC, replication_factor=1, configs={"min.insync.replicas": "1"})
        told = Story(lab, tmp_path)
        with closing(told.live):
            yield told


@pytest.fixture
def tools(story: Story, tmp_path: Path) -> Generator[KafkaTools]:
    with closing(KafkaTools(VERSION, BUILD_DIR, tmp_path, story.server)) as running:
        yield running


@pytest.mark.sampled_among("log dirs that Apache Kafka reads", kept=1)
def test_kafka_finds_the_groups_of_jbodlab_with_their_members_and_jbodlab_those_of_kafka(
    story: Story, tools: KafkaTools
) -> None:
    story.write(20)
    assert story.read(story.live, 4) == [0, 1, 2, 3]
    member = story.live.memberid()
    assert story.read_as(LEFT, 5) == list(range(5))
    assert story.read_as(STATIC, 6, INSTANCE) == list(range(6))
    story.commit(SIMPLE, 7)
    story.commit_in_transactions(8)
    assert story.read_as(NEW_PROTOCOL, 9, KIP_848) == list(range(9))
    ours = Told(tools)
    offsets = {LIVE: 4, LEFT: 5, STATIC: 6, SIMPLE: 7, ATOMIC: 8, NEW_PROTOCOL: 9}
    assert ours.committed() == offsets
    assert ours.counts()[LIVE] == ours.counts()[STATIC] == ("Stable", "1")
    assert set(ours.members) == {LIVE, STATIC}

    with story.kafka():
        theirs = Told(tools)
        assert theirs.of_classic_groups() == ours.of_classic_groups()
        assert theirs.committed() == offsets
        assert story.read(story.live, 4) == [4, 5, 6, 7]
        assert story.read_as(LEFT, 1) == [5]
        assert story.read_as(STATIC, 1, INSTANCE) == [6]
        story.commit_in_transactions(18)
        story.commit("made-by-kafka", 12)
        told = Told(tools)
        assert told.committed() == {
            **offsets,
            LIVE: 8,
            LEFT: 6,
            STATIC: 7,
            ATOMIC: 18,
            "made-by-kafka": 12,
        }

    assert Told(tools).of_classic_groups() == told.of_classic_groups()
    assert story.read_as(LEFT, 1) == [6]
    assert story.read_as(STATIC, 1, INSTANCE) == [7]
    assert story.read(story.live, 4) == [8, 9, 10, 11]
    assert story.live.memberid() == member
    assert Told(tools).counts()[LIVE] == ("Stable", "1")
