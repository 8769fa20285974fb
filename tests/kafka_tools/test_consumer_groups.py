"""kafka-console-consumer with a group, and kafka-consumer-groups about it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.core.coordination import partition_for
from protocol.configs.coordination import CoordinationConfig
from protocol.topic_names import CONSUMER_OFFSETS
from tests.integration.labs import Lab
from tests.kafka_tools.tools import KafkaTools


@pytest.fixture
def created(lab: Lab, topic: str) -> str:
    lab.create(topic, 2)
    return topic


def produced(tools: KafkaTools, topic: str, *lines: str, options: str = "") -> None:
    text = "".join(f"{line}\n" for line in lines)
    printed = tools.run(f"kafka-console-producer --topic {topic} {options}", stdin=text)
    assert (printed.code, printed.err) == (0, "")


def keyed(tools: KafkaTools) -> str:
    """Return the console producer's options for lines of keys, of which "a" is in partition 0."""
    option = "--property" if tools.release.startswith("3.") else "--reader-property"
    return f"{option} parse.key=true {option} key.separator=:"


def consumed(tools: KafkaTools, topic: str, group: str, count: int) -> list[str]:
    """Consume as a member of a group, from where it was; return the records."""
    printed = tools.run(
        f"kafka-console-consumer --topic {topic} --group {group} --from-beginning "
        f"--max-messages {count}"
    )
    assert printed.code == 0
    # 4.3 recommends the protocol of KIP-848 before it.
    assert printed.err.endswith(f"Processed a total of {count} messages\n")
    return sorted(line for line in printed.lines if "is deprecated" not in line)


def test_a_group_goes_on_where_it_was_and_is_told_of(tools: KafkaTools, created: str):
    group = f"of-{created}"
    # One in each of the two partitions: of one without any, a consumer that is done may not know
    # yet where it begins, and commits nothing.
    produced(tools, created, "a:one", "d:two", options=keyed(tools))
    assert consumed(tools, created, group, 2) == ["one", "two"]
    produced(tools, created, "a:three", options=keyed(tools))
    assert consumed(tools, created, group, 1) == ["three"]

    listed = tools.run("kafka-consumer-groups --list --state")
    assert [line.split() for line in listed.lines if group in line] == [[group, "Empty"]]
    described = tools.run(f"kafka-consumer-groups --describe --group {group}")
    assert (described.code, described.err) == (
        0,
        f"\nConsumer group '{group}' has no active members.\n",
    )
    rows = [line.split()[:6] for line in described.lines if line.startswith(group)]
    lags = {row[2]: row[3:] for row in rows}
    assert lags == {"0": ["2", "2", "0"], "1": ["1", "1", "0"]}

    deleted = tools.run(f"kafka-consumer-groups --delete --group {group}")
    assert deleted.out == (f"Deletion of requested consumer groups ('{group}') was successful.\n")
    assert group not in tools.run("kafka-consumer-groups --list").out


def test_a_group_that_is_not_there_cannot_be_deleted(tools: KafkaTools, topic: str):
    printed = tools.run(f"kafka-consumer-groups --delete --group {topic}")
    assert "GroupIdNotFoundException" in printed.out + printed.err


def formatted(tools: KafkaTools, partition: int, formatter: str, offset: str) -> list[Any]:
    """Return what one of Kafka's formatters makes of records of groups."""
    printed = tools.run(
        f"kafka-console-consumer --topic {CONSUMER_OFFSETS} --partition {partition} "
        f"--offset {offset} --timeout-ms 3000 "
        f"--formatter org.apache.kafka.tools.consumer.{formatter}"
    )
    # One object follows the other without a break.
    return json.loads(f"[{printed.out.strip().replace('}{', '},{')}]")


def test_offsets_that_are_stored_are_read_by_kafkas_own_formatter(tools: KafkaTools, created: str):
    group = f"of-{created}"
    partition = partition_for(group, CoordinationConfig().offsets_topic_num_partitions)
    # 3.9's formatter ends at what KIP-848 stores, of other groups in this partition.
    ends = tools.run(f"kafka-get-offsets --topic-partitions {CONSUMER_OFFSETS}:{partition}").lines
    (offset,) = [line.rpartition(":")[2] for line in ends] or ["0"]
    produced(tools, created, *(f"a:{number}" for number in range(7)), options=keyed(tools))
    for to in (3, 7):
        words = f"--group {group} --topic {created}:0 --to-offset {to} --execute"
        assert tools.run(f"kafka-consumer-groups --reset-offsets {words}").code == 0
    rows = formatted(tools, partition, "OffsetsMessageFormatter", offset)
    rows = [row for row in rows if row["key"]["data"]["group"] == group]
    key = {"group": group, "topic": created, "partition": 0}
    assert [row["key"]["data"] for row in rows] == [key, key]
    values = [row["value"]["data"] for row in rows]
    assert [(value["offset"], value["metadata"]) for value in values] == [(3, ""), (7, "")]
    assert tools.run(f"kafka-consumer-groups --delete --group {group}").code == 0
    *_, last = formatted(tools, partition, "OffsetsMessageFormatter", offset)
    assert (last["key"]["data"]["group"], last["value"]) == (group, None), "a tombstone"


def test_what_is_stored_of_a_group_is_read_by_kafkas_own_formatter(tools: KafkaTools, created: str):
    group = f"of-{created}"
    produced(tools, created, "one")
    assert consumed(tools, created, group, 1) == ["one"]
    partition = partition_for(group, CoordinationConfig().offsets_topic_num_partitions)
    rows = formatted(tools, partition, "GroupMetadataMessageFormatter", "earliest")
    rows = [row for row in rows if row["key"]["data"]["group"] == group]
    values = [row["value"]["data"] for row in rows]
    assert [value["protocolType"] for value in values] == ["consumer"] * len(rows)
    assert [(value["generation"], len(value["members"])) for value in values] == [(1, 1), (2, 0)]
    (member,) = values[0]["members"]
    assert (values[0]["leader"], values[0]["protocol"]) == (member["memberId"], "range")
