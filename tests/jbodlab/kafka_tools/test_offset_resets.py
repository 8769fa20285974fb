"""Which offsets a reset sets, asked of a cluster."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from pathlib import Path

import pytest

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.group_words import OPTIONS
from jbodlab.kafka_tools.core.options import read_words
from jbodlab.kafka_tools.core.properties import ClientSettings
from jbodlab.kafka_tools.offset_resets import WantedOffsets, timestamp_ms
from jbodlab.kafka_tools.report import Report
from protocol.errors import KafkaError
from protocol.ids import TopicPartition
from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.fake_groups import FakeGroups

FOO0, FOO1 = TopicPartition("foo", 0), TopicPartition("foo", 1)


@pytest.fixture
def client(cluster: FakeCluster) -> Generator[ClusterClient]:
    FakeGroups(offsets={"g": {FOO0: 7}}).offer(cluster)
    settings = ClientSettings(
        bootstrap=cluster.bootstrap, client_id="t", request_timeout_ms=5000, api_timeout_ms=5000
    )
    with ClusterClient(settings) as client:
        yield client


def wanted(client: ClusterClient, line: str) -> WantedOffsets:
    return WantedOffsets(client, read_words(shlex.split(line), OPTIONS), Report(is_json=True))


@pytest.mark.parametrize(
    ("line", "offsets"),
    [
        ("--all-topics --to-earliest", {FOO0: 2}),
        ("--topic foo --to-latest", {FOO0: 10, FOO1: 10}),
        ("--topic foo --to-current", {FOO0: 7, FOO1: 10}),
        ("--topic foo:1 --to-offset 1", {FOO1: 2}),
        ("--all-topics --shift-by 2", {FOO0: 9}),
        ("--topic foo:1 --to-datetime 1970-01-01T00:00:01Z", {FOO1: 6}),
    ],
)
def test_offsets_are_those_of_the_command_line(
    client: ClusterClient, line: str, offsets: dict[TopicPartition, int]
):
    assert wanted(client, line).of_group("g") == offsets


def test_a_file_has_offsets_by_group(client: ClusterClient, tmp_path: Path):
    file = tmp_path / "plan.csv"
    file.write_text("g,foo,0,4\nh,foo,1,99\n")
    plan = wanted(client, f"--group g --group h --from-file {shlex.quote(str(file))}")
    assert (plan.of_group("g"), plan.of_group("h")) == ({FOO0: 4}, {FOO1: 10})
    assert plan.of_group("i") is None


def test_what_makes_no_sense_is_refused_before_anything_is_asked(client: ClusterClient):
    for line in ("--to-offset x", "--to-datetime 5", "--by-duration 5", "--from-file /no/such"):
        with pytest.raises(ToolFailure):
            wanted(client, line)


def test_a_topic_that_is_not_there_is_named(client: ClusterClient):
    with pytest.raises(KafkaError, match="quux"):
        wanted(client, "--topic foo --topic quux --to-latest").of_group("g")


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:01.500", 1500),
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("2026-01-31T23:59:59.999", 1_769_903_999_999),
    ],
)
def test_times_are_utc_unless_they_say_otherwise(text: str, ms: int):
    assert timestamp_ms(text) == ms


@pytest.mark.parametrize("text", ["", "5", "2026-01-31", "2026-13-01T00:00:00", "T"])
def test_what_is_no_time_is_refused(text: str):
    with pytest.raises(ToolFailure, match=r"timestamp|Unparseable"):
        timestamp_ms(text)
