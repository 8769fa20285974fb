"""Every request gets its answer, and every error its place: code, closed connection, log line."""

from __future__ import annotations

import pytest

from broker.dispatcher import check_registry
from broker.handlers import HANDLERS
from protocol.apis import APIS
from protocol.connection import CloseConnection
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.log_dirs import DescribeLogDirsRequest
from protocol.messages.metadata import MetadataRequest
from protocol.metrics.rows import RequestRow
from protocol.wire.fast import codec
from tests.broker.fakes import PEER, FakeBroker, topic_state, update_metadata

PINNED = {
    0: 13, 1: 18, 2: 11, 3: 13, 4: 7, 5: 4, 6: 8, 8: 10, 9: 10, 10: 6, 11: 9, 12: 4, 13: 5, 14: 5,
    15: 6, 16: 5, 17: 1, 18: 4, 19: 7, 20: 6, 21: 2, 22: 5, 23: 4, 24: 5, 25: 4, 26: 5, 27: 2,
    28: 5,
    29: 3, 30: 3, 31: 3, 38: 3, 39: 2, 40: 2, 41: 3,
    32: 4, 33: 2, 34: 2, 35: 5, 36: 2, 37: 3, 42: 2, 43: 2, 44: 1, 45: 1, 46: 0, 47: 0,
    48: 1, 49: 1, 50: 0, 51: 0, 55: 2, 60: 2, 61: 0,
    65: 0, 66: 2, 68: 1, 69: 1, 74: 1, 75: 0,
}  # fmt: skip
"""Highest version per API: those of Kafka 4.3; of those that it does not have, of 3.9."""


def test_what_is_announced_is_what_is_served():
    check_registry()
    assert {key: handler.versions.high for key, handler in HANDLERS.items()} == PINNED
    assert all(handler.versions.low == 0 for handler in HANDLERS.values())


@pytest.mark.kafka_bug("KAFKA-13527")
@pytest.mark.parametrize("key", sorted(HANDLERS))
def test_every_served_version_can_be_encoded_when_refused(key: int):
    """Fields that a version lacks stay unset, or the answer could not be sent."""
    handler = HANDLERS[key]
    for version in range(handler.versions.low, handler.versions.high + 1):
        request = APIS[key].request()
        if key == 0:
            request.acks = -1
        response = handler.refuse(
            request, version, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "why")
        )
        encoded = codec(APIS[key].response, version).encode(response)
        assert codec(APIS[key].response, version).decode(encoded) is not None


async def test_an_unknown_version_of_api_versions_is_answered_in_version_0(broker: FakeBroker):
    body = await broker.ask_raw(18, 99, b"whatever \xff\xff")
    assert body is not None
    response = codec(ApiVersionsResponse, 0).decode(body)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(k.api_key, k.min_version, k.max_version) for k in response.api_keys] == [(18, 0, 4)]


@pytest.mark.parametrize(("key", "version"), [(3, 14), (3, -1), (8, 11), (62, 0), (99, 0)])
async def test_an_api_or_version_that_is_not_served_closes_the_connection(
    broker: FakeBroker, key: int, version: int
):
    with pytest.raises(Malformed, match="is not served"):
        await broker.ask_raw(key, version, b"")
    assert broker.metrics.counters.malformed_requests.value == 1


async def test_a_body_that_cannot_be_read_closes_the_connection(broker: FakeBroker):
    with pytest.raises(Malformed):
        await broker.ask_raw(3, 1, b"\x00\x00\x00\x05")
    assert broker.metrics.counters.malformed_requests.value == 1


@pytest.mark.scenario(264)
@pytest.mark.parametrize(("version", "body"), [(1, b"\xff\xff\xff\xff"), (2, b"\0\0")])
async def test_a_null_array_that_must_not_be_null_closes_the_connection(
    broker: FakeBroker, version: int, body: bytes
):
    with pytest.raises(Malformed, match="AlterReplicaLogDirsRequest"):
        await broker.ask_raw(34, version, body)


async def test_an_unforeseen_error_is_answered_logged_once_and_counted(
    broker: FakeBroker, caplog: pytest.LogCaptureFixture
):
    broker.engine.error = RuntimeError("defect")
    response = await broker.ask(DescribeLogDirsRequest(topics=None), 4)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.metrics.counters.unexpected_errors.value == 1
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert "DescribeLogDirs v4" in errors[0].getMessage()
    assert errors[0].exc_info is not None


async def test_a_kafka_error_becomes_its_code_without_a_log_line(
    broker: FakeBroker, caplog: pytest.LogCaptureFixture
):
    broker.engine.error = KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    response = await broker.ask(DescribeLogDirsRequest(topics=None), 3)
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert caplog.records == []


async def test_closing_the_connection_passes_through(broker: FakeBroker):
    broker.engine.error = CloseConnection("on purpose")
    with pytest.raises(CloseConnection):
        await broker.ask(DescribeLogDirsRequest(topics=None), 3)


async def test_what_the_controller_wrote_on_a_connection_before_its_last_one_closes_that(
    broker: FakeBroker,
):
    """A network that was cut brings late what the controller gave up; it says all of it anew."""
    older, newer = PEER._replace(number=3), PEER._replace(number=7)
    await broker.ask(update_metadata(), 8, peer=older)
    await broker.ask(update_metadata(topic_state("orders")), 8, peer=newer)
    with pytest.raises(CloseConnection):
        await broker.ask(update_metadata(topic_state("gone")), 8, peer=older)
    assert not broker.engine.metadata.has_topic("gone")
    await broker.ask(MetadataRequest(topics=None), 12, peer=older)
    await broker.ask(update_metadata(topic_state("payments")), 8, peer=newer)


async def test_requests_are_counted_and_timed_by_api(broker: FakeBroker):
    await broker.ask(MetadataRequest(topics=None), 12)
    broker.engine.error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    await broker.ask(DescribeLogDirsRequest(topics=None), 4)
    written = broker.metrics.request_rows(at_ms=1, interval_ms=1)
    rows = {row.api: row for row in written if isinstance(row, RequestRow)}
    assert rows["Metadata"].request_count == 1
    assert rows["Metadata"].error_count == 0
    assert rows["Metadata"].sent_bytes > 0
    assert rows["DescribeLogDirs"].error_count == 1


async def test_api_versions_names_every_handler(broker: FakeBroker):
    for version in range(5):
        response = await broker.ask(
            ApiVersionsRequest(client_software_name="test", client_software_version="1.0"), version
        )
        assert response.error_code == ErrorCode.NONE
        assert {k.api_key: k.max_version for k in response.api_keys} == PINNED
