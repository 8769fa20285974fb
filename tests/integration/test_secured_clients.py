# aiokafka and confluent-kafka have types in part only.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Client libraries, unchanged, at listeners of SSL, SASL_PLAINTEXT and SASL_SSL.

The nodes of the cluster authenticate to each other by SCRAM, over TLS.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError as AioKafkaError
from aiokafka.helpers import create_ssl_context
from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition

from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.free_ports import free_ports
from tests.certificates import Authority
from tests.deadlines import DEADLINE_MS, DEADLINE_S

TOPIC = "secured"
HOST = "127.0.0.1"
WAYS = [
    ("SSL", ""),
    ("SASL_PLAINTEXT", "PLAIN"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-256"),
    ("SASL_SSL", "PLAIN"),
    ("SASL_SSL", "SCRAM-SHA-512"),
]
SPOILED = [
    ("SASL_SSL", "PLAIN", "password"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-512", "user"),
    ("SSL", "", "foreign"),
    ("SSL", "", "expired"),
]
"""What is wrong with the client."""


class Secured(NamedTuple):
    """A running cluster and what clients need."""

    cluster: Cluster
    ports: dict[str, int]
    folder: Path

    def kafka_python(self, protocol: str, mechanism: str, spoiled: str = "") -> dict[str, Any]:
        """Return the options of kafka-python."""
        user, password = "alice", "sesame"
        if spoiled in ("password", "user"):
            user, password = ("alice", "guess") if spoiled == "password" else ("bob", "sesame")
        own = self.folder / (spoiled if spoiled in ("foreign", "expired") else "alice")
        options: dict[str, Any] = {
            "bootstrap_servers": f"{HOST}:{self.ports[protocol]}",
            "security_protocol": protocol,
        }
        if protocol == "SSL":
            options |= {"ssl_certfile": f"{own}.crt", "ssl_keyfile": f"{own}.key"}
        if protocol.endswith("SSL"):
            options |= {"ssl_cafile": str(self.folder / "ca.crt")}
        if mechanism:
            options |= {
                "sasl_mechanism": mechanism,
                "sasl_plain_username": user,
                "sasl_plain_password": password,
            }
        return options

    def confluent(self, protocol: str, mechanism: str, spoiled: str = "") -> dict[str, Any]:
        """Return the options of librdkafka."""
        names = {
            "bootstrap_servers": "bootstrap.servers",
            "security_protocol": "security.protocol",
            "ssl_certfile": "ssl.certificate.location",
            "ssl_keyfile": "ssl.key.location",
            "ssl_cafile": "ssl.ca.location",
            "sasl_mechanism": "sasl.mechanism",
            "sasl_plain_username": "sasl.username",
            "sasl_plain_password": "sasl.password",
        }
        options = self.kafka_python(protocol, mechanism, spoiled)
        return {names[name]: value for name, value in options.items()}

    def log(self) -> str:
        """Return what the nodes have logged."""
        logs = sorted((self.folder).rglob("*.log"))
        return "".join(each.read_text(errors="replace") for each in logs)


def cluster_file(folder: Path, ports: dict[str, int], control_port: int, controller: int) -> Path:
    """Write a cluster of one broker with a listener per protocol, and certificates."""
    authority = Authority()
    (folder / "ca.crt").write_text(authority.certificate)
    own = authority.sign("broker-1")
    (folder / "broker.pem").write_text(own.key + own.certificate)
    authority.sign("alice").files(folder, "alice")
    authority.sign("alice", is_expired=True).files(folder, "expired")
    Authority("other").sign("alice").files(folder, "foreign")
    document = {
        "cluster_id": "secured-lab",
        "controller": {"port": controller, "data_dir": "data/controller"},
        "metrics": {"dump_dir": "data/metrics"},
        "configs": {
            "inter.broker.listener.name": "NODES",
            "listener.security.protocol.map": (
                "NODES:SASL_SSL,TOOLS:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
            ),
            "ssl.keystore.location": "broker.pem",
            "ssl.truststore.location": "ca.crt",
            "ssl.client.auth": "requested",
            "jbodlab.sasl.users": "broker:secret,alice:sesame",
            "default.replication.factor": 1,
            "offsets.topic.replication.factor": 1,
        },
        "topics": [{"name": TOPIC}],
        "brokers": [
            {
                "id": 1,
                "port": ports["TOOLS"],
                "control_port": control_port,
                "log_dirs": [{"path": "data/d1"}, {"path": "data/d2"}],
                "configs": {
                    "listeners": ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
                },
            }
        ],
    }
    file = folder / "cluster.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Generator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    *own, control_port, controller = free_ports(7)
    ports: dict[str, int] = dict(
        zip(("NODES", "TOOLS", "SSL", "SASL_PLAINTEXT", "SASL_SSL"), own, strict=True)
    )
    file = cluster_file(folder, ports, control_port, controller)
    with running(Cluster(file)) as cluster:
        yield Secured(cluster, ports, folder)


@pytest.mark.sampled("way", kept=2)
@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_what_one_client_writes_by_a_protocol_the_others_read(
    secured: Secured, way: tuple[str, str]
) -> None:
    options = secured.kafka_python(*way)
    producer: Any = KafkaProducer(**options)
    sent = producer.send(TOPIC, b"-".join(each.encode() for each in way))
    offset = sent.get(timeout=DEADLINE_S).offset
    producer.close()
    consumer: Any = KafkaConsumer(**options, consumer_timeout_ms=DEADLINE_MS)
    consumer.assign([TopicPartition(TOPIC, 0)])
    consumer.seek(TopicPartition(TOPIC, 0), offset)
    value = next(consumer).value
    consumer.close()
    assert value == b"-".join(each.encode() for each in way)
    assert read_by_librdkafka(secured, way, offset) == value
    assert asyncio.run(write_and_read_by_aiokafka(secured, way)) == b"aio"


def read_by_librdkafka(secured: Secured, way: tuple[str, str], offset: int) -> bytes:
    consumer = Consumer(secured.confluent(*way) | {"group.id": "none"})
    try:
        consumer.assign([ConfluentPartition(TOPIC, 0, offset)])
        message = consumer.poll(DEADLINE_S)
        assert message is not None
        assert message.error() is None
        return message.value() or b""
    finally:
        consumer.close()


async def write_and_read_by_aiokafka(secured: Secured, way: tuple[str, str]) -> bytes:
    options = aiokafka_options(secured.kafka_python(*way))
    async with asyncio.timeout(DEADLINE_S):
        async with AIOKafkaProducer(**options) as producer:
            offset = (await producer.send_and_wait(TOPIC, b"aio", partition=0)).offset
        async with AIOKafkaConsumer(**options) as consumer:
            partition: Any = TopicPartition(TOPIC, 0)
            consumer.assign([partition])
            consumer.seek(partition, offset)
            return (await consumer.getone()).value or b""


def aiokafka_options(options: dict[str, Any]) -> dict[str, Any]:
    given = dict(options)
    files = {name: given.pop(f"ssl_{name}", None) for name in ("cafile", "certfile", "keyfile")}
    if files["cafile"]:
        given["ssl_context"] = create_ssl_context(**files)
    return given


@pytest.mark.sampled("spoiled", kept=2)
@pytest.mark.parametrize("spoiled", SPOILED, ids="-".join)
def test_who_does_not_belong_is_refused_in_bounded_time_without_a_traceback(
    secured: Secured, spoiled: tuple[str, str, str]
) -> None:
    told: list[str] = []
    options: Any = secured.confluent(*spoiled) | {"error_cb": lambda error: told.append(str(error))}
    admin = AdminClient(options)
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=5)
    admin.poll(1)
    if spoiled[1]:
        assert any("uthentication" in each for each in told), told
    with pytest.raises(AioKafkaError):
        asyncio.run(start_aiokafka(secured, spoiled))
    log = secured.log()
    assert "Traceback" not in log
    assert "sesame" not in log


async def start_aiokafka(secured: Secured, spoiled: tuple[str, str, str]) -> None:
    producer = AIOKafkaProducer(**aiokafka_options(secured.kafka_python(*spoiled)))
    try:
        async with asyncio.timeout(DEADLINE_S):
            await producer.start()
    finally:
        await producer.stop()
