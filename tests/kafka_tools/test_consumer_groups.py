"""kafka-console-consumer with a group, and kafka-consumer-groups about it."""

from __future__ import annotations

import json

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
    option = "--property" if tools.release.startswith("3.") else "--reader-property"
    keyed = f"{option} parse.key=true {option} key.separator=:"
    # One in each of the two partitions: of one without any, a consumer that is done may not know
    # yet where it begins, and commits nothing.
    produced(tools, created, "a:one", "d:two", options=keyed)
    assert consumed(tools, created, group, 2) == ["one", "two"]
    produced(tools, created, "a:three", options=keyed)
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


def test_what_is_stored_of_a_group_is_read_by_kafkas_own_formatter(tools: KafkaTools, created: str):
    group = f"of-{created}"
    produced(tools, created, "one")
    assert consumed(tools, created, group, 1) == ["one"]
    partition = partition_for(group, CoordinationConfig().offsets_topic_num_partitions)
    printed = tools.run(
        f"kafka-console-consumer --topic {CONSUMER_OFFSETS} --partition {partition} "
        "--offset earliest --timeout-ms 3000 "
        "--formatter org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter"
    )
    # One object follows the other without a break.
    rows = json.loads(f"[{printed.out.strip().replace('}{', '},{')}]")
    rows = [row for row in rows if row["key"]["data"]["group"] == group]
    values = [row["value"]["data"] for row in rows]
    assert [value["protocolType"] for value in values] == ["consumer"] * len(rows)
    assert [(value["generation"], len(value["members"])) for value in values] == [(1, 1), (2, 0)]
    (member,) = values[0]["members"]
    assert (values[0]["leader"], values[0]["protocol"]) == (member["memberId"], "range")
