"""``kafka-configs`` for users, clients and addresses: quotas are set, described and taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka_tools.both import Both
from tests.kafka_tools.tools import KafkaTools, Printed

RATE = "producer_byte_rate=1000"


@pytest.mark.parametrize(
    ("entity", "config", "described"),
    [
        (
            "--entity-type users --entity-name alice",
            "producer_byte_rate=1000,request_percentage=12.5",
            "user-principal 'alice' are producer_byte_rate=1000.0, request_percentage=12.5",
        ),
        (
            "--entity-type users --entity-name bob --entity-type clients --entity-name app",
            RATE,
            "user-principal 'bob', client-id 'app' are producer_byte_rate=1000.0",
        ),
        (
            "--entity-type clients --entity-default",
            RATE,
            "the default client-id are producer_byte_rate=1000.0",
        ),
        (
            "--entity-type ips --entity-name 192.0.2.1",
            "connection_creation_rate=10",
            "ip '192.0.2.1' are connection_creation_rate=10.0",
        ),
    ],
)
def test_quotas_come_and_go(tools: KafkaTools, entity: str, config: str, described: str):
    added = tools.run(f"kafka-configs --alter {entity} --add-config {config}")
    assert (added.code, added.err) == (0, "")
    told = tools.run(f"kafka-configs --describe {entity}")
    whose, _, limits = told.out.strip().removeprefix("Quota configs for ").partition(" are ")
    assert f"{whose} are {', '.join(sorted(limits.split(', ')))}" == described
    names = ",".join(each.partition("=")[0] for each in config.split(","))
    taken = tools.run(f"kafka-configs --alter {entity} --delete-config {names}")
    assert (taken.code, taken.err) == (0, "")
    assert tools.run(f"kafka-configs --describe {entity}") == Printed(0, "")


def test_our_command_sets_and_describes_them_as_kafkas(tools: KafkaTools, tmp_path: Path):
    both = Both(tools, lambda _broker: [], tmp_path)
    entities = (
        "--entity-type users --entity-name ours --entity-type clients --entity-default",
        "--entity-type clients --entity-name ours",
        "--entity-type users --entity-name ours",
        "--entity-type ips --entity-name 192.0.2.2",
    )
    for entity in entities:
        key = "connection_creation_rate" if "ips" in entity else "consumer_byte_rate"
        change = f"kafka-configs --alter {entity} --add-config {key}=20000000"
        assert both.ours(change) == tools.run(change)
        assert f"{key}=2.0E7" in both.same(f"kafka-configs --describe {entity}").out
        assert both.ours(f"kafka-configs --alter {entity} --delete-config {key}").code == 0
        assert tools.run(f"kafka-configs --describe {entity}") == Printed(0, "")
    users = "--entity-type users --entity-name ours"
    stored = both.ours(
        f"kafka-configs --alter {users} --add-config", "SCRAM-SHA-512=[iterations=8192,password=x]"
    )
    assert stored.code == 0
    told = "SCRAM credential configs for user-principal 'ours' are SCRAM-SHA-512=iterations=8192\n"
    assert both.same(f"kafka-configs --describe {users}").out == told
    taken = f"kafka-configs --alter {users} --delete-config SCRAM-SHA-512"
    assert both.ours(taken) == Printed(0, "Completed updating config for user ours.\n")


def test_a_limit_that_cannot_be_is_refused_in_kafkas_words(tools: KafkaTools):
    alice = "--entity-type users --entity-name alice"
    printed = tools.run(f"kafka-configs --alter {alice} --add-config producer_byte_rate=0")
    assert printed.code == 1
    assert "Quota producer_byte_rate must be greater than 0" in printed.out + printed.err
