from __future__ import annotations

from struct import pack

import pytest

from protocol.connection import ClientConnection
from protocol.messages.fetch import FetchRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.wire.fast import codec
from simulation.core.exchanges import REQUESTS_PER_S_MAX, Exchange
from simulation.core.samples import Misanswer

METADATA = 3
PRODUCE = 0
FETCH = 1


def _ask(client: ClientConnection, version: int = 9) -> bytes:
    body = codec(MetadataRequest, version).encode_parts(MetadataRequest(topics=None))
    return b"".join(client.send_request(METADATA, version, body))


def _produce(client: ClientConnection, version: int, acks: int, size_bytes: int = 10) -> bytes:
    part = PartitionProduceData(index=0, records=bytes(size_bytes))
    topic = TopicProduceData(name="orders", topic_id=bytes(16), partition_data=[part])
    message = ProduceRequest(
        transactional_id="transaction" if version >= 3 else None,
        acks=acks,
        timeout_ms=1,
        topic_data=[topic],
    )
    body = codec(ProduceRequest, version).encode_parts(message)
    return b"".join(client.send_request(PRODUCE, version, body, expects_response=acks != 0))


def _answer(correlation_id: int, size_bytes: int = 5) -> bytes:
    body = correlation_id.to_bytes(4, "big") + bytes(size_bytes)
    return len(body).to_bytes(4, "big") + body


def _first_id(frame: bytes) -> int:
    return int.from_bytes(frame[8:12], "big")


@pytest.fixture
def client() -> ClientConnection:
    return ClientConnection("writer")


@pytest.fixture
def exchange() -> Exchange:
    return Exchange("writer to broker-1")


def test_two_requests_with_one_correlation_id_are_answered_one_after_the_other(
    client: ClientConnection, exchange: Exchange
) -> None:
    frame = _ask(client)
    exchange.asked(frame + frame, 0)
    answer = _answer(_first_id(frame))
    assert exchange.answered(answer + answer, 1) == ([], False)
    ((_, _, _, _, what),) = exchange.answered(answer, 2)[0]
    assert what == "was answered twice, or never asked"


def test_requests_answered_once_and_in_order_are_fine(
    client: ClientConnection, exchange: Exchange
) -> None:
    frames = [_ask(client) for _ in range(3)]
    for at_us, frame in enumerate(frames):
        exchange.asked(frame, at_us)

    for frame in frames:
        assert exchange.answered(_answer(_first_id(frame)), 9)[0] == []
    assert list(exchange.unanswered(10**9, 0)) == []
    assert exchange.count == 3


def test_requests_that_may_change_something_are_news_and_so_are_their_answers(
    client: ClientConnection, exchange: Exchange
) -> None:
    asked, produced = _ask(client), _produce(client, 9, -1)
    assert not exchange.asked(asked, 0)
    assert exchange.asked(produced, 0)
    assert exchange.answered(_answer(_first_id(asked)), 1) == ([], False)
    assert exchange.answered(_answer(_first_id(produced)), 1) == ([], True)


def test_bytes_may_come_in_any_pieces(client: ClientConnection, exchange: Exchange) -> None:
    frames = [_produce(client, 9, -1, 2_000), _ask(client)]
    for byte in b"".join(frames):
        exchange.asked(bytes([byte]), 0)
    answers = b"".join(_answer(_first_id(frame), 700) for frame in frames)

    for byte in answers:
        assert exchange.answered(bytes([byte]), 1)[0] == []
    assert exchange.count == 2
    assert list(exchange.unanswered(10**9, 0)) == []


def test_an_answer_that_comes_twice_is_told(client: ClientConnection, exchange: Exchange) -> None:
    frame = _ask(client)
    exchange.asked(frame, 0)
    answer = _answer(_first_id(frame))

    found, _ = exchange.answered(answer + answer, 7)

    assert found == [
        Misanswer(
            7, "writer to broker-1", -1, _first_id(frame), "was answered twice, or never asked"
        )
    ]


def test_an_answer_before_an_earlier_one_is_told(
    client: ClientConnection, exchange: Exchange
) -> None:
    first, second = _ask(client), _ask(client)
    exchange.asked(first, 0)
    exchange.asked(second, 1)

    (found,), _ = exchange.answered(_answer(_first_id(second)), 7)

    assert (found.api_key, found.what) == (METADATA, "was answered before an earlier one")


def test_a_request_that_is_open_for_too_long_is_told(
    client: ClientConnection, exchange: Exchange
) -> None:
    exchange.asked(_ask(client), 1_000_000)

    assert list(exchange.unanswered(3_000_000, 2_000_000)) == []
    (found,) = exchange.unanswered(3_500_000, 2_000_000)
    assert found.what == "was not answered for 2.500 s"


@pytest.mark.parametrize("version", range(14))
def test_a_produce_with_acks_0_wants_no_answer(
    version: int, client: ClientConnection, exchange: Exchange
) -> None:
    exchange.asked(_produce(client, version, 0), 0)
    assert exchange.count == 0

    exchange.asked(_produce(client, version, 1) + _produce(client, version, -1), 0)
    assert exchange.count == 2


def test_a_client_without_a_name_is_followed_too(exchange: Exchange) -> None:
    nameless = ClientConnection(None)

    exchange.asked(_produce(nameless, 9, 0) + _produce(nameless, 8, 0), 0)

    assert exchange.count == 0


@pytest.mark.parametrize("is_hasty", [True, False])
def test_who_asks_without_a_pause_is_told_once_a_second(
    client: ClientConnection, exchange: Exchange, is_hasty: bool
) -> None:
    wrong: list[Misanswer] = []
    for number in range(REQUESTS_PER_S_MAX + 10):
        frame = _ask(client)
        exchange.asked(frame, number * (3_000 if is_hasty else 4_000))
        wrong += exchange.answered(_answer(_first_id(frame)), number)[0]
    assert [each.what for each in wrong] == [
        "is one of more than 250 within a second: nobody waits"
    ] * is_hasty


@pytest.mark.parametrize(("each_bytes", "is_hasty"), [(100, True), (300, False), (4_096, False)])
def test_who_fetches_much_may_ask_again_at_once(
    client: ClientConnection, exchange: Exchange, each_bytes: int, is_hasty: bool
) -> None:
    """A follower that catches up under a small ``replica.fetch.max.bytes`` (751038, 901213)."""
    body = codec(FetchRequest, 15).encode_parts(FetchRequest())
    wrong: list[Misanswer] = []
    for number in range(REQUESTS_PER_S_MAX * 2):
        frame = b"".join(client.send_request(FETCH, 15, body))
        exchange.asked(frame, number * 1_000)
        answer = pack(">ii", 4 + each_bytes, _first_id(frame)) + bytes(each_bytes)
        wrong += exchange.answered(answer, number * 1_000)[0]
    assert len(wrong) == is_hasty


def test_writers_write_as_often_as_they_like(client: ClientConnection, exchange: Exchange) -> None:
    for _ in range(REQUESTS_PER_S_MAX + 10):
        frame = _produce(client, 9, -1)
        exchange.asked(frame, 0)
        assert exchange.answered(_answer(_first_id(frame)), 0)[0] == []
