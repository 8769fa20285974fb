"""Topic commands without a cluster. With one: tests/integration."""

from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import load_cluster_spec
from protocol.messages.topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.jbodlab.command_line import jbodlab
from tests.jbodlab.fake_node import fake_node


def test_a_setting_needs_a_value(tmp_path: Path) -> None:
    file = str(write_lab_spec(tmp_path))
    result = jbodlab("topics", "create", "t", "--set", "retention.ms", "--config", file)
    assert result.exit_code == ExitCode.USAGE
    assert "--set takes KEY=VALUE" in result.stderr


@pytest.mark.parametrize(
    ("brokers", "options", "replicas"),
    [(1, [], 1), (4, [], 3), (4, ["--replication-factor", "2"], 2)],
)
def test_a_topic_has_a_replica_at_each_broker_and_at_most_3_unless_told_otherwise(
    brokers: int, options: list[str], replicas: int, tmp_path: Path
) -> None:
    file = write_lab_spec(tmp_path, LabShape(brokers=brokers))
    asked: list[int] = []

    def create(request: CreateTopicsRequest) -> CreateTopicsResponse:
        asked.extend(each.replication_factor for each in request.topics)
        made = [CreatableTopicResult(name=each.name) for each in request.topics]
        return CreateTopicsResponse(topics=made)

    with fake_node({CreateTopicsRequest: create}, load_cluster_spec(file).broker(1).port):
        result = jbodlab("topics", "create", "t", *options, "--config", str(file))

    assert (result.exit_code, asked) == (ExitCode.OK, [replicas])
    assert f"{replicas} replica(s) each" in result.stdout
