"""kafka-consumer-groups as it is called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from protocol.ids import TopicPartition
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.fake_groups import FakeGroups
from tests.jbodlab.kafka_tools.running import document, run

TOOL = "kafka-consumer-groups"
FOO, BAZ0, BAZ1 = TopicPartition("foo", 0), TopicPartition("baz", 0), TopicPartition("baz", 1)


@pytest.fixture
def groups(cluster: FakeCluster) -> FakeGroups:
    groups = FakeGroups(offsets={"live": {BAZ0: 4}, "idle": {FOO: 7}}, members={"live": [BAZ0]})
    groups.offer(cluster)
    return groups


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line]


@pytest.mark.usefixtures("groups")
def test_groups_are_listed_by_state_and_type(cluster: FakeCluster):
    assert run(cluster, f"{TOOL} --list").stdout == "idle\nlive\n"
    assert words(run(cluster, f"{TOOL} --list --state Stable --type").stdout) == [
        ["GROUP", "TYPE", "STATE"],
        ["live", "Classic", "Stable"],
    ]
    found = document(run(cluster, f"{TOOL} --list --type consumer --json"))
    assert found == {"groups": []}
    refused = run(cluster, f"{TOOL} --list --state nope")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("Invalid state list 'nope'. Valid states are: Preparing")


@pytest.mark.usefixtures("groups")
def test_offsets_and_lag_are_described(cluster: FakeCluster):
    result = run(cluster, f"{TOOL} --describe --all-groups")
    assert result.stderr == "\nConsumer group 'idle' has no active members.\n"
    assert words(result.stdout)[1::2] == [
        ["idle", "foo", "0", "7", "10", "3", "-", "-", "-"],
        ["live", "baz", "0", "4", "10", "6", "me-1", "/127.0.0.1", "me"],
    ]
    (found,) = document(run(cluster, f"{TOOL} --describe --group idle --json"))["groups"]
    assert [found["state"], found["coordinator"]] == ["Empty", 2]
    assert [(each["offset"], each["lag"]) for each in found["offsets"]] == [(7, 3)]


@pytest.mark.usefixtures("groups")
def test_a_partition_without_a_leader_has_a_row_without_an_end(cluster: FakeCluster):
    (first, second) = cluster.topics["baz"].partitions
    leaderless = replace(first, leader=-1)
    cluster.topics["baz"] = replace(cluster.topics["baz"], partitions=(leaderless, second))
    result = run(cluster, f"{TOOL} --describe --group live --timeout 100")
    assert (result.exit_code, words(result.stdout)[1][:6]) == (
        0,
        ["live", "baz", "0", "4", "-", "-"],
    )


@pytest.mark.usefixtures("groups")
def test_members_and_states_are_described(cluster: FakeCluster):
    members = run(cluster, f"{TOOL} --describe --group live --members --verbose")
    assert words(members.stdout)[1] == ["live", "me-1", "/127.0.0.1", "me", "1", "(0)"]
    (found,) = document(run(cluster, f"{TOOL} --describe --group live --members --json"))["groups"]
    assert found["members"][0]["assignment"] == [{"topic": "baz", "partition": 0}]
    state = run(cluster, f"{TOOL} --describe --group live --state")
    assert words(state.stdout)[1][-4:] == ["(2)", "range", "Stable", "1"]


@pytest.mark.usefixtures("groups")
def test_a_group_that_is_not_there_is_told_of_beside_the_others(cluster: FakeCluster):
    result = run(cluster, f"{TOOL} --describe --group nope --group live --state")
    assert (result.exit_code, words(result.stdout)[1][0]) == (1, "live")
    assert result.stderr == "\nError: Consumer group 'nope' does not exist.\n"


@pytest.mark.parametrize(
    ("reset", "offset"),
    [
        ("--to-earliest", 2),
        ("--to-latest", 10),
        ("--to-current", 7),
        ("--to-offset 5", 5),
        ("--to-offset 50", 10),
        ("--shift-by -1", 6),
        ("--shift-by -100", 2),
        ("--to-datetime 1970-01-01T00:00:05.000", 6),
        ("--to-datetime 1970-01-01T00:00:06.000", 10),
        ("--by-duration PT1S", 10),
    ],
)
def test_offsets_are_reset_when_that_is_ordered(
    cluster: FakeCluster, groups: FakeGroups, reset: str, offset: int
):
    command = f"{TOOL} --reset-offsets --group idle --topic foo:0 {reset}"
    shown = run(cluster, f"{command} --dry-run")
    assert words(shown.stdout)[-1] == ["idle", "foo", "0", str(offset)]
    assert groups.offsets["idle"] == {FOO: 7}
    assert document(run(cluster, f"{command} --execute --json"))["offsets"] == [
        {"group": "idle", "topic": "foo", "partition": 0, "offset": offset}
    ]
    assert groups.offsets["idle"] == {FOO: offset}


def test_a_group_with_members_keeps_its_offsets(cluster: FakeCluster, groups: FakeGroups):
    command = f"{TOOL} --reset-offsets --group live --all-topics --to-latest --execute"
    result = run(cluster, command)
    assert result.exit_code == 1
    assert "if the group 'live' is inactive, but the current state is Stable." in result.stderr
    assert groups.offsets["live"] == {BAZ0: 4}


def test_what_is_exported_is_read_again(cluster: FakeCluster, groups: FakeGroups, tmp_path: Path):
    command = f"{TOOL} --reset-offsets --group idle"
    exported = run(cluster, f"{command} --all-topics --to-latest --export --dry-run")
    assert exported.stdout == "foo,0,10\n"
    file = tmp_path / "plan.csv"
    file.write_text(exported.stdout)
    assert run(cluster, f"{command} --execute --from-file", str(file)).exit_code == 0
    assert groups.offsets["idle"] == {FOO: 10}
    file.write_text("other,foo,0,3\n")
    refused = run(cluster, f"{command} --execute --from-file", str(file))
    assert (refused.exit_code, refused.stderr) == (
        1,
        "\nError: No reset plan for group idle found\n",
    )


@pytest.mark.usefixtures("groups")
def test_a_reset_that_makes_no_sense_is_refused(cluster: FakeCluster):
    command = f"{TOOL} --reset-offsets --group idle --dry-run"
    for rest, message in {
        "--to-latest": "One of the reset scopes should be defined: --all-topics, --topic.",
        "--topic foo": "Option '[reset-offsets]' requires one of the following scenarios: ",
        "--topic baz --shift-by 1": "Cannot shift offset for partition baz-0 since there is no ",
        "--topic quux --to-latest": "\nError: Executing consumer group command failed due to This "
        "server does not host this topic-partition: quux",
        "--topic foo:9 --to-latest": "\nError: Executing consumer group command failed due to This "
        "server does not host this topic-partition: foo-9",
        "--topic foo --by-duration x": "\nError: Executing consumer group command failed due to "
        "Text cannot be parsed to a Duration",
    }.items():
        result = run(cluster, f"{command} {rest}")
        assert result.exit_code == 1
        assert result.stderr.startswith(message)


@pytest.mark.usefixtures("groups")
def test_a_reset_without_order_says_that_it_does_nothing(cluster: FakeCluster):
    result = run(cluster, f"{TOOL} --reset-offsets --group idle --all-topics --to-latest")
    assert result.exit_code == 0
    assert result.stderr.startswith("WARN: No action will be performed")
    refused = run(cluster, f"{TOOL} --reset-offsets --group idle --to-latest")
    assert refused.exit_code == 1
    warning, reason, *_ = refused.stderr.splitlines()
    assert warning.startswith("WARN: No action will be performed")
    assert reason == "One of the reset scopes should be defined: --all-topics, --topic."


def test_groups_without_members_are_deleted(cluster: FakeCluster, groups: FakeGroups):
    result = run(cluster, f"{TOOL} --delete --group live --group idle")
    assert result.exit_code == 1
    assert result.stdout == "\nThese consumer groups were deleted successfully: 'idle'\n"
    assert result.stderr.splitlines()[1:] == [
        "Error: Deletion of some consumer groups failed:",
        "* Group 'live' could not be deleted due to: The group is not empty.",
    ]
    assert list(groups.offsets) == ["live"]


def test_offsets_are_deleted(cluster: FakeCluster, groups: FakeGroups):
    groups.offsets["idle"] |= {BAZ0: 1, BAZ1: 2}
    result = run(cluster, f"{TOOL} --delete-offsets --group idle --topic baz:1 --topic foo")
    assert result.exit_code == 0
    assert words(result.stdout)[2:] == [
        [topic, number, "Successful"]
        for topic, number in (("baz", "1"), ("foo", "0"), ("foo", "1"))
    ]
    assert groups.offsets["idle"] == {BAZ0: 1}
    result = run(cluster, f"{TOOL} --delete-offsets --group idle --topic quux")
    assert result.exit_code == 1
    assert words(result.stdout)[-1][:3] == ["quux", "Not", "Provided"]
    result = run(cluster, f"{TOOL} --delete-offsets --group nope --topic foo")
    assert (result.exit_code, result.stderr) == (1, "\nError: 'nope' does not exist.\n")
