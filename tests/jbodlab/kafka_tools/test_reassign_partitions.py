"""kafka-reassign-partitions as it is called: every action, every refusal, files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from protocol.ids import TopicPartition
from tests.jbodlab.command_line import jbodlab
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import document, part, plan_file, run
from tests.protocol.admin.views import reassignment

TOOL = "kafka-reassign-partitions"


def topics_file(folder: Path, *topics: str) -> str:
    file = folder / "topics.json"
    file.write_text(json.dumps({"topics": [{"topic": name} for name in topics], "version": 1}))
    return f"--topics-to-move-json-file {file}"


@pytest.mark.scenario(193)
def test_a_plan_is_proposed_for_topics_that_are_there_on_brokers_that_suffice(
    cluster: FakeCluster, tmp_path: Path
):
    def generate(brokers: str, *topics: str, more: str = "") -> str:
        file = topics_file(tmp_path, *topics)
        result = run(cluster, f"{TOOL} --generate {file} --broker-list {brokers} {more}")
        assert result.exit_code == (1 if "Error" in result.stdout else 0)
        return result.stdout

    def error(text: str) -> str:
        return text.splitlines()[0].removeprefix("Error: ")

    assert error(generate("1,1,2", "foo")) == "Broker list contains duplicate entries: [1]"
    assert error(generate("5,2,3,4,5", "foo")) == "Broker list contains duplicate entries: [5]"
    assert error(generate("1,2,3", "foo", "bar", "foo")) == (
        "List of topics to reassign contains duplicate entries: [foo]"
    )
    assert error(generate("0,1,2,3", "foo", "quux")) == ("Topic quux not found.")
    assert error(generate("0,1", "foo", "bar")) == (
        "Replication factor: 3 larger than available brokers: 2."
    )
    cluster.racks = {0: "r0", 1: "r1", 2: None, 3: "r1"}
    assert error(generate("0,1,2,3", "foo")) == (
        "Not all brokers have rack information. Add --disable-rack-aware in command line to make "
        "replica assignment without rack information."
    )
    lines = generate("0,1,2,3", "foo", "bar", more="--disable-rack-aware").splitlines()
    assert [lines[0], *lines[2:4]] == [
        "Current partition replica assignment",
        "",
        "Proposed partition reassignment configuration",
    ]
    current, proposed = json.loads(lines[1])["partitions"], json.loads(lines[4])["partitions"]
    assert [(each["topic"], each["replicas"]) for each in current] == [
        ("bar", [2, 3, 0]),
        ("foo", [0, 1, 2]),
        ("foo", [1, 2, 3]),
    ]
    assert [len(each["replicas"]) for each in proposed] == [3, 3, 3]
    cluster.racks = {0: "r0", 1: "r1", 2: "r1", 3: "r0"}
    lines = generate("0,1,3", "baz").splitlines()
    assert all({0, 3} & set(each["replicas"]) for each in json.loads(lines[4])["partitions"])


@pytest.mark.scenario(194)
def test_a_plan_without_sense_is_not_begun(cluster: FakeCluster, tmp_path: Path):
    def refused(*partitions: object) -> str:
        file = plan_file(tmp_path, *partitions)  # type: ignore[arg-type]
        result = run(cluster, f"{TOOL} --execute --reassignment-json-file {file}")
        assert result.exit_code == 1
        return result.stdout.splitlines()[0].removeprefix("Error: ")

    assert refused() == "Partition reassignment list cannot be empty"
    assert refused(part("foo", 0, [])) == "Partition replica list cannot be empty"
    assert refused(part("foo", 0, [1]), part("foo", 0, [2])) == (
        "Partition reassignment contains duplicate topic partitions: foo-0"
    )
    assert refused(part("foo", 0, [0, 0])) == (
        "Partition replica lists may not contain duplicate entries: foo-0 contains multiple "
        "entries for 0"
    )
    assert refused(part("foo", 0, [0, 1], "any")) == (
        "Size of replicas list [0, 1] is different from size of log dirs list [any] for partition "
        "foo-0"
    )
    assert refused(part("quux", 0, [2, 3, 4])) == "Unknown broker id 4"
    assert refused(part("quux", 0, [2, 3])) == "Topic quux not found."
    assert refused(part("foo", 10, [0, 1, 2])) == "Unable to find partition: foo-10"
    file = tmp_path / "bad.json"
    file.write_text("{invalid_json")
    result = run(cluster, f"{TOOL} --execute --reassignment-json-file {file}")
    assert result.exit_code == 1
    assert result.stdout.startswith("Error: Expecting ")
    assert cluster.reassign_orders == []


def test_a_file_that_is_not_there_is_missed(cluster: FakeCluster):
    result = run(cluster, f"{TOOL} --verify --reassignment-json-file /no/such")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Error: Unable to read file /no/such",
        "there is no file /no/such",
        "",
    ]


def test_what_is_under_way_is_listed(cluster: FakeCluster):
    assert run(cluster, f"{TOOL} --list").stdout == "No partition reassignments found.\n"
    cluster.reassignments[TopicPartition("foo", 0)] = reassignment(
        TopicPartition("foo", 0), replicas=(3, 1), adding=(3,), removing=(1,)
    )
    assert run(cluster, f"{TOOL} --list").stdout == (
        "Current partition reassignments:\nfoo-0: replicas: 3,1. adding: 3. removing: 1.\n"
    )
    assert document(run(cluster, f"{TOOL} --list --json")) == {
        "reassignments": {"foo-0": {"replicas": [3, 1], "adding": [3], "removing": [1]}}
    }


def test_words_that_are_no_command_line_are_refused_before_anyone_is_asked():
    result = jbodlab(TOOL, "--bootstrap-server", "a:1", "--nope")
    assert (result.exit_code, result.stderr) == (
        1,
        "nope is not a recognized option\n",
    )
    result = jbodlab(TOOL, "--list", "--bootstrap-server", "nowhere")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        1,
        "Error: Invalid url in bootstrap.servers: nowhere",
    )
