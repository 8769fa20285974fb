"""The worst batches are requests that a broker reads, and as many as they say."""

from __future__ import annotations

from itertools import islice

from benchmarks.hostile.worst_records import TOPICS, attacks
from protocol.messages.produce import ProduceRequest
from protocol.records.batch import Compression, read_batch_header
from protocol.wire.fast import codec

_HEAD_BYTES = 4 + 2 + 2 + 4 + 2 + len("hostile") + 1


def test_batches_of_many_records_go_to_topics_that_look_into_them() -> None:
    seen: list[tuple[str, int, Compression]] = []
    for attack in islice(attacks(50), 3):
        assert attack.api == "Produce v9"
        request = codec(ProduceRequest, 9).decode(memoryview(attack.frame)[_HEAD_BYTES:])
        (topic,) = request.topic_data
        header = read_batch_header(topic.partition_data[0].records)
        assert topic.name in TOPICS
        seen.append((topic.name, header.records_count, header.compression))
    assert seen == [
        ("kept", 50, Compression.NONE),
        ("kept", 50, Compression.GZIP),
        ("as-sent", 50, Compression.NONE),
    ]
