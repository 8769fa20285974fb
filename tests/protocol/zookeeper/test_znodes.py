"""The bodies of znodes against those that Apache Kafka 3.9.2 wrote, and Kafka's documented ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from protocol.zookeeper.znodes import (
    BrokerZnode,
    ClusterIdZnode,
    ConfigChangeZnode,
    ConfigZnode,
    ControllerZnode,
    FeatureZnode,
    LogDirEventZnode,
    MalformedZnode,
    NewReplicas,
    PartitionName,
    PartitionStateZnode,
    PartitionsZnode,
    ProducerIdBlockZnode,
    ReassignmentZnode,
    TopicZnode,
    Znode,
    decode,
    encode,
    endpoint_of,
)

RECORDED: dict[str, str | None] = json.loads(
    Path(__file__).with_name("znodes-3.9.2.json").read_text()
)
KINDS: dict[str, type[Znode]] = {
    r"/cluster/id": ClusterIdZnode,
    r"/brokers/ids/\d+": BrokerZnode,
    r"/brokers/topics/[a-z]+": TopicZnode,
    r"/brokers/topics/[a-z]+/partitions/\d+/state": PartitionStateZnode,
    r"/config/changes/config_change_\d{10}": ConfigChangeZnode,
    r"/config/(topics|brokers)/.+": ConfigZnode,
    r"/controller": ControllerZnode,
    r"/feature": FeatureZnode,
    r"/log_dir_event_notification/log_dir_event_\d{10}": LogDirEventZnode,
}
WRITTEN = {path: text for path, text in RECORDED.items() if text and path != "/controller_epoch"}


def _kind_of(path: str) -> type[Znode]:
    (kind,) = [kind for pattern, kind in KINDS.items() if re.fullmatch(pattern, path)]
    return kind


@pytest.mark.parametrize("path", sorted(WRITTEN))
def test_what_apache_kafka_wrote_is_written_again_byte_for_byte(path: str) -> None:
    text = WRITTEN[path]
    znode = decode(text.encode(), _kind_of(path), path)
    assert encode(znode).decode() == text


def test_every_kind_that_was_recorded_is_read() -> None:
    assert {_kind_of(path) for path in WRITTEN} == set(KINDS.values())


@pytest.mark.parametrize(
    ("znode", "text"),
    [
        (
            PartitionsZnode(partitions=[PartitionName("t", 0)]),
            '{"version":1,"partitions":[{"topic":"t","partition":0}]}',
        ),
        (
            ReassignmentZnode(partitions=[NewReplicas("t", 0, [1, 2])]),
            '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}',
        ),
        (
            ProducerIdBlockZnode(broker=1, block_start="0", block_end="999"),
            '{"version":1,"broker":1,"block_start":"0","block_end":"999"}',
        ),
    ],
    ids=["partitions", "reassignment", "producer-ids"],
)
def test_what_was_gone_before_it_could_be_recorded_is_as_documented(
    znode: Znode, text: str
) -> None:
    assert encode(znode).decode() == text
    assert decode(text.encode(), type(znode), "/somewhere") == znode


def test_a_controller_of_an_older_release_has_no_epoch_of_kraft() -> None:
    text = b'{"version":1,"brokerid":3,"timestamp":"1700000000000"}'
    znode = decode(text, ControllerZnode, "/controller")
    assert znode.brokerid == 3
    assert encode(znode) == text


def test_a_topic_of_an_older_release_has_neither_an_id_nor_a_reassignment() -> None:
    znode = decode(b'{"version":1,"partitions":{"0":[1,2]}}', TopicZnode, "/brokers/topics/t")
    assert (znode.partitions, znode.adding_replicas) == ({"0": [1, 2]}, {})


@pytest.mark.parametrize("data", [None, b"", b"{", b'{"version":2}', b'{"brokerid":"one"}'])
def test_a_body_that_no_release_writes_is_refused_with_its_path(data: bytes | None) -> None:
    with pytest.raises(MalformedZnode, match="/controller holds"):
        decode(data, ControllerZnode, "/controller")


def test_an_endpoint_is_found_by_the_name_of_its_listener() -> None:
    broker = BrokerZnode(endpoints=["SSL://a.b:9093", "PLAINTEXT://[::1]:9092"])
    assert endpoint_of(broker, "PLAINTEXT") == ("::1", 9092)
    with pytest.raises(KeyError):
        endpoint_of(broker, "SASL_SSL")
