"""Names in a log dir."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.storage.layout import (
    BadDirName,
    DirKind,
    PartitionDirName,
    current_dir_name,
    delete_dir_name,
    future_dir_name,
    is_ignored_dir,
    parse_dir_name,
    parse_partition_metadata,
    parse_segment_file_name,
    render_clean_shutdown,
    render_partition_metadata,
    segment_file_name,
    stray_dir_name,
)
from protocol.ids import TopicPartition
from tests.broker.storage.builders import ORDERS, UNIQUE

TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,200}", fullmatch=True)
PARTITIONS = st.builds(TopicPartition, TOPICS, st.integers(0, 10_000))


@given(PARTITIONS)
def test_every_name_is_read_back(topic_partition: TopicPartition) -> None:
    names = {
        DirKind.CURRENT: current_dir_name(topic_partition),
        DirKind.FUTURE: future_dir_name(topic_partition, UNIQUE),
        DirKind.DELETE: delete_dir_name(topic_partition, UNIQUE),
        DirKind.STRAY: stray_dir_name(topic_partition, UNIQUE),
    }
    for kind, name in names.items():
        unique = "" if kind is DirKind.CURRENT else UNIQUE
        assert parse_dir_name(name) == PartitionDirName(topic_partition, kind, unique)


@pytest.mark.kafka_bug("KAFKA-4893")
@pytest.mark.scenario(46)
def test_the_name_for_deletion_is_shortened_and_keeps_its_end() -> None:
    topic_partition = TopicPartition("t" * 249, 12)
    name = delete_dir_name(topic_partition, UNIQUE)
    assert len(name) == 255
    assert name.endswith(f"t-12.{UNIQUE}-delete")
    assert len(future_dir_name(topic_partition, UNIQUE)) > 255


@pytest.mark.parametrize(
    "name", ["orders", "orders-", "-1", "orders-x", "or ders-1", "orders-delete", "a-0.b c-future"]
)
def test_other_directories_are_refused(name: str) -> None:
    with pytest.raises(BadDirName):
        parse_dir_name(name)


def test_a_topic_may_look_like_a_suffix() -> None:
    assert parse_dir_name("my-future-0").topic_partition == TopicPartition("my-future", 0)


@pytest.mark.scenario(36)
def test_directories_of_others_are_ignored() -> None:
    assert is_ignored_dir("remote-log-index-cache")
    assert is_ignored_dir("__cluster_metadata-0")
    assert not is_ignored_dir("__consumer_offsets-0")


def test_segment_files_are_named_by_twenty_digits() -> None:
    assert segment_file_name(1440, ".log") == "00000000000000001440.log"
    assert parse_segment_file_name("00000000000000001440.timeindex") == (1440, ".timeindex")
    assert parse_segment_file_name("1440.log") is None
    assert parse_segment_file_name("00000000000000001440.log.swap") is None


def test_partition_metadata_is_read_back_and_garbage_is_none() -> None:
    topic_id = bytes(range(16))
    content = render_partition_metadata(topic_id)
    assert content == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    assert parse_partition_metadata(content) == topic_id
    assert parse_partition_metadata(content.replace(b"version: 0", b"version: 1")) == topic_id
    for garbage in (
        b"",
        b"version: 1\n",
        content.replace(b"0", b"-1", 1),
        b"version: 0\ntopic_id: x\n",
        b"\xff\xfe",
    ):
        assert parse_partition_metadata(garbage) is None


def test_the_clean_marker_is_kafkas_json() -> None:
    assert render_clean_shutdown(-1) == b'{"version":0,"brokerEpoch":-1}'
    assert parse_dir_name("orders-0").topic_partition == ORDERS
