"""Offsets of groups go from jbodlab to Apache Kafka 3.9.2 and back, in the same bytes.

Needs Java and Maven (for Kafka's jars); skipped without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata, TopicPartition

from benchmarks.peer.kafka import VERSION
from broker.core.coordination import partition_for
from jbodlab.processes.cluster import CONTROLLER
from jbodlab.processes.lab_spec import LabShape
from protocol.faults.model import broker_node
from protocol.messages.group_records import OffsetCommitValue
from protocol.records.records import Record, iterate_all_records
from protocol.stored_records import decode_versioned
from protocol.topic_names import CONSUMER_OFFSETS
from tests.integration.apache_kafka import BUILD_DIR, apache_kafka, jars, known_topic
from tests.integration.labs import FAST, running_lab
from tests.kafka_tools.tools import KafkaTools

GROUP = "readers"
ORDERS = TopicPartition("orders", 0)
OFFSETS_CONFIGS = {"cleanup.policy": "compact", "segment.bytes": "104857600"}


def consumer(server: str) -> Any:
    made: Any = KafkaConsumer(bootstrap_servers=server, group_id=GROUP, enable_auto_commit=False)
    made.assign([ORDERS])
    return made


def commit(server: str, offset: int) -> None:
    with closing(consumer(server)) as client:
        client.commit({ORDERS: OffsetAndMetadata(offset, "so far", 0)})


def committed(server: str) -> int:
    with closing(consumer(server)) as client:
        return client.committed(ORDERS)


def stored(log_dirs: Sequence[str]) -> list[Record]:
    """Return what the group's partition has."""
    name = f"{CONSUMER_OFFSETS}-{partition_for(GROUP, 50)}"
    (log,) = [path for root in log_dirs for path in Path(root).glob(f"{name}/*.log")]
    return list(iterate_all_records(log.read_bytes()))


@pytest.mark.sampled_among("log dirs that Apache Kafka reads", kept=1)
def test_kafka_goes_on_with_offsets_that_jbodlab_kept_and_writes_the_same_bytes(
    tmp_path: Path,
) -> None:
    jars()
    with running_lab(tmp_path / "lab", LabShape(brokers=1, configs=FAST)) as lab:
        (broker,) = lab.cluster.spec.brokers
        log_dirs = [one.path for one in broker.log_dirs]
        server = f"127.0.0.1:{broker.port}"
        lab.create("orders", replication_factor=1, configs={"min.insync.replicas": "1"})
        commit(server, 5)
        topics = [
            known_topic(lab, "orders", {}),
            known_topic(lab, CONSUMER_OFFSETS, OFFSETS_CONFIGS),
        ]
        lab.cluster.stop([broker_node(broker.id)])
        lab.cluster.stop([CONTROLLER])
        (ours,) = stored(log_dirs)

        with apache_kafka(
            tmp_path / "kafka",
            broker_id=broker.id,
            cluster_id=lab.cluster.spec.cluster_id,
            log_dirs=log_dirs,
            topics=topics,
        ) as kafka:
            assert committed(f"127.0.0.1:{kafka.port}") == 5
            commit(f"127.0.0.1:{kafka.port}", 5)
            kafka.stop()
        assert_the_same_bytes(ours, stored(log_dirs)[-1])
        assert_kafkas_tool_reads_it(log_dirs, tmp_path)

        lab.cluster.start_controller()
        lab.cluster.start_broker(broker.id)
        lab.wait_for_full_isr(CONSUMER_OFFSETS)
        assert committed(server) == 5
        commit(server, 6)
        assert committed(server) == 6


def assert_the_same_bytes(ours: Record, theirs: Record) -> None:
    """All but the time of the commit."""
    assert ours.key == theirs.key
    times: list[bytes] = []
    for record in (ours, theirs):
        value, version = decode_versioned(OffsetCommitValue, record.value or b"")
        assert version == 3
        assert value.commit_timestamp <= record.timestamp_ms < value.commit_timestamp + 60_000
        times.append(value.commit_timestamp.to_bytes(8, "big"))
    assert (ours.value or b"").replace(times[0], times[1]) == theirs.value


def assert_kafkas_tool_reads_it(log_dirs: Sequence[str], root: Path) -> None:
    name = f"{CONSUMER_OFFSETS}-{partition_for(GROUP, 50)}"
    (log,) = [path for each in log_dirs for path in Path(each).glob(f"{name}/*.log")]
    with closing(KafkaTools(VERSION, BUILD_DIR, root, "")) as tools:
        dumped = tools.run("kafka-dump-log --offsets-decoder --files", str(log))
    assert dumped.code == 0
    key = '"group":"readers","topic":"orders","partition":0'
    assert (dumped.out.count(key), dumped.out.count('"metadata":"so far"')) == (2, 2), dumped.out
