"""Groups of the consumer protocol (KIP-848): Kafka's own consumer in them, its tools about them."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from broker.core.coordination import partition_for
from protocol.configs.coordination import CoordinationConfig
from protocol.topic_names import CONSUMER_OFFSETS
from tests.deadlines import DEADLINE_MS
from tests.integration.labs import Lab
from tests.kafka_tools.test_consumer_groups import produced
from tests.kafka_tools.tools import KafkaTools

RECORDS: Final = {
    "1": "offset",
    "3": "group",
    "5": "member",
    "6": "targets",
    "7": "target",
    "8": "current",
}
"""What each type of record, as its key has it, is about."""


@pytest.fixture
def created(lab: Lab, topic: str, tools: KafkaTools) -> str:
    lab.create(topic, 2)
    return topic


@pytest.fixture
def member(lab: Lab, created: str) -> Generator[Any]:
    """A member of the group ``of-TOPIC`` that has both partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(lab.servers),
            "group.id": f"of-{created}",
            "group.protocol": "consumer",
            "client.id": "reader",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([created])

    def has_both(_: object) -> bool:
        consumer.poll(0.1)
        return len(consumer.assignment()) == 2

    lab.cluster.wait_until(has_both, "the member has both partitions", DEADLINE_MS)
    yield consumer
    consumer.close()


def consumed(tools: KafkaTools, topic: str, count: int, what: str) -> list[str]:
    printed = tools.run(
        f"kafka-console-consumer {what} --group of-{topic} --max-messages {count}"
        " --consumer-property group.protocol=consumer"
        " --consumer-property auto.offset.reset=earliest"
    )
    assert printed.code == 0, printed
    assert printed.err.endswith(f"Processed a total of {count} messages\n")
    return sorted(line for line in printed.lines if "is deprecated" not in line)


def test_kafkas_consumer_goes_on_where_its_group_was(tools: KafkaTools, created: str) -> None:
    produced(tools, created, "one", "two")
    assert consumed(tools, created, 2, f"--topic {created}") == ["one", "two"]
    produced(tools, created, "three")
    assert consumed(tools, created, 1, f"--topic {created}") == ["three"]
    listed = tools.run("kafka-consumer-groups --list --type consumer --state")
    lines = [line.split() for line in listed.lines if f"of-{created}" in line]
    assert lines == [[f"of-{created}", "Consumer", "Empty"]]
    deleted = tools.run(f"kafka-consumer-groups --delete --group of-{created}")
    assert "was successful" in deleted.out


def test_kafkas_consumer_finds_topics_by_a_regular_expression(
    tools: KafkaTools, created: str
) -> None:
    produced(tools, created, "one")
    assert consumed(tools, created, 1, f"--include {created[:-1]}.") == ["one"]


def test_what_is_stored_of_a_group_is_decoded_by_kafka_dump_log(
    lab: Lab, tools: KafkaTools, created: str, member: Any
) -> None:
    group = f"of-{created}"
    member.commit(offsets=[TopicPartition(created, 1, 3)], asynchronous=False)
    segment = segment_of(lab, group)
    printed = tools.run("kafka-dump-log --offsets-decoder --files", str(segment))
    assert (printed.code, printed.err) == (0, "")
    assert all(line.endswith(" isvalid: true") for line in printed.lines if " crc: " in line)
    stored: dict[str, Any] = {}
    for line in printed.lines:
        found = re.search(r" key: (\{.*\}) payload: (\{.*\})$", line)
        key: dict[str, Any] = json.loads(found[1]) if found else {}
        if found and group in (key["data"].get("groupId"), key["data"].get("group")):
            stored[RECORDS[key["type"]]] = json.loads(found[2])["data"]
    assert stored.keys() == {*RECORDS.values()}
    about = stored["member"]
    assert (about["clientId"], about["subscribedTopicNames"]) == ("reader", [created])
    (assigned,) = stored["current"]["assignedPartitions"]
    assert (stored["current"]["memberEpoch"], assigned["partitions"]) == (2, [0, 1])
    assert stored["target"]["topicPartitions"][0]["partitions"] == [0, 1]
    epochs = stored["group"]["epoch"], stored["targets"]["assignmentEpoch"]
    assert epochs == (2, 2)
    assert (stored["offset"]["offset"], stored["offset"]["metadata"]) == (3, "")


def segment_of(lab: Lab, group: str) -> Path:
    """Return the first segment of the group's coordinator, at the leader."""
    index = partition_for(group, CoordinationConfig().offsets_topic_num_partitions)
    leader = lab.partition(CONSUMER_OFFSETS, index).leader
    log_dir = Path(lab.log_dir_of(leader, CONSUMER_OFFSETS, index).path)
    return log_dir / f"{CONSUMER_OFFSETS}-{index}" / f"{0:020}.log"


@pytest.mark.usefixtures("member")
def test_kafkas_tools_tell_of_a_group_and_its_members(tools: KafkaTools, created: str) -> None:
    group = f"of-{created}"
    state = tools.run(f"kafka-consumer-groups --describe --group {group} --state --verbose")
    (row,) = [line.split() for line in state.lines if line.startswith(group)]
    epochs = [] if tools.release.startswith("3.") else ["2"]  # 3.9 shows none.
    assert row[3:] == ["uniform", "Stable", *epochs * 2, "1"]
    told = tools.run(f"kafka-consumer-groups --describe --group {group} --members --verbose")
    (row,) = [line.split() for line in told.lines if line.startswith(group)]
    assert row[3:5] == ["reader", "2"]
    assert row[5:6] == (epochs or ["(0,1)"])
    offsets = tools.run(f"kafka-consumer-groups --describe --group {group}")
    partitions = [line.split()[2] for line in offsets.lines if line.startswith(group)]
    assert sorted(partitions) == ["0", "1"]
