"""Log dirs as Kafka's tool writes them."""

from __future__ import annotations

from jbodlab.kafka_tools.core.log_dirs_json import brokers_document, compact_json, items, numbers
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.jbodlab.kafka_tools.builders import log_dir

T, U = TopicPartition("t", 0), TopicPartition("u", 1)


def test_replicas_errors_and_moves_are_written():
    log_dirs = {
        2: [log_dir("/d2", error=ErrorCode.KAFKA_STORAGE_ERROR)],
        1: [log_dir("/d1", U, (T, True))],
    }
    assert compact_json(brokers_document(log_dirs, [])) == (
        '{"brokers":[{"broker":1,"logDirs":[{"partitions":['
        '{"partition":"t-0","size":100,"offsetLag":7,"isFuture":true},'
        '{"partition":"u-1","size":100,"offsetLag":0,"isFuture":false}],'
        '"error":null,"logDir":"/d1"}]},'
        '{"broker":2,"logDirs":[{"partitions":[],'
        '"error":"org.apache.kafka.common.errors.KafkaStorageException","logDir":"/d2"}]}],'
        '"version":1}'
    )


def test_topics_are_chosen():
    (broker,) = brokers_document({1: [log_dir("/d1", T, U)]}, ["u", "x"])["brokers"]
    assert [each["partition"] for each in broker["logDirs"][0]["partitions"]] == ["u-1"]


def test_lists_of_options_have_each_item_once():
    assert items("b,,a,b") == ["b", "a"]
    assert numbers("10,2,,2") == [2, 10]
