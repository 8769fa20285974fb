"""Replication as clients and operators see it: racks, throttles, elections."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from confluent_kafka.admin import (  # its own examples import these names from here
    AdminClient,
    AlterConfigOpType,  # pyright: ignore[reportPrivateImportUsage]
    ConfigEntry,  # pyright: ignore[reportPrivateImportUsage]
    ConfigResource,  # pyright: ignore[reportPrivateImportUsage]
    ResourceType,  # pyright: ignore[reportPrivateImportUsage]
)
from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from jbodlab.processes.lab_spec import LabShape
from protocol.faults.model import broker_node
from tests.integration.labs import (
    DEADLINE_MS,
    FAST,
    Lab,
    kafka_admin,
    produce_with_confluent,
    running_lab,
)

pytestmark = pytest.mark.sampled_among("followers and readers", kept=2)

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
RATE = 1_000_000
VALUES = [b"%04d" % number + b"x" * 996 for number in range(4_000)]


def bytes_fetched(lab: Lab, broker: int) -> int:
    """Return the bytes of all answers to Fetch of one broker, as it counts them."""
    port = lab.cluster.spec.broker(broker).control_port
    with urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    found = [line for line in lines if "responsebytes_total{" in line and '"Fetch"' in line]
    return sum(int(float(line.split()[-1])) for line in found)


def read_in_rack(lab: Lab, topic: str, count: int, rack: str) -> list[bytes]:
    settings: dict[str, Any] = {
        "bootstrap_servers": lab.servers,
        "client_rack": rack,
        "auto_offset_reset": "earliest",
        "consumer_timeout_ms": DEADLINE_MS,
        "metadata_max_age_ms": 1_000,
    }
    consumer: Any = KafkaConsumer(**settings)
    try:
        consumer.assign([TopicPartition(topic, 0)])
        return [next(consumer).value for _ in range(count)]
    finally:
        consumer.close()


@pytest.fixture
def rack_lab(tmp_path: Path) -> Any:
    shape = LabShape(configs={**FAST, "replica.selector.class": SELECTOR})
    with running_lab(tmp_path, shape) as lab:
        yield lab


def test_a_consumer_reads_from_the_replica_in_its_rack(rack_lab: Lab) -> None:
    rack_lab.create("t", assignment={0: [1, 2, 3]})
    produce_with_confluent(rack_lab, "t", VALUES)
    before = bytes_fetched(rack_lab, 3)
    assert read_in_rack(rack_lab, "t", len(VALUES), "rack-3") == VALUES
    assert bytes_fetched(rack_lab, 3) - before > sum(map(len, VALUES)) // 2


def test_a_consumer_goes_back_to_the_leader_when_its_rack_is_gone(rack_lab: Lab) -> None:
    rack_lab.create("t", assignment={0: [1, 2, 3]})
    produce_with_confluent(rack_lab, "t", VALUES)
    rack_lab.cluster.stop([broker_node(3)])
    assert read_in_rack(rack_lab, "t", len(VALUES), "rack-3") == VALUES


def alter(lab: Lab, kind: Any, name: str, values: Mapping[str, str]) -> None:
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        for key, value in values.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    admin: Any = AdminClient({"bootstrap.servers": ",".join(lab.servers)})
    admin.incremental_alter_configs([resource])[resource].result(DEADLINE_MS / 1000)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_replica_catches_up_at_the_rate_of_its_throttle(lab: Lab, side: str) -> None:
    lab.create("t", assignment={0: [1, 2, 3]})
    key = f"{side}.replication.throttled"
    for broker in ("1", "3"):
        alter(lab, ResourceType.BROKER, broker, {f"{key}.rate": str(RATE)})
    lab.cluster.stop([broker_node(3)])
    lab.cluster.wait_until(
        lambda admin: 3 not in admin.view(1, ["t"]).partition("t", 0).isr, "3 is out of the Isr"
    )
    produce_with_confluent(lab, "t", VALUES)
    alter(lab, ResourceType.TOPIC, "t", {f"{key}.replicas": "*"})
    began = time.monotonic()
    lab.cluster.start_broker(3)
    lab.wait_for_full_isr("t")
    seconds = time.monotonic() - began
    # One burst comes at once. That it is no slower than this: test_follower.py of the engine.
    assert seconds > 3.0, "4 MB at 1 MB/s"


def test_leaders_go_back_to_where_they_are_preferred_without_an_error(lab: Lab) -> None:
    lab.create("t", 3, assignment={0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]})
    load = lab.load("t", 3)
    lab.wait_for_records(load, 100)
    lab.cluster.restart_broker(2)
    lab.wait_for_full_isr("t")
    assert lab.partition("t", 1).leader != 2
    lab.wait_for_records(load, 100)
    with kafka_admin(lab) as client:
        client.elect_leaders(0, {"t": [1]})
    lab.cluster.wait_until(
        lambda admin: admin.any_view(["t"]).partition("t", 1).leader == 2, "2 leads t-1 again"
    )
    lab.wait_for_records(load, 100)
    report = load.stop()
    assert report.failed == ()
    lab.assert_nothing_lost("t", report.acknowledged, 3)
