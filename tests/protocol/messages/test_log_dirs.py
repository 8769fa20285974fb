"""Messages about log dirs, byte by byte, worked out by hand from Kafka's schemas."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.connection import ClientConnection
from protocol.errors import Malformed
from protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    AlterReplicaLogDirTopicResult,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from protocol.wire.fast import codec

ALTER, DESCRIBE = 34, 35
WISH = AlterReplicaLogDirsRequest(
    dirs=[
        AlterReplicaLogDir(path="/d1", topics=[AlterReplicaLogDirTopic(name="t", partitions=[0])])
    ]
)
DONE = AlterReplicaLogDirsResponse(
    results=[
        AlterReplicaLogDirTopicResult(
            topic_name="t",
            partitions=[AlterReplicaLogDirPartitionResult(partition_index=0, error_code=0)],
        )
    ]
)
ONE_OFFLINE = DescribeLogDirsResponse(
    results=[
        DescribeLogDirsResult(
            log_dir="/d1",
            topics=[
                DescribeLogDirsTopic(
                    name="t",
                    partitions=[
                        DescribeLogDirsPartition(
                            partition_index=0, partition_size=100, offset_lag=0
                        )
                    ],
                )
            ],
            total_bytes=1000,
            usable_bytes=900,
        ),
        DescribeLogDirsResult(error_code=56, log_dir="/d2", topics=()),
    ]
)


def frame(
    key: int,
    version: int,
    correlation_id: int,
    request: AlterReplicaLogDirsRequest | DescribeLogDirsRequest,
) -> str:
    """Return a whole request of client ``t`` in hex."""
    connection = ClientConnection("t")
    for _ in range(correlation_id):
        connection.send_request(key, version, [])
    body = codec(type(request), version).encode(request)
    return b"".join(connection.send_request(key, version, [body])).hex()


@pytest.mark.scenario(264)
@pytest.mark.parametrize(
    ("key", "version", "request_", "golden"),
    [
        (
            ALTER,
            1,
            WISH,
            "00000023 0022 0001 00000001 0001 74"
            "00000001 0003 2f6431 00000001 0001 74 00000001 00000000",
        ),
        (
            ALTER,
            2,
            WISH,
            "0000001c 0022 0002 00000001 0001 74 00  02 04 2f6431 02 02 74 02 00000000 00 00 00",
        ),
        (
            DESCRIBE,
            1,
            DescribeLogDirsRequest(topics=None),
            "0000000f 0023 0001 00000002 0001 74 ffffffff",
        ),
        (
            DESCRIBE,
            4,
            DescribeLogDirsRequest(topics=None),
            "0000000e 0023 0004 00000002 0001 74 00 00 00",
        ),
    ],
)
def test_requests_are_framed_as_kafkas_clients_do(
    key: int, version: int, request_: Any, golden: str
) -> None:
    correlation_id = 1 if key == ALTER else 2
    assert frame(key, version, correlation_id, request_) == golden.replace(" ", "")


@pytest.mark.scenario(264)
@pytest.mark.parametrize(
    ("version", "response", "golden"),
    [
        (2, DONE, "00000000 02 02 74 02 00000000 0000 00 00 00"),
        (
            4,
            ONE_OFFLINE,
            "00000000 0000 03"
            "0000 04 2f6431 02 02 74 02"
            "00000000 0000000000000064 0000000000000000 00 00 00"
            "00000000000003e8 0000000000000384 00"
            "0038 04 2f6432 01 ffffffffffffffff ffffffffffffffff 00"
            "00",
        ),
    ],
)
def test_responses_are_kafkas_byte_by_byte(
    version: int, response: AlterReplicaLogDirsResponse | DescribeLogDirsResponse, golden: str
) -> None:
    wire = codec(type(response), version)
    assert wire.encode(response).hex() == golden.replace(" ", "")
    assert wire.decode(bytearray.fromhex(golden)) == response


@pytest.mark.scenario(264)
def test_tagged_fields_that_nobody_knows_are_passed_over_at_every_level() -> None:
    unknown = "01 63 02 abcd"
    text = f"02 04 2f6431 02 02 74 02 00000000 {unknown} {unknown} {unknown}"
    request = codec(AlterReplicaLogDirsRequest, 2).decode(bytearray.fromhex(text))

    (log_dir,) = request.dirs
    (topic,) = log_dir.topics
    assert (log_dir.path, topic.name, list(topic.partitions)) == ("/d1", "t", [0])


@pytest.mark.scenario(264)
@pytest.mark.parametrize(
    ("version", "text"),
    [(1, "ffffffff"), (2, "00 00"), (1, "00000001 ffff 00000000"), (2, "02 00 01 00 00")],
    ids=["array", "compact array", "string", "compact string"],
)
def test_nothing_is_null_that_must_not_be(version: int, text: str) -> None:
    with pytest.raises(Malformed):
        codec(AlterReplicaLogDirsRequest, version).decode(bytearray.fromhex(text))
