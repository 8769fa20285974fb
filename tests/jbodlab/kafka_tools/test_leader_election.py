"""kafka-leader-election as it is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import document, run

TOOL = "kafka-leader-election --election-type preferred"


class Elections:
    """What the cluster was asked, and what it answers: an error for all, or per partition."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.error = ErrorCode.NONE
        self.codes: dict[int, ErrorCode] = {0: ErrorCode.NONE}

    def answer(self, _broker: int, request: Any) -> ElectLeadersResponse:
        named = request.topic_partitions
        self.asked.append(named and [(each.topic, list(each.partitions)) for each in named])
        results = [
            PartitionResult(partition_id=number, error_code=code, error_message=None)
            for number, code in self.codes.items()
        ]
        return ElectLeadersResponse(
            throttle_time_ms=0,
            error_code=self.error,
            replica_election_results=[ReplicaElectionResult(topic="foo", partition_result=results)],
        )


@pytest.fixture
def elections(cluster: FakeCluster) -> Elections:
    keys = [ApiVersion(api_key=key, min_version=0, max_version=20) for key in (3, 43)]
    cluster.replies[ApiVersionsRequest] = lambda _broker, _request: ApiVersionsResponse(
        error_code=0, api_keys=keys, throttle_time_ms=0
    )
    elections = Elections()
    cluster.replies[ElectLeadersRequest] = elections.answer
    return elections


def test_partitions_are_one_some_or_all(cluster: FakeCluster, elections: Elections, tmp_path: Path):
    file = tmp_path / "partitions.json"
    named = [{"topic": "foo", "partition": number} for number in (1, 0)]
    file.write_text(json.dumps({"partitions": named}))
    for selection in (
        "--topic foo --partition 1",
        f"--path-to-json-file {file}",
        "--all-topic-partitions",
    ):
        result = run(cluster, f"{TOOL} {selection}")
        assert (result.exit_code, result.stdout) == (
            0,
            "Successfully completed leader election (PREFERRED) for partitions foo-0\n",
        )
    assert elections.asked == [[("foo", [1])], [("foo", [1, 0])], None]


def test_partitions_that_get_no_leader_are_told(cluster: FakeCluster, elections: Elections):
    elections.codes = {
        0: ErrorCode.ELECTION_NOT_NEEDED,
        1: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    }
    result = run(cluster, f"{TOOL} --all-topic-partitions")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "Valid replica already elected for partitions foo-0",
        "Error completing leader election (PREFERRED) for partition: foo-1: "
        "The preferred leader was not available.",
    ]
    assert result.stderr.startswith("1 replica(s) could not be elected\n")
    found = document(run(cluster, f"{TOOL} --all-topic-partitions --json"))
    assert found["partitions"]["foo-1"] == "PREFERRED_LEADER_NOT_AVAILABLE"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ErrorCode.REQUEST_TIMED_OUT, "Timeout waiting for election results"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Not authorized to perform leader election"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, "Error while making request"),
    ],
)
def test_an_election_that_fails_whole_is_told(
    cluster: FakeCluster, elections: Elections, error: ErrorCode, text: str
):
    elections.error = error
    result = run(cluster, f"{TOOL} --all-topic-partitions")
    assert (result.exit_code, result.stdout) == (1, f"{text}\n")
    assert result.stderr.startswith(f"{text}\n")


@pytest.mark.parametrize("option", ["command-config", "admin.config"])
def test_security_is_in_a_file_by_the_option_of_either_release(
    cluster: FakeCluster, elections: Elections, tmp_path: Path, option: str
):
    elections.error = ErrorCode.NONE
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=TLS\n")
    result = run(cluster, f"{TOOL} --all-topic-partitions --{option} {file}")
    assert result.exit_code == 1
    assert "security.protocol: must be one of" in result.stderr


def test_a_file_that_is_not_there_is_missed(cluster: FakeCluster):
    result = run(cluster, f"{TOOL} --path-to-json-file /no/such")
    assert result.exit_code == 1
    assert result.stderr == "Unable to read file /no/such\nthere is no file /no/such\n"
