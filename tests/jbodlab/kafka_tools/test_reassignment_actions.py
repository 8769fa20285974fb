"""What execute, verify and cancel ask of a cluster, and what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.jbodlab.kafka_tools.builders import log_dir
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import document, part, plan_file, run
from tests.protocol.admin.views import reassignment

FOO = TopicPartition("foo", 0)


def action(cluster: FakeCluster, name: str, file: str, more: str = ""):
    line = f"kafka-reassign-partitions --{name} --reassignment-json-file {file} {more}"
    return run(cluster, line)


@pytest.mark.kafka_bug("KAFKA-19582")
def test_a_plan_is_started_with_a_way_back(cluster: FakeCluster, tmp_path: Path):
    cluster.log_dirs = {b: [log_dir(f"/d{b}", FOO)] for b in (0, 1, 2)}
    file = plan_file(tmp_path, part("foo", 0, [3, 1, 2]), part("bar", 0, [1, 2, 3]))
    result = action(cluster, "execute", file)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Current partition replica assignment",
        "",
        '{"version":1,"partitions":[{"topic":"bar","partition":0,"replicas":[2,3,0],'
        '"log_dirs":["any","any","any"]},{"topic":"foo","partition":0,"replicas":[0,1,2],'
        '"log_dirs":["/d0","/d1","/d2"]}]}',
        "",
        "Save this to use as the --reassignment-json-file option during rollback",
        "Successfully started partition reassignments for bar-0,foo-0",
    ]
    assert cluster.reassign_orders == [
        {FOO: [3, 1, 2], TopicPartition("bar", 0): [1, 2, 3]},
    ]
    assert cluster.config_orders == []


def test_one_reassignment_at_a_time_unless_asked(cluster: FakeCluster, tmp_path: Path):
    cluster.reassignments[FOO] = reassignment(FOO, replicas=(0, 1, 2, 3), adding=(3,), removing=())
    file = plan_file(tmp_path, part("bar", 0, [1]))
    result = action(cluster, "execute", file)
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "Cannot execute because there is an existing partition assignment.  Use --additional to "
    )
    assert action(cluster, "execute", file, "--additional").exit_code == 0


def test_partitions_that_are_refused_are_told(cluster: FakeCluster, tmp_path: Path):
    cluster.refusals[FOO] = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    result = action(cluster, "execute", plan_file(tmp_path, part("foo", 0, [1])))
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-2:] == [
        "Error reassigning partition(s):",
        "foo-0: Replica assignment is invalid.",
    ]


def test_replicas_that_are_not_there_yet_are_moved_once_they_are(
    cluster: FakeCluster, tmp_path: Path
):
    cluster.move_answers[3] = [ErrorCode.REPLICA_NOT_AVAILABLE]
    file = plan_file(tmp_path, part("foo", 0, [3, 1], "/d3", "/d1"))
    result = action(cluster, "execute", file)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-3:] == [
        "Successfully started partition reassignment for foo-0",
        "Successfully started moving log directory to /d1 for replica foo-0 with broker 1 ",
        "Successfully started moving log directory to /d3 for replica foo-0 with broker 3 ",
    ]
    assert cluster.move_orders == [
        (1, "/d1", ["foo-0"]),
        (3, "/d3", ["foo-0"]),
        (3, "/d3", ["foo-0"]),
    ]


def test_moves_are_given_up_when_they_do_not_start_in_time(cluster: FakeCluster, tmp_path: Path):
    cluster.move_answers[3] = [ErrorCode.REPLICA_NOT_AVAILABLE] * 2
    file = plan_file(tmp_path, part("foo", 0, [3, 1], "/d3", "any"))
    result = action(cluster, "execute", file, "--timeout 0")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (
        1,
        "Timed out before log directory move could be started for: foo-0-3",
    )
    assert len(cluster.move_orders) == 1


def test_a_move_that_is_refused_ends_the_command_after_the_reassignment_began(
    cluster: FakeCluster, tmp_path: Path
):
    cluster.move_answers[3] = [ErrorCode.KAFKA_STORAGE_ERROR]
    file = plan_file(tmp_path, part("foo", 0, [3, 1], "/d3", "any"))
    result = action(cluster, "execute", file, "--json")
    found = document(result)
    assert (result.exit_code, found["started"], found["error"]) == (
        1,
        ["foo-0"],
        "Failed to alter dir for foo-0-3",
    )


@pytest.mark.scenario(211)
def test_a_replica_on_an_offline_dir_keeps_its_throttles(cluster: FakeCluster, tmp_path: Path):
    cluster.log_dirs[1] = [log_dir("/d1", FOO, error=ErrorCode.KAFKA_STORAGE_ERROR)]
    file = plan_file(tmp_path, part("foo", 0, [0, 1, 2], "any", "/d1", "any"))
    result = action(cluster, "verify", file)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Status of partition reassignment:",
        "Reassignment of partition foo-0 is completed.",
        "Partition foo-0 is not found in any live log dir on broker 1. There is likely an offline "
        "log directory on the broker.",
    ]
    assert cluster.config_orders == []


def test_what_is_over_loses_its_throttles(cluster: FakeCluster, tmp_path: Path):
    file = plan_file(tmp_path, part("foo", 0, [0, 1, 2]), part("quux", 0, [1, 9]))
    result = action(cluster, "verify", file)
    assert result.stdout.splitlines() == [
        "Status of partition reassignment:",
        "Reassignment of partition foo-0 is completed.",
        "There is no active reassignment of partition quux-0, but replica set is  rather than 1,9.",
        "",
        "Clearing broker-level throttles on brokers 0,1,2,3",
        "Clearing topic-level throttles on topic foo",
    ]
    assert result.stderr == "Broker 9 is not in the cluster: its throttles stay\n"
    assert [order[:2] for order in cluster.config_orders[:4]] == [
        *((0, "0"), (1, "1"), (2, "2"), (3, "3"))
    ]
    assert cluster.config_orders[4][1:] == (
        "foo",
        {
            "leader.replication.throttled.replicas": None,
            "follower.replication.throttled.replicas": None,
        },
    )


def test_topics_that_are_gone_have_no_throttles_to_lose(cluster: FakeCluster, tmp_path: Path):
    result = action(cluster, "verify", plan_file(tmp_path, part("quux", 0, [1])))
    assert result.stdout.splitlines()[-1] == "Clearing broker-level throttles on brokers 0,1,2,3"


def test_throttles_stay_while_anything_is_under_way_or_when_asked(
    cluster: FakeCluster, tmp_path: Path
):
    file = plan_file(tmp_path, part("foo", 0, [0, 1, 2]))
    assert "Clearing" not in action(cluster, "verify", file, "--preserve-throttles").stdout
    cluster.reassignments[TopicPartition("bar", 0)] = reassignment(
        TopicPartition("bar", 0), replicas=(2, 3, 0), adding=(), removing=(0,)
    )
    assert "Clearing" not in action(cluster, "verify", file).stdout


def test_reassignments_and_moves_are_taken_back(cluster: FakeCluster, tmp_path: Path):
    cluster.reassignments[FOO] = reassignment(FOO, replicas=(0, 1, 2, 3), adding=(3,), removing=())
    cluster.log_dirs[1] = [log_dir("/a", FOO), log_dir("/b", (FOO, True))]
    file = plan_file(tmp_path, part("foo", 0, [0, 1, 2, 3], "any", "/b", "any", "any"))
    result = action(cluster, "cancel", file)
    assert result.stdout.splitlines() == [
        "Successfully cancelled partition reassignment for: foo-0",
        "Successfully started moving log directory to /a for replica foo-0 with broker 1 ",
        "Clearing broker-level throttles on brokers 0,1,2,3",
        "Clearing topic-level throttles on topic foo",
    ]
    assert cluster.reassign_orders == [{FOO: None}]
    assert cluster.move_orders == [(1, "/a", ["foo-0"])]


def test_there_may_be_nothing_to_take_back(cluster: FakeCluster, tmp_path: Path):
    file = plan_file(tmp_path, part("foo", 0, [0]))
    assert action(cluster, "cancel", file, "--preserve-throttles").stdout.splitlines() == [
        "None of the specified partition reassignments are active.",
        "None of the specified partition moves are active.",
    ]


def test_what_cannot_be_taken_back_is_told(cluster: FakeCluster, tmp_path: Path):
    cluster.reassignments[FOO] = reassignment(FOO, replicas=(0, 1), adding=(), removing=(1,))
    cluster.refusals[FOO] = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    result = action(cluster, "cancel", plan_file(tmp_path, part("foo", 0, [0])))
    assert (result.exit_code, result.stdout.splitlines()) == (
        1,
        [
            "Error cancelling partition reassignment for:",
            "foo-0: No partition reassignment is in progress.",
        ],
    )
