"""What a client does is counted against its quotas; it hears how long to wait, and has to.

Times are virtual. The broker is one of fakes but for its dispatcher and handlers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from typing import Any

import pytest

from broker.client_accounts import ClientAccounts
from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.engine.types import FetchResult
from broker.metrics import Counters
from protocol.client_quotas.entities import quota_entity
from protocol.configs.parsing import broker_config
from protocol.connection import Peer, RequestReceived
from protocol.ids import TopicPartition
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.principal import Principal
from tests.broker.engine.virtual_loop import VirtualLoop
from tests.broker.fakes import FakeBroker, batch, topic_state, update_metadata
from tests.broker.handlers.test_fetch import fetch

ALICE = Peer("127.0.0.1", 1, 1, principal=Principal("alice"))
ALICE_AGAIN, BOB = ALICE._replace(number=2), Peer("127.0.0.1", 3, 3)
Story = Callable[[FakeBroker], Awaitable[None]]
Told = Callable[[Story], None]


@pytest.fixture
def told() -> Iterator[Told]:
    """Tell a story about a broker that limits ``alice`` to 100 bytes a second."""

    async def tell(story: Story) -> None:
        broker = FakeBroker()
        broker.engine.metadata.update(update_metadata(topic_state()))
        limits = {"producer_byte_rate": 100.0, "consumer_byte_rate": 100.0}
        broker.client_quotas.replace({quota_entity([("user", "alice")]): limits})
        await story(broker)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        yield lambda story: runner.run(tell(story))  # pyright: ignore[reportArgumentType]


def produce(value: bytes, acks: int = 1) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=batch(value))
    topics = [TopicProduceData(name="orders", partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=topics)


async def spent_s(work: Awaitable[Any]) -> float:
    begin_s = asyncio.get_running_loop().time()
    await work
    return asyncio.get_running_loop().time() - begin_s


def test_a_producer_above_its_rate_is_answered_at_once_and_read_no_further(told: Told) -> None:
    async def story(broker: FakeBroker) -> None:
        answer = await broker.ask(produce(bytes(1900)), 9, peer=ALICE)
        assert 9_000 < answer.throttle_time_ms < 11_000
        assert not answer.responses[0].partition_responses[0].error_code
        assert await spent_s(broker.ask(MetadataRequest(), 9, peer=BOB)) == 0
        assert await spent_s(broker.ask(MetadataRequest(), 9, peer=ALICE_AGAIN)) == 0
        waited_s = await spent_s(broker.ask(MetadataRequest(), 9, peer=ALICE))
        assert waited_s * 1000 == pytest.approx(answer.throttle_time_ms)
        assert broker.metrics.counters.throttled_requests.value == 1
        assert broker.metrics.counters.throttled_ms.value == answer.throttle_time_ms

    told(story)


def test_a_producer_that_wants_no_answer_waits_all_the_same(told: Told) -> None:
    async def story(broker: FakeBroker) -> None:
        assert await broker.ask(produce(bytes(1900), acks=0), 9, peer=ALICE) is None
        assert await spent_s(broker.ask(MetadataRequest(), 9, peer=ALICE)) > 9

    told(story)


def test_who_has_no_quota_is_not_limited(told: Told) -> None:
    async def story(broker: FakeBroker) -> None:
        for _ in range(3):
            answer = await broker.ask(produce(bytes(5000)), 9, peer=BOB)
            assert answer.throttle_time_ms == 0

    told(story)


def read(size_bytes: int) -> FetchResult:
    records = (memoryview(bytes(size_bytes)),)
    return FetchResult(high_watermark=9, records=records, records_size_bytes=size_bytes)


def test_a_consumer_above_its_rate_gets_nothing_until_it_has_waited(told: Told) -> None:
    async def story(broker: FakeBroker) -> None:
        broker.engine.fetch_results[TopicPartition("orders", 0)] = read(900)
        opened = await broker.ask(fetch(0, session=(0, 0)), 12, peer=ALICE)
        assert (len(opened.responses), opened.throttle_time_ms) == (1, 0)
        again = FetchRequest(session_id=opened.session_id, session_epoch=1, max_bytes=10_000)
        throttled = await broker.ask(again, 12, peer=ALICE)
        assert throttled.session_id == opened.session_id
        assert (list(throttled.responses), throttled.throttle_time_ms) == ([], 8_000)
        begin_s, answer = asyncio.get_running_loop().time(), throttled
        while not answer.responses:
            again.session_epoch += 1
            answer = await broker.ask(again, 12, peer=ALICE)
        # What it did not get was not counted: it waits for the first 900 bytes alone.
        assert asyncio.get_running_loop().time() - begin_s == pytest.approx(16)

    told(story)


def test_a_consumer_reads_no_more_at_once_than_it_may_have(told: Told) -> None:
    async def story(broker: FakeBroker) -> None:
        await broker.ask(fetch(0), 12, peer=ALICE)
        await broker.ask(fetch(0), 12, peer=BOB)
        assert [params.max_bytes for params, _ in broker.engine.fetched] == [1_000, 10_000]

    told(story)


def test_followers_have_no_quotas_of_clients(told: Told) -> None:
    async def story(broker: FakeBroker) -> None:
        broker.engine.fetch_results[TopicPartition("orders", 0)] = read(5_000)
        request = fetch(0)
        request.replica_id = 2
        answer = await broker.ask(request, 12, peer=ALICE)
        assert (len(answer.responses), answer.throttle_time_ms) == (1, 0)
        assert broker.engine.fetched[0][0].max_bytes == 10_000

    told(story)


async def _two_turns(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


def test_the_time_of_the_loop_counts_and_its_waits_do_not() -> None:
    async def story() -> None:
        clock = count(0, 400_000)  # Each slice between two looks takes 0.4 s.
        quotas = ClientQuotas(broker_config({}))
        quotas.replace({quota_entity([("user", None)]): {"request_percentage": 10.0}})
        accounts = ClientAccounts(quotas, Counters(), loop_ms=lambda: 0, elapsed_us=clock.__next__)
        received = RequestReceived(18, 3, 1, "app", memoryview(bytearray()))
        account = accounts.open(received, ALICE)
        assert account is not None
        request = ApiVersionsRequest()
        assert await account.timed(_two_turns(request)) is request
        assert next(clock) == 1_600_000
        answer: Any = await FakeBroker().ask(ApiVersionsRequest(), 3)
        account.settle(answer)  # 80 of 100 %: of 10 s at 10 % a second.
        assert answer.throttle_time_ms == 0
        account = accounts.open(received, ALICE)
        assert account is not None
        await account.timed(_two_turns(request))
        account.settle(answer)
        assert answer.throttle_time_ms == 1000
        assert accounts.muted.is_any

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story())


def test_what_the_work_raises_and_its_cancellation_go_through() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("of the work")

    async def story() -> None:
        quotas = ClientQuotas(broker_config({}))
        quotas.replace({quota_entity([("user", None)]): {"request_percentage": 10.0}})
        accounts = ClientAccounts(quotas, Counters(), loop_ms=lambda: 0, elapsed_us=lambda: 0)
        account = accounts.open(RequestReceived(18, 3, 1, "", memoryview(bytearray())), ALICE)
        assert account is not None
        with pytest.raises(ValueError, match="of the work"):
            await account.timed(fails())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await account.timed(asyncio.Event().wait())

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story())


def test_controllers_and_coordinators_have_no_quotas() -> None:
    quotas = ClientQuotas(broker_config({}))
    quotas.replace({quota_entity([("user", None)]): {"request_percentage": 10.0}})
    accounts = ClientAccounts(quotas, Counters(), loop_ms=lambda: 0, elapsed_us=lambda: 0)
    for api_key in (4, 5, 6, 27):
        received = RequestReceived(api_key, 0, 1, "", memoryview(bytearray()))
        assert accounts.open(received, ALICE) is None
