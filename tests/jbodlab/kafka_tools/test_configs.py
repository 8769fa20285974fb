"""kafka-configs as it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.configs import (
    ConfigResource,
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import document, run


class Settings:
    """Every resource has the setting ``a``, made for it, and ``b``, which nobody made."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []
        self.error = ErrorCode.NONE

    def answer(self, broker: int, request: Any) -> DescribeConfigsResponse:
        results: list[DescribeConfigsResult] = []
        for resource in request.resources:
            self.asked.append((broker, resource.resource_name))
            own = {2: 1, 4: 2 if resource.resource_name else 3, 8: 6, 32: 8}[resource.resource_type]
            entries = [
                DescribeConfigsResourceResult(
                    name=name,
                    value="1",
                    read_only=False,
                    is_default=False,
                    config_source=source,
                    is_sensitive=False,
                    synonyms=[],
                    documentation=None,
                )
                for name, source in (("b", 5), ("a", own))
            ]
            result = DescribeConfigsResult(
                error_code=self.error,
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=entries,
            )
            results.append(result)
        return DescribeConfigsResponse(throttle_time_ms=0, results=results)


@pytest.fixture
def settings(cluster: FakeCluster) -> Settings:
    keys = [ApiVersion(api_key=key, min_version=0, max_version=20) for key in (3, 32, 44, 74)]
    cluster.replies[ApiVersionsRequest] = lambda _broker, _request: ApiVersionsResponse(
        error_code=0, api_keys=keys, throttle_time_ms=0
    )
    settings = Settings()
    cluster.replies[DescribeConfigsRequest] = settings.answer
    return settings


def test_settings_of_everything_of_a_type_are_described(cluster: FakeCluster, settings: Settings):
    result = run(cluster, "kafka-configs --describe --entity-type brokers")
    line = "  a=1 sensitive=false synonyms={}"
    assert result.stdout.splitlines() == [
        *(each for n in range(4) for each in (f"Dynamic configs for broker {n} are:", line)),
        "Default configs for brokers in the cluster are:",
        line,
    ]
    # Each broker is asked about itself.
    assert settings.asked[:4] == [(n, str(n)) for n in range(4)]
    result = run(cluster, "kafka-configs --describe --entity-type topics --json")
    assert [each["name"] for each in document(result)["topics"]] == ["bar", "baz", "foo"]


def test_all_settings_are_described_when_asked(cluster: FakeCluster, settings: Settings):
    result = run(cluster, "kafka-configs --describe --topic foo --all")
    assert result.stdout.splitlines() == [
        "All configs for topic foo are:",
        "  a=1 sensitive=false synonyms={}",
        "  b=1 sensitive=false synonyms={}",
    ]
    assert [name for _, name in settings.asked] == ["foo"]


@pytest.mark.usefixtures("settings")
def test_settings_are_changed_on_the_broker_they_are_about(cluster: FakeCluster, tmp_path: Path):
    file = tmp_path / "settings.properties"
    file.write_text("c=[1,2]\n")
    line = f"kafka-configs --alter --broker 2 --add-config-file {file} --delete-config a"
    result = run(cluster, line)
    assert (result.exit_code, result.stdout) == (
        0,
        "Completed updating config for broker 2.\n",
    )
    assert cluster.config_orders == [(2, "2", {"c": "[1,2]", "a": None})]
    refused = run(cluster, "kafka-configs --alter --topic foo --delete-config b")
    assert (refused.exit_code, refused.stdout, refused.stderr) == (1, "", "Invalid config(s): b\n")


def test_what_a_broker_refuses_is_told_with_the_command(cluster: FakeCluster, settings: Settings):
    settings.error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    result = run(cluster, "kafka-configs --describe --topic foo")
    assert result.exit_code == 1
    first, *rest = result.stderr.splitlines()
    assert first.startswith("Error while executing config command with args '--bootstrap-server ")
    assert first.endswith(" --describe --topic foo'")
    assert rest == ["This server does not host this topic-partition."]


def test_a_file_that_is_not_there_is_missed(cluster: FakeCluster):
    result = run(cluster, "kafka-configs --alter --topic foo --add-config-file /no/such")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[1] == "there is no file /no/such"


def test_words_without_sense_are_told_in_one_line(cluster: FakeCluster):
    result = run(cluster, "kafka-configs --describe --nope")
    assert (result.exit_code, result.stderr) == (1, "nope is not a recognized option\n")


def test_without_a_name_all_groups_that_have_settings_are_described(
    cluster: FakeCluster, settings: Settings
):
    listed = ListConfigResourcesResponse(
        config_resources=[ConfigResource(resource_name=name, resource_type=32) for name in "hg"]
    )
    cluster.replies[ListConfigResourcesRequest] = lambda _broker, _request: listed
    found = document(run(cluster, "kafka-configs --describe --entity-type groups --json"))
    assert [each["name"] for each in found["groups"]] == ["g", "h"]
    assert [[one["name"] for one in each["configs"]] for each in found["groups"]] == [["a"]] * 2
    assert [name for _, name in settings.asked] == ["g", "h"]
