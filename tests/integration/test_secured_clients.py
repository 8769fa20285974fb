# aiokafka and confluent-kafka have types in part only.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
"""Client libraries, unchanged, at listeners of SSL, SASL_PLAINTEXT and SASL_SSL.

The nodes of the cluster authenticate to each other by SCRAM, over TLS.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AsyncTokenProvider
from aiokafka.errors import KafkaError as AioKafkaError
from aiokafka.helpers import create_ssl_context
from confluent_kafka import Consumer, KafkaException
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.structs import TopicPartition

from benchmarks.secured_lab import HOST, write_secured_lab
from jbodlab.errors import ExitCode
from jbodlab.processes.cluster import Cluster, running
from protocol.security.oauth import unsecured_token
from tests.deadlines import DEADLINE_MS, DEADLINE_S
from tests.jbodlab.command_line import jbodlab, main_with_input

TOPIC = "secured"
WAYS = [
    ("SSL", ""),
    ("SASL_PLAINTEXT", "PLAIN"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-256"),
    ("SASL_PLAINTEXT", "OAUTHBEARER"),
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


class Token(AbstractTokenProvider):
    """Alice's, that nobody signed."""

    def token(self) -> Any:
        """Return it."""
        now_s = time.time_ns() // 1_000_000_000
        return unsecured_token({"sub": "alice", "iat": now_s, "exp": now_s + 60})


class AsyncToken(AsyncTokenProvider):
    """The same for aiokafka."""

    async def token(self) -> Any:
        """Return it."""
        return Token().token()


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
        if mechanism == "OAUTHBEARER":
            options |= {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": Token()}
        elif mechanism:
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
        if options.pop("sasl_oauth_token_provider", None):
            own = {
                "sasl.oauthbearer.config": "principal=alice",
                "enable.sasl.oauthbearer.unsecure.jwt": "true",
            }
            return {names[name]: value for name, value in options.items()} | own
        return {names[name]: value for name, value in options.items()}

    def log(self) -> str:
        """Return what the nodes have logged."""
        logs = sorted((self.folder).rglob("*.log"))
        return "".join(each.read_text(errors="replace") for each in logs)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Generator[Secured]:
    lab = write_secured_lab(tmp_path_factory.mktemp("secured"), topics=[TOPIC])
    with running(Cluster(lab.file)) as cluster:
        yield Secured(cluster, dict(lab.ports), lab.folder)


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
    if "sasl_oauth_token_provider" in given:
        given["sasl_oauth_token_provider"] = AsyncToken()
    files = {name: given.pop(f"ssl_{name}", None) for name in ("cafile", "certfile", "keyfile")}
    if files["cafile"]:
        given["ssl_context"] = create_ssl_context(**files)
    return given


def test_our_own_tools_take_a_file_with_security(secured: Secured) -> None:
    file = secured.folder / "alice.properties"
    lines = (
        "security.protocol=SASL_SSL",
        f"ssl.truststore.location={secured.folder / 'ca.crt'}",
        "sasl.mechanism=SCRAM-SHA-256",
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="alice" password="%s";',
    )
    where = ("--bootstrap-server", f"{HOST}:{secured.ports['SASL_SSL']}", "--command-config")
    asked = {"topics": ["topics", "list"], "kafka-topics": ["kafka-topics", "--list"]}
    oauth = (
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\nsasl.jaas.config="
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="%s";'
    )
    for user, is_let_in in (("alice", True), (" ", False)):
        file.write_text(oauth % user)
        plain = ("--bootstrap-server", f"{HOST}:{secured.ports['SASL_PLAINTEXT']}")
        result = jbodlab("topics", "list", *plain, "--command-config", str(file))
        assert (result.exit_code == 0, "invalid_token" in result.stderr) == (
            is_let_in,
            not is_let_in,
        )
    for password, is_let_in in (("sesame", True), ("guess", False)):
        file.write_text("\n".join(lines) % password)
        for name, words in asked.items():
            result = jbodlab(*words, *where, str(file))
            assert (result.exit_code == 0, TOPIC in result.stdout) == (is_let_in, is_let_in), name
            assert is_let_in or "Authentication failed" in result.stdout + result.stderr
            assert password not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("mechanism", "jaas"),
    [
        ("PLAIN", 'x.PlainLoginModule required username="alice" password="sesame";'),
        ("SCRAM-SHA-512", 'x.ScramLoginModule required username="alice" password="sesame";'),
        ("OAUTHBEARER", 'x.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";'),
    ],
)
def test_our_commands_move_records_by_each_mechanism(
    secured: Secured, mechanism: str, jaas: str
) -> None:
    file = secured.folder / f"{mechanism}.properties"
    file.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={jaas}\n"
    )
    server = f"{HOST}:{secured.ports['SASL_PLAINTEXT']}"
    where = ("--bootstrap-server", server, "--command-config", str(file))
    made = jbodlab("topics", "create", mechanism, *where)
    assert made.exit_code == 0, made.stderr
    sent = main_with_input("one\ntwo\n", "produce", mechanism, *where)
    assert sent.exit_code == 0, sent.stderr
    read = jbodlab("consume", mechanism, "--from-beginning", "--count", "2", *where)
    assert sorted(read.stdout.split()) == ["one", "two"], read.stderr
    for command in (
        ("load", mechanism, "--seconds", "0.1", "--rate", "20"),
        ("topics", "fill", mechanism, "--mib", "1"),
        ("log-dirs", "describe"),
        ("status",),
        ("kafka-log-dirs", "--describe"),
        ("conform", "--only", "frames/length*"),
        ("topics", "delete", mechanism),
    ):
        done = jbodlab(*command, *where)
        assert done.exit_code in (0, ExitCode.VIOLATION), (command, done.stderr)


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
