"""kafka-log-dirs as it is called."""

from __future__ import annotations

import json

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from tests.jbodlab.kafka_tools.builders import log_dir
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import document, run

FOO, BAR = TopicPartition("foo", 0), TopicPartition("bar", 0)


def test_log_dirs_of_some_brokers_are_described(cluster: FakeCluster):
    cluster.log_dirs = {1: [log_dir("/d1", FOO, BAR)], 2: [log_dir("/d2", BAR)]}
    line = "kafka-log-dirs --describe --broker-list 2,1,1 --topic-list bar"
    result = run(cluster, line)
    assert (result.exit_code, result.stderr) == (0, "")
    first, second, third = result.stdout.splitlines()
    assert first == "Querying brokers for log directories information"
    assert second == "Received log directory information from brokers 1,2"
    found = json.loads(third)
    assert found == document(run(cluster, f"{line} --json"))
    assert [each["broker"] for each in found["brokers"]] == [1, 2]
    assert "foo-0" not in third


def test_brokers_that_are_not_there_are_told(cluster: FakeCluster):
    result = run(cluster, "kafka-log-dirs --describe --broker-list 1,9,8")
    assert (result.exit_code, result.stdout, result.stderr) == (
        1,
        "",
        "ERROR: The given brokers do not exist from --broker-list: 8,9. "
        "Current existent brokers: 0,1,2,3\n",
    )


def test_a_broker_that_refuses_fails_the_command(cluster: FakeCluster):
    cluster.replies[DescribeLogDirsRequest] = lambda _broker, _request: DescribeLogDirsResponse(
        throttle_time_ms=0, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, results=[]
    )
    result = run(cluster, "kafka-log-dirs --describe")
    assert (result.exit_code, result.stderr.splitlines()) == (
        1,
        ["Cluster authorization failed."],
    )


def test_a_broker_has_a_number(cluster: FakeCluster):
    result = run(cluster, "kafka-log-dirs --describe --broker-list 1,a")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (1, 'For input string: "a"')
