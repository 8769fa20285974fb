"""aiokafka in the report card: BOOTSTRAP PREFIX ITEM... . Its loop runs in a thread of its own."""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import CommitFailedError, IllegalStateError

from tests.clients.python.items import (
    Holding,
    Library,
    Reader,
    Record,
    Send,
    Transactional,
    run_items,
)
from tests.clients.python.ledger import (
    CONFIGS,
    DEADLINE_S,
    PARTITIONS,
    REPLICAS,
    Ledger,
    MissedError,
)

POLL_MS = 100
BATCH = 50
METADATA_AGE_MS_MAX = 1_000
"""It asks the same broker until then, whoever leads by now."""
TOPIC_EXISTS = 36
LOOP = asyncio.new_event_loop()


def wait(work: Coroutine[Any, Any, Any]) -> Any:
    """Have the loop do it."""
    return asyncio.run_coroutine_threadsafe(work, LOOP).result(DEADLINE_S)


def in_loop(call: Callable[..., Any], *words: Any) -> None:
    """Have the loop call what is no coroutine, and yet belongs there."""

    async def called() -> None:
        call(*words)

    wait(called())


@contextmanager
def started(make: type[Any], *topics: str, **settings: Any) -> Generator[Any]:
    """Give a client, which belongs to the loop; it is stopped behind the block."""

    async def made() -> Any:
        client = make(*topics, **settings)
        await client.start()
        return client

    client = wait(made())
    try:
        yield client
    finally:
        wait(client.close() if make is AIOKafkaAdminClient else client.stop())


class Aiokafka(Library):
    def create(self, *topics: str) -> None:
        with started(AIOKafkaAdminClient, bootstrap_servers=self.bootstrap) as admin:
            for topic in topics:
                create(admin, topic)

    def administer(self, topic: str) -> None:
        ledger = Ledger()
        with started(AIOKafkaAdminClient, bootstrap_servers=self.bootstrap) as admin:
            create(admin, topic)
            if created(admin, topic) != TOPIC_EXISTS:
                raise MissedError("the topic was created twice")

            def is_configured() -> bool:
                resource = ConfigResource(ConfigResourceType.TOPIC, topic)
                (response,) = wait(admin.describe_configs([resource]))
                found = {row[0]: row[1] for row in response.resources[0][4]}
                return found["min.insync.replicas"] == CONFIGS["min.insync.replicas"]

            ledger.until("the configuration is described as it was set", is_configured)
            wait(admin.create_partitions({topic: NewPartitions(2 * PARTITIONS)}))

            def has_replicas() -> bool:
                (found,) = wait(admin.describe_topics([topic]))
                counts = [len(each["replicas"]) for each in found["partitions"]]
                return counts == [REPLICAS] * 2 * PARTITIONS

            ledger.until("each partition has its replicas", has_replicas)
            wait(admin.delete_topics([topic]))
            ledger.until("the topic is gone", lambda: topic not in wait(admin.list_topics()))

    def check_left(self, group_id: str) -> None:
        with started(AIOKafkaAdminClient, bootstrap_servers=self.bootstrap) as admin:
            if group_id not in [name for name, *_ in wait(admin.list_consumer_groups())]:
                raise MissedError(f"{group_id} is not listed")
            (described,) = wait(admin.describe_consumer_groups([group_id]))
            if "Empty" not in described.groups[0]:
                raise MissedError(f"{group_id} is not Empty: {described.groups[0]}")

    @contextmanager
    def sending(self, topic: str, ledger: Ledger) -> Generator[Send]:

        def told(delivery: asyncio.Future[Any]) -> None:
            error = delivery.exception()
            if error is not None:
                ledger.fail(error)

        with started(
            AIOKafkaProducer,
            bootstrap_servers=self.bootstrap,
            metadata_max_age_ms=METADATA_AGE_MS_MAX,
            enable_idempotence=True,
            linger_ms=1,
        ) as producer:

            async def buffered(key: bytes, value: bytes) -> None:
                (await producer.send(topic, value, key)).add_done_callback(told)

            yield lambda key, value: wait(buffered(key, value))
            wait(producer.flush())

    @contextmanager
    def reading(self, ledger: Ledger, group_id: str | None) -> Generator[Reader]:
        with started(
            AIOKafkaConsumer,
            bootstrap_servers=self.bootstrap,
            group_id=group_id,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            metadata_max_age_ms=METADATA_AGE_MS_MAX,
        ) as consumer:
            yield AiokafkaReader(consumer, group_id)

    @contextmanager
    def in_transactions(self, transactional_id: str) -> Generator[Transactional]:
        with started(
            AIOKafkaProducer,
            bootstrap_servers=self.bootstrap,
            transactional_id=transactional_id,
            metadata_max_age_ms=METADATA_AGE_MS_MAX,
        ) as producer:
            yield AiokafkaTransactional(producer)


def created(admin: Any, topic: str) -> int:
    """Create a topic; return the error code."""
    wanted = NewTopic(topic, PARTITIONS, REPLICAS, topic_configs=CONFIGS)
    return wait(admin.create_topics([wanted])).topic_errors[0][1]


def create(admin: Any, topic: str) -> None:
    code = created(admin, topic)
    if code:
        raise MissedError(f"{topic} is not created: error {code}")


class AiokafkaReader(Reader):
    def __init__(self, consumer: Any, group_id: str | None) -> None:
        self.group_id = group_id
        self._consumer = consumer

    def assign(self, topic: str) -> None:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        in_loop(self._consumer.assign, partitions)

    def subscribe(self, topic: str) -> Holding:
        listener = Listener()
        in_loop(lambda: self._consumer.subscribe([topic], listener=listener))
        return listener

    def polled(self) -> list[Any]:
        found = wait(self._consumer.getmany(timeout_ms=POLL_MS, max_records=BATCH))
        return [record for records in found.values() for record in records]

    def commit(self) -> None:
        # Somebody else may have its partitions by now, and reads them again.
        with suppress(CommitFailedError, IllegalStateError):
            wait(self._consumer.commit())

    def seek(self, topic: str, partition: int, offset: int) -> None:
        in_loop(self._consumer.seek, TopicPartition(topic, partition), offset)


class Listener(Holding, ConsumerRebalanceListener):
    """The library asks for its own class."""


class AiokafkaTransactional(Transactional):
    def __init__(self, producer: Any) -> None:
        self._producer = producer

    def begin(self) -> None:
        wait(self._producer.begin_transaction())

    def send(self, topic: str, record: Record) -> None:
        wait(self._producer.send(topic, record.value, record.key))

    def send_offsets(self, reader: AiokafkaReader, records: Sequence[Record]) -> None:
        behind = {TopicPartition(each.topic, each.partition): each.offset + 1 for each in records}
        wait(self._producer.send_offsets_to_transaction(behind, reader.group_id))

    def commit(self) -> None:
        wait(self._producer.commit_transaction())

    def abort(self) -> None:
        wait(self._producer.abort_transaction())


if __name__ == "__main__":
    threading.Thread(target=LOOP.run_forever, daemon=True).start()
    run_items(version("aiokafka"), Aiokafka)
