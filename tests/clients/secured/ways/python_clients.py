# confluent-kafka and aiokafka have types in part only.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
"""``python -m tests.clients.secured.ways.python_clients CLIENT FILE``: Python's clients.

Each writes a record by the protocol and mechanism of the JSON file and prints its partition.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import aiokafka
import aiokafka.abc
import aiokafka.helpers
import confluent_kafka
import kafka
from kafka.net.sasl.oauth import AbstractTokenProvider

TOPIC: Final = "orders"
DEADLINE_S: Final = 60
Way = dict[str, str]


def by_confluent(way: Way) -> str:
    """Write by librdkafka."""
    settings: dict[str, Any] = {
        "bootstrap.servers": way["servers"],
        "security.protocol": way["protocol"],
    }
    names = {
        "ca": "ssl.ca.location",
        "certificate": "ssl.certificate.location",
        "key": "ssl.key.location",
        "mechanism": "sasl.mechanism",
        "user": "sasl.username",
        "password": "sasl.password",
    }
    settings |= {names[name]: text for name, text in way.items() if name in names and text}

    def given(_config: str) -> tuple[str, float]:
        return way["token"], float(way["token_ends_s"])

    if way["token"]:
        settings["oauth_cb"] = given
    told: list[Any] = []
    producer = confluent_kafka.Producer(settings)
    producer.produce(TOPIC, b"hello", on_delivery=lambda error, sent: told.append((error, sent)))
    producer.flush(DEADLINE_S)
    assert told, "no answer"
    error, sent = told[0]
    assert error is None, error
    return f"{sent.topic()}-{sent.partition()}"


def by_kafka_python(way: Way) -> str:
    """Write by kafka-python."""

    class Given(AbstractTokenProvider):
        def token(self) -> Any:
            """Return it."""
            return way["token"]

    own: dict[str, Any] = {"sasl_oauth_token_provider": Given()} if way["token"] else {}
    files = {
        f"ssl_{name}": way[key] or None
        for name, key in (("cafile", "ca"), ("certfile", "certificate"), ("keyfile", "key"))
    }
    producer: Any = kafka.KafkaProducer(**_login(way), **files, **own)
    sent = producer.send(TOPIC, b"hello").get(timeout=DEADLINE_S)
    producer.close()
    return f"{sent.topic}-{sent.partition}"


def by_aiokafka(way: Way) -> str:
    """Write by aiokafka."""

    class Given(aiokafka.abc.AbstractTokenProvider):
        async def token(self) -> Any:
            """Return it."""
            return way["token"]

    async def write() -> str:
        own: dict[str, Any] = {"sasl_oauth_token_provider": Given()} if way["token"] else {}
        if way["ca"]:
            own["ssl_context"] = aiokafka.helpers.create_ssl_context(
                cafile=way["ca"], certfile=way["certificate"] or None, keyfile=way["key"] or None
            )
        async with aiokafka.AIOKafkaProducer(**_login(way), **own) as producer:
            sent = await producer.send_and_wait(TOPIC, b"hello")
            return f"{sent.topic}-{sent.partition}"

    return asyncio.run(write())


def _login(way: Way) -> dict[str, Any]:
    """Return what kafka-python and aiokafka call the same."""
    named = {
        "bootstrap_servers": way["servers"],
        "security_protocol": way["protocol"],
        "sasl_mechanism": way["mechanism"],
        "sasl_plain_username": way["user"],
        "sasl_plain_password": way["password"],
    }
    return {name: text for name, text in named.items() if text}


CLIENTS: Final[dict[str, Callable[[Way], str]]] = {
    "confluent-kafka": by_confluent,
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
}

if __name__ == "__main__":
    asked: Way = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    sys.stdout.write(CLIENTS[sys.argv[1]](asked) + "\n")
