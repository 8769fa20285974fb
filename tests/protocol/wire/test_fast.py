# construct has no type annotations.
# pyright: basic

import io
import random
import tracemalloc
from importlib import import_module
from typing import Any

import pytest
from construct import ConstructError
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import Malformed
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.lifecycle import BrokerHeartbeatRequest, BrokerRegistrationRequest
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from protocol.ports import Buffer
from protocol.wire.fast import codec
from protocol.wire.record import UnsupportedFieldError
from protocol.wire.table import META, construct_for
from tests.golden.message_vectors import (
    Vector,
    class_of,
    message_vectors,
    messages_and_versions,
)
from tests.protocol.wire.random_messages import random_message

MESSAGES = messages_and_versions()
SMALL_BYTES_MAX = 300


def small_vectors() -> list[Any]:
    """Return one small vector of each API and kind, of its newest version."""
    found: list[Any] = []
    for (api, kind), vectors in message_vectors().items():
        newest = max(vector["version"] for vector in vectors)
        small = [
            vector
            for vector in vectors
            if vector["version"] == newest and 2 <= len(vector["hex"]) // 2 <= SMALL_BYTES_MAX
        ]
        if small:
            found.append(pytest.param(max(small, key=size_of), id=f"{api}-{kind}"))
    return found


def size_of(vector: Vector) -> int:
    return len(vector["hex"])


def outcome(cls: type[Any], version: int, data: Buffer) -> Any:
    """Return the message that the compiled codec reads, None when it refuses."""
    try:
        return codec(cls, version).decode(data)
    except Malformed:
        return None


def reference_outcome(cls: type[Any], version: int, data: Buffer) -> Any:
    """Return the message that construct reads, None when it refuses or leaves bytes over."""
    stream = io.BytesIO(data)
    try:
        message = construct_for(cls, version).parse_stream(stream)
    except ConstructError:
        return None
    return message if stream.tell() == len(data) else None


def produce(records: Any) -> ProduceRequest:
    partition = PartitionProduceData(index=3, records=records)
    return ProduceRequest(
        acks=-1, topic_data=[TopicProduceData(name="orders", partition_data=[partition])]
    )


@pytest.mark.parametrize(("api", "kind"), list(message_vectors()))
def test_kafkas_bytes_are_read_and_written_again(api: str, kind: str) -> None:
    cls = class_of(api, kind)
    for vector in message_vectors()[api, kind]:
        data = bytes.fromhex(vector["hex"])
        compiled = codec(cls, vector["version"])
        message = compiled.decode(data)
        assert compiled.encode(message) == data
        assert b"".join(compiled.encode_parts(message)) == data
        assert construct_for(cls, vector["version"]).parse(data) == message


def test_construct_and_the_compiled_codec_agree_on_every_message_and_version() -> None:
    chance = random.Random(112)
    for cls, version in MESSAGES:
        message = random_message(cls, version, chance)
        data = codec(cls, version).encode(message)
        assert construct_for(cls, version).build(message) == data
        assert codec(cls, version).decode(data) == message
        assert construct_for(cls, version).parse(data) == message


@settings(deadline=None, max_examples=200)
@given(which=st.sampled_from(MESSAGES), seed=st.integers(0, 2**32))
def test_what_is_encoded_is_decoded_again(which: tuple[type[Any], int], seed: int) -> None:
    cls, version = which
    message = random_message(cls, version, random.Random(seed))
    data = codec(cls, version).encode(message)
    assert data == construct_for(cls, version).build(message)
    assert b"".join(codec(cls, version).encode_parts(message)) == data
    assert codec(cls, version).decode(data) == message


PEERS = [
    ("producer", "Produce"),
    ("consumer", "Fetch"),
    ("consumer", "ListOffsets"),
    ("metadata", "Metadata"),
    ("producer", "InitProducerId"),
    ("admin", "CreateTopics"),
    ("admin", "DescribeLogDirs"),
    ("admin", "AlterReplicaLogDirs"),
]


@pytest.mark.parametrize("kind", ["Request", "Response"])
@pytest.mark.parametrize(("module", "api"), PEERS)
def test_kafka_python_reads_and_writes_the_same_bytes(module: str, api: str, kind: str) -> None:
    peer = getattr(import_module(f"kafka.protocol.{module}"), api + kind)
    cls = class_of(api, kind.lower())
    chance = random.Random(113)
    high = min(META[cls].versions.high, peer.max_version)
    for version in range(META[cls].versions.low, high + 1):
        for _ in range(3):
            data = without_unknown_tags(cls, version, chance)
            theirs = peer.decode(data, version=version)
            theirs._header = None  # decode leaves it unset, encode asks for it
            assert theirs.encode(version=version) == data


def without_unknown_tags(cls: type[Any], version: int, chance: random.Random) -> bytes:
    """Return a random message without tagged fields that kafka-python does not know."""
    message = random_message(cls, version, chance)
    strip_tags(message)
    return bytes(codec(cls, version).encode(message))


def strip_tags(value: Any) -> None:
    if isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            strip_tags(item)
    elif hasattr(value, "unknown_tags"):
        value.unknown_tags = ()
        for name in value.__dataclass_fields__:
            strip_tags(getattr(value, name))


@pytest.mark.parametrize("vector", small_vectors())
def test_a_message_cut_at_any_byte_is_malformed(vector: Vector) -> None:
    cls, version = class_of(vector["api"], vector["kind"]), vector["version"]
    data = bytes.fromhex(vector["hex"])
    for size in range(len(data)):
        with pytest.raises(Malformed):
            codec(cls, version).decode(data[:size])
    with pytest.raises(Malformed, match="1 bytes left over"):
        codec(cls, version).decode(data + b"\0")


@pytest.mark.parametrize("vector", small_vectors())
def test_a_broken_message_is_refused_by_both_or_read_alike(vector: Vector) -> None:
    cls, version = class_of(vector["api"], vector["kind"]), vector["version"]
    chance = random.Random(vector["hex"])
    data = bytes.fromhex(vector["hex"])
    for _ in range(40):
        broken = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 5))):
            corner = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            broken[chance.randrange(len(broken))] = corner
        assert outcome(cls, version, broken) == reference_outcome(cls, version, broken)


@pytest.mark.parametrize("version", [5, 8, 9, 12])
def test_a_broken_row_of_structs_is_refused_by_both_or_read_alike(version: int) -> None:
    partitions = [
        MetadataResponsePartition(partition_index=index, replica_nodes=[1, 2], isr_nodes=[1, 2])
        for index in range(12)
    ]
    message = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=partitions)])
    data = codec(MetadataResponse, version).encode(message)
    chance = random.Random(version)
    for _ in range(400):
        broken = bytearray(data[: chance.choice((len(data), chance.randrange(1, len(data))))])
        for _ in range(chance.choice((0, 1, 1, 2))):
            corner = chance.choice((0, 1, 2, 3, 4, 0x80, 0xFF))
            broken[chance.randrange(len(broken))] = corner
        found = outcome(MetadataResponse, version, broken)
        assert found == reference_outcome(MetadataResponse, version, broken)


LENGTHS = (b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\x0f")


@pytest.mark.parametrize("vector", small_vectors())
def test_a_length_at_its_extremes_is_refused_or_read_and_nothing_else(vector: Vector) -> None:
    cls, version = class_of(vector["api"], vector["kind"]), vector["version"]
    data = bytes.fromhex(vector["hex"])
    for position in range(0, len(data), max(1, len(data) // 25)):
        for length in LENGTHS:
            broken = data[:position] + length + data[position + len(length) :]
            outcome(cls, version, broken)


def test_a_huge_count_in_a_small_frame_takes_no_memory() -> None:
    frames = [
        (MetadataRequest, 1, b"\x7f\xff\xff\xff"),
        (MetadataRequest, 12, b"\xff\xff\xff\xff\x0f"),
        (FetchResponse, 12, bytes(10) + b"\xff\xff\xff\xff\x0f" + bytes(9)),
        (ProduceRequest, 3, bytes(8) + b"\x7f\xff\xff\xff" + bytes(8)),
        (BrokerHeartbeatRequest, 1, bytes(22) + b"\x01\x00\x08\xff\xff\xff\xff\x0f\0\0"),
    ]
    for cls, version, data in frames:
        outcome(cls, version, data)  # compiles
        tracemalloc.start()
        assert outcome(cls, version, data) is None
        assert tracemalloc.get_traced_memory()[1] < 100_000
        tracemalloc.stop()


def test_a_refusal_says_where() -> None:
    topics = [MetadataRequestTopic(name=f"topic-{index}") for index in range(5)]
    data = codec(MetadataRequest, 8).encode(MetadataRequest(topics=topics))
    broken = data.replace(b"topic-3", b"topic-\xff")
    with pytest.raises(Malformed, match=r"MetadataRequest v8: .*-> topics\[3\] -> name"):
        codec(MetadataRequest, 8).decode(broken)


def test_a_large_message_is_refused_without_a_search() -> None:
    data = codec(ProduceRequest, 9).encode(produce(bytes(100_000)))
    with pytest.raises(Malformed, match="ProduceRequest v9"):
        codec(ProduceRequest, 9).decode(data[:-1])


@pytest.mark.parametrize(("size_bytes", "searched"), [(16_000, True), (17_000, False)])
def test_where_a_message_is_broken_is_searched_for_in_small_ones_only(
    size_bytes: int, searched: bool
) -> None:
    topics = [MetadataRequestTopic(name="")] * (size_bytes // 2)
    data = codec(MetadataRequest, 9).encode(MetadataRequest(topics=topics))
    with pytest.raises(Malformed) as refusal:
        codec(MetadataRequest, 9).decode(data[:-5])
    assert ("-> topics[" in str(refusal.value)) == searched


def test_a_set_field_that_the_version_lacks_is_refused_by_name() -> None:
    heartbeat = BrokerHeartbeatRequest(broker_id=1, offline_log_dirs=[bytes(16)])
    with pytest.raises(UnsupportedFieldError, match=r"offline_log_dirs.*version 0"):
        codec(BrokerHeartbeatRequest, 0).encode(heartbeat)
    assert codec(BrokerHeartbeatRequest, 1).encode(heartbeat)


@pytest.mark.kafka_bug("KAFKA-16094")
def test_an_ignorable_field_that_the_version_lacks_is_dropped() -> None:
    registration = BrokerRegistrationRequest(broker_id=1, rack=None, log_dirs=[bytes(16)])
    data = codec(BrokerRegistrationRequest, 1).encode(registration)
    assert codec(BrokerRegistrationRequest, 1).decode(data).log_dirs == ()


def test_a_value_that_does_not_fit_is_refused_and_says_where() -> None:
    request = ProduceRequest(topic_data=[TopicProduceData(name="x" * 32768)])
    for version in (3, 9):
        with pytest.raises(ValueError, match="32768 bytes"):
            codec(ProduceRequest, version).encode(request)
    with pytest.raises(ValueError, match="acks"):
        codec(ProduceRequest, 9).encode(ProduceRequest(acks=40_000))
    with pytest.raises(ValueError, match="null"):
        codec(MetadataRequest, 0).encode(MetadataRequest(topics=None))


def test_records_are_slices_of_the_buffer_that_was_decoded() -> None:
    buffer = codec(ProduceRequest, 9).encode(produce(b"records"))
    records = codec(ProduceRequest, 9).decode(buffer).topic_data[0].partition_data[0].records
    records[0:1] = b"R"
    assert b"Records" in buffer


def test_large_records_are_parts_of_their_own() -> None:
    large, small = bytes(5000), b"small"
    partition = PartitionData(records=(small, large, small))
    answer = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    parts = codec(FetchResponse, 11).encode_parts(answer)
    assert any(part is large for part in parts)
    assert b"".join(parts) == codec(FetchResponse, 11).encode(answer)


def test_unknown_tagged_fields_are_kept_in_order() -> None:
    data = bytes(codec(MetadataRequest, 12).encode(MetadataRequest(topics=None)))
    tagged = data[:-1] + b"\x02\x05\x01a\x09\x00"
    message = codec(MetadataRequest, 12).decode(tagged)
    assert message.unknown_tags == ((5, b"a"), (9, b""))
    assert codec(MetadataRequest, 12).encode(message) == tagged


def test_a_tagged_field_that_runs_past_its_size_is_refused() -> None:
    whole = BrokerHeartbeatRequest(broker_id=1, offline_log_dirs=[bytes(16)])
    data = codec(BrokerHeartbeatRequest, 1).encode(whole)
    assert data[-19:-17] == b"\x00\x11"
    data[-18] = 16
    with pytest.raises(Malformed):
        codec(BrokerHeartbeatRequest, 1).decode(data)


def test_a_message_behind_other_bytes_is_decoded_with_its_end() -> None:
    data = b"head" + codec(MetadataRequest, 1).encode(MetadataRequest(topics=None)) + b"tail"
    message, end = codec(MetadataRequest, 1).decode_prefix(data, 4)
    assert (message.topics, end) == (None, 8)
    with pytest.raises(Malformed):
        codec(MetadataRequest, 1).decode_prefix(data, 10)


def test_fields_that_a_version_lacks_are_at_their_defaults() -> None:
    message = codec(ProduceResponse, 0).decode(codec(ProduceResponse, 0).encode(ProduceResponse()))
    assert message == ProduceResponse(throttle_time_ms=0)


def test_a_version_that_a_message_lacks_is_an_error_that_names_it() -> None:
    with pytest.raises(KeyError, match="MetadataRequest has versions 0 to 13, not 14"):
        codec(MetadataRequest, 14)


def test_a_request_with_stray_bytes_behind_it_is_read_as_kafka_reads_it() -> None:
    data = codec(MetadataRequest, 12).encode(MetadataRequest(topics=None)) + b"\x01\x00\x00"
    assert codec(MetadataRequest, 12).decode_leading(data).topics is None
    with pytest.raises(Malformed, match="3 bytes left over"):
        codec(MetadataRequest, 12).decode(data)
