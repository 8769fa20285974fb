"""Apache Kafka's own tool moves replicas to and from a broker of jbodlab under a throttle.

A rate of one byte a second lets the first fetch through and no more; whoever does not obey it has
the whole replica while another topic, moved afterwards without a throttle, arrives.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Any

import pytest

from protocol.zookeeper.znodes import ConfigZnode, decode
from tests.kafka_tools.tools import KafkaTools
from tests.mixed.election import Elections, elections
from tests.mixed.jbodlab_broker import BROKER_ID, joined
from tests.mixed.mixed_lab import MixedLab

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]
RECORD = b"." * 100_000
RECORDS = 40
"""Four times what one fetch brings."""
RATES = {"leader.replication.throttled.rate", "follower.replication.throttled.rate"}


@pytest.fixture(scope="module")
def both(lab: MixedLab) -> Generator[MixedLab]:
    with joined(lab) as (both, _):
        yield both


@pytest.fixture
def looking(lab: MixedLab) -> Generator[Elections]:
    with elections(lab.nodes) as found:
        yield found


def test_the_tool_throttles_a_move_to_jbodlab_raises_the_rate_and_takes_it_off(
    both: MixedLab, looking: Elections, tools: KafkaTools
) -> None:
    both.create("slowly", (1, 2))
    both.fill("slowly", RECORD, RECORDS)
    move = f"kafka-reassign-partitions {plan(both, 'slowly', (1, BROKER_ID))}"
    run(tools, f"{move} --execute --throttle 1")
    assert configs(looking, f"brokers/{BROKER_ID}") == dict.fromkeys(RATES, "1")
    assert BROKER_ID not in both.partition("slowly").isr

    run(tools, f"{move} --execute --additional --throttle 100000000")
    assert configs(looking, f"brokers/{BROKER_ID}") == dict.fromkeys(RATES, "100000000")
    both.wait_until(lambda: both.partition("slowly").isr == (1, BROKER_ID), "the replica is there")
    run(tools, f"{move} --verify")
    assert configs(looking, f"brokers/{BROKER_ID}") == {}


@pytest.mark.parametrize(("role", "source", "target"), [("leader", 4, 3), ("follower", 1, 4)])
def test_a_broker_of_jbodlab_alone_keeps_to_a_rate_until_it_is_taken_off(
    both: MixedLab, tools: KafkaTools, role: str, source: int, target: int
) -> None:
    slow, quick = f"{role}-slow", f"{role}-quick"
    both.create(slow, (source,))
    both.fill(slow, RECORD, RECORDS)
    of_topic = f"kafka-configs --alter --entity-type topics --entity-name {slow}"
    of_broker = f"kafka-configs --alter --entity-type brokers --entity-name {BROKER_ID}"
    run(tools, f"{of_broker} --add-config {role}.replication.throttled.rate=1")
    run(tools, f"{of_topic} --add-config {role}.replication.throttled.replicas=*")
    move = plan(both, slow, (source, target))
    run(tools, f"kafka-reassign-partitions {move} --execute")
    both.create(quick, (source,))
    both.fill(quick, RECORD, RECORDS)
    both.reassign(quick, (source, target))

    assert target not in both.partition(slow).isr
    run(tools, f"{of_broker} --delete-config {role}.replication.throttled.rate")
    both.wait_until(
        lambda: both.partition(slow).isr == (source, target), "the throttled replica is there"
    )


def run(tools: KafkaTools, command: str) -> None:
    printed = tools.run(command)
    assert (printed.code, printed.err) == (0, ""), printed


def plan(lab: MixedLab, topic: str, replicas: Sequence[int]) -> str:
    """Write a plan for the tool; return the options that have it executed."""
    moves = [{"topic": topic, "partition": 0, "replicas": list(replicas)}]
    content: dict[str, Any] = {"version": 1, "partitions": moves}
    file = lab.nodes.folder / f"{topic}.json"
    file.write_text(json.dumps(content))
    return f"--reassignment-json-file {file}"


def configs(looking: Elections, entity: str) -> dict[str, str]:
    data, _ = looking.zookeeper.get(f"/config/{entity}")
    return dict(decode(data, ConfigZnode, entity).config)
