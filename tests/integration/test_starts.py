"""A cluster whose brokers have several log dirs each starts, stops and starts again."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.errors import LabError
from jbodlab.processes.cluster import CONTROLLER, Cluster, running
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec
from protocol.faults.model import broker_node
from tests.integration.labs import FAST, Lab

pytestmark = pytest.mark.sampled_among("clusters that start", kept=1)

BROKERS = (1, 2, 3)
CLEAN = ".kafka_cleanshutdown"


def read_properties(path: Path) -> dict[str, str]:
    lines = (path / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


@pytest.mark.scenario(234)
def test_every_log_dir_is_formatted_once_and_closed_cleanly(tmp_path: Path) -> None:
    cluster = Cluster(write_lab_spec(tmp_path, LabShape(configs=FAST)))
    folders = [Path(one.path) for broker in cluster.spec.brokers for one in broker.log_dirs]
    assert len(folders) > len(BROKERS)
    with running(cluster), ClusterAdmin(cluster.spec) as admin:
        lab = Lab(cluster, admin)
        lab.create("kept", 6)
        load = lab.load("kept", 6)
        lab.wait_for_records(load, 100)
        report = load.stop()
        formatted = [read_properties(folder) for folder in folders]
        assert [one["broker.id"] for one in formatted] == [
            str(broker.id) for broker in cluster.spec.brokers for _ in broker.log_dirs
        ]
        assert len({one["cluster.id"] for one in formatted}) == 1
        assert len({one["directory.id"] for one in formatted}) == len(folders)
        assert not any((folder / CLEAN).exists() for folder in folders)

        cluster.stop([broker_node(broker) for broker in BROKERS])
        assert all((folder / CLEAN).exists() for folder in folders)
        for broker in BROKERS:
            cluster.start_broker(broker)

        lab.wait_for_full_isr("kept")
        assert [read_properties(folder) for folder in folders] == formatted
        assert not any((folder / CLEAN).exists() for folder in folders)
        assert all(not lab.offline_dirs(broker) for broker in BROKERS)
        lab.assert_nothing_lost("kept", report.acknowledged, 6)


def test_librdkafka_loses_no_record_to_a_broker_that_starts_before_its_controller(
    tmp_path: Path,
) -> None:
    """It gives up for good what it sends to a topic that it is told not to exist."""
    topic = TopicSpec(name="orders", partitions=3, replication_factor=1, configs={})
    shape = LabShape(brokers=1, log_dirs=1, configs=FAST, topics=(topic,))
    cluster = Cluster(write_lab_spec(tmp_path, shape))
    (broker,) = cluster.spec.brokers
    control = ControlClient(broker.id, broker.control_port)
    failed: list[str] = []
    delivered: list[int] = []

    def note(error: KafkaError | None, message: Any) -> None:
        if error is None:
            delivered.append(message.offset())
        else:
            failed.append(error.name())

    def produce_until(is_so: Any) -> None:
        for number in count():
            producer.produce("orders", b"%d" % number, partition=number % 3, on_delivery=note)
            producer.poll(0.01)
            if is_so():
                return
            assert number < 10_000, "the condition never held"

    with running(cluster):
        cluster.wait_until(
            lambda admin: len(admin.view(broker.id).partitions) == 3, "the topic is there"
        )
        settings: dict[str, Any] = {
            "bootstrap.servers": cluster.bootstrap_servers[0],
            "acks": "all",
            "topic.metadata.refresh.interval.ms": 200,
        }
        producer = Producer(settings)
        produce_until(lambda: len(delivered) > 20)
        cluster.kill(CONTROLLER)
        cluster.kill(broker_node(broker.id))
        cluster.launch(broker_node(broker.id))
        cluster.wait_until(lambda _: control_waits(control, 0), "it listens and is told nothing")
        produce_until(lambda: control_waits(control, 1))
        before = len(delivered)

        cluster.start_controller()

        produce_until(lambda: len(delivered) > before + 20)
        assert producer.flush(30) == 0
    assert failed == []


def control_waits(control: ControlClient, requests: int) -> bool:
    """Tell whether so many requests of clients, or more, wait for the controller."""
    try:
        status = control.status()
    except LabError:
        return False  # not up yet
    waits = status["state"] == "running" and not status["is_open_to_clients"]
    return waits and status["waiting_client_requests"] >= requests
