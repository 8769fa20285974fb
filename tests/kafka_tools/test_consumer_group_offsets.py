"""kafka-consumer-groups about groups that only keep offsets: made, reset and deleted by it."""

from __future__ import annotations

import pytest

from tests.integration.labs import Lab
from tests.kafka_tools.tools import KafkaTools

TOOL = "kafka-consumer-groups"
COLUMNS = ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]


@pytest.fixture
def group(lab: Lab, tools: KafkaTools, topic: str) -> str:
    """Return a group that has the offset 3 in a topic of its name, of ten records."""
    lab.create(topic)
    text = "".join(f"{number}\n" for number in range(10))
    tools.run(f"kafka-console-producer --topic {topic}", stdin=text)
    reset(tools, topic, "--to-offset 3")
    return topic


def reset(tools: KafkaTools, group: str, to: str, how: str = "--execute") -> list[list[str]]:
    """Reset offsets; return the rows that are printed."""
    printed = tools.run(f"{TOOL} --reset-offsets --group {group} --topic {group} {to} {how}")
    assert (printed.code, printed.err) == (0, "")
    words = printed.out.split()  # 3.9 writes the first row behind the names of the columns.
    assert words[:4] == COLUMNS
    return [words[at : at + 4] for at in range(4, len(words), 4)]


def offsets(tools: KafkaTools, group: str) -> list[list[str]]:
    """Describe a group; return partition, offset, end and lag."""
    printed = tools.run(f"{TOOL} --describe --group {group} --offsets")
    assert printed.code == 0
    assert f"Consumer group '{group}' has no active members." in printed.err + printed.out
    rows = [line.split() for line in printed.lines if line.startswith(f"{group} ")]
    return [row[2:6] for row in rows]


def test_a_group_is_made_by_a_reset_listed_and_described(tools: KafkaTools, group: str):
    assert group in tools.run(f"{TOOL} --list").lines
    assert offsets(tools, group) == [["0", "3", "10", "7"]]
    state = tools.run(f"{TOOL} --describe --group {group} --state")
    (row,) = [line.split() for line in state.lines if line.startswith(f"{group} ")]
    assert row[-2:] == ["Empty", "0"]


@pytest.mark.parametrize(
    ("to", "offset"),
    [("--to-earliest", "0"), ("--to-latest", "10"), ("--shift-by 2", "5"), ("--to-current", "3")],
)
def test_offsets_are_reset(tools: KafkaTools, group: str, to: str, offset: str):
    assert reset(tools, group, to, "--dry-run") == [[group, group, "0", offset]]
    assert offsets(tools, group) == [["0", "3", "10", "7"]]
    assert reset(tools, group, to) == [[group, group, "0", offset]]
    assert offsets(tools, group)[0][1] == offset


def test_offsets_and_groups_are_deleted(tools: KafkaTools, group: str):
    printed = tools.run(f"{TOOL} --delete-offsets --group {group} --topic {group}")
    assert (printed.code, printed.err) == (0, "")
    assert "Successful" in printed.out
    gone = tools.run(f"{TOOL} --describe --group {group}")
    assert any(words in gone.out + gone.err for words in ("does not exist", "not found"))
    reset(tools, group, "--to-offset 4")
    printed = tools.run(f"{TOOL} --delete --group {group}")
    assert printed.out.startswith(f"Deletion of requested consumer groups ('{group}') was success")
    assert group not in tools.run(f"{TOOL} --list").lines
