"""aiokafka in the report card: BOOTSTRAP PREFIX ITEM... . Its loop runs in a thread of its own."""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import CommitFailedError, IllegalStateError

from tests.clients.python.ledger import (
    ABORTS_EVERY,
    CONFIGS,
    DEADLINE_S,
    PARTITIONS,
    REPLICAS,
    Ledger,
    MissedError,
    run,
    thread,
)
from tests.clients.python.sharing import Send, resume, share

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


def created(admin: Any, topic: str) -> int:
    """Create a topic; return the error code."""
    wanted = NewTopic(topic, PARTITIONS, REPLICAS, topic_configs=CONFIGS)
    return wait(admin.create_topics([wanted])).topic_errors[0][1]


def create(admin: Any, topic: str) -> None:
    code = created(admin, topic)
    if code:
        raise MissedError(f"{topic} is not created: error {code}")


def administer(bootstrap: list[str], prefix: str) -> str:
    topic, ledger = f"{prefix}-admin", Ledger()
    with started(AIOKafkaAdminClient, bootstrap_servers=bootstrap) as admin:
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
    return "topics, configurations, partitions"


@contextmanager
def sending(bootstrap: list[str], topic: str, ledger: Ledger) -> Generator[Send]:
    """Give a send; all of it is acknowledged behind the block."""

    def told(delivery: asyncio.Future[Any]) -> None:
        error = delivery.exception()
        if error is not None:
            ledger.fail(error)

    settings: dict[str, Any] = {"enable_idempotence": True, "linger_ms": 1}
    with started(
        AIOKafkaProducer,
        bootstrap_servers=bootstrap,
        metadata_max_age_ms=METADATA_AGE_MS_MAX,
        **settings,
    ) as producer:

        async def buffered(key: bytes, value: bytes) -> None:
            (await producer.send(topic, value, key)).add_done_callback(told)

        yield lambda key, value: wait(buffered(key, value))
        wait(producer.flush())


def reading(bootstrap: list[str], *topics: str, **settings: Any) -> Any:
    return started(
        AIOKafkaConsumer,
        *topics,
        bootstrap_servers=bootstrap,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        metadata_max_age_ms=METADATA_AGE_MS_MAX,
        **settings,
    )


def polled(reader: Any) -> list[Any]:
    found = wait(reader.getmany(timeout_ms=POLL_MS, max_records=BATCH))
    return [record for records in found.values() for record in records]


def read_all(bootstrap: list[str], topic: str, ledger: Ledger) -> None:
    with reading(bootstrap) as reader:
        in_loop(reader.assign, [TopicPartition(topic, number) for number in range(PARTITIONS)])

        def is_read() -> bool:
            for record in polled(reader):
                ledger.read(record.key, record.value)
            return ledger.is_read

        ledger.until("all is read", is_read)


def produce(bootstrap: list[str], prefix: str) -> str:
    topic, ledger = f"{prefix}-produce", Ledger()
    with started(AIOKafkaAdminClient, bootstrap_servers=bootstrap) as admin:
        create(admin, topic)
    with sending(bootstrap, topic, ledger) as send:
        ledger.write(topic, send)
    read_all(bootstrap, topic, ledger)
    ledger.judge(exactly=True)
    return f"{ledger.written} records, idempotent"


class Member(ConsumerRebalanceListener):
    """Reads a topic as one of a group until it is closed, and commits what it has read."""

    def __init__(self, bootstrap: list[str], group_id: str, topic: str, ledger: Ledger) -> None:
        self.owned = 0
        self.read = 0
        self._ledger = ledger
        self._leaves = threading.Event()
        self._thread = thread(lambda: self._consume(bootstrap, group_id, topic), ledger)

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Count what is had now."""
        self.owned = len(list(assigned))

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        """Count down."""
        self.owned -= len(list(revoked))

    def _consume(self, bootstrap: list[str], group_id: str, topic: str) -> None:
        with reading(bootstrap, group_id=group_id) as reader:
            in_loop(lambda: reader.subscribe([topic], listener=self))
            while not self._leaves.is_set():
                records = polled(reader)
                for record in records:
                    self._ledger.read(record.key, record.value)
                self.read += len(records)
                # Somebody else may have its partitions by now, and reads them again.
                with suppress(CommitFailedError, IllegalStateError):
                    wait(reader.commit())

    def close(self) -> None:
        """Leave the group."""
        self._leaves.set()
        self._thread.join(DEADLINE_S)


def group(bootstrap: list[str], prefix: str) -> str:
    topic, group_id, ledger = f"{prefix}-group", f"{prefix}-readers", Ledger()
    with started(AIOKafkaAdminClient, bootstrap_servers=bootstrap) as admin:
        create(admin, topic)
        with sending(bootstrap, topic, ledger) as send:
            share(lambda: Member(bootstrap, group_id, topic, ledger), topic, ledger, send)
            resume(lambda: Member(bootstrap, group_id, topic, ledger), ledger, send)
        if group_id not in [name for name, *_ in wait(admin.list_consumer_groups())]:
            raise MissedError(f"{group_id} is not listed")
        (described,) = wait(admin.describe_consumer_groups([group_id]))
        if "Empty" not in described.groups[0]:
            raise MissedError(f"{group_id} is not Empty: {described.groups[0]}")
    ledger.judge(exactly=False)
    return f"{ledger.written} records, {ledger.again} of them twice"


def transactions(bootstrap: list[str], prefix: str) -> str:
    source, sink, ledger = f"{prefix}-source", f"{prefix}-sink", Ledger()
    with started(AIOKafkaAdminClient, bootstrap_servers=bootstrap) as admin:
        create(admin, source)
        create(admin, sink)
    with sending(bootstrap, source, ledger) as send:
        writing = thread(lambda: ledger.write(sink, send), ledger)
        aborted = transform(bootstrap, prefix, ledger, writing)
    read_all(bootstrap, sink, ledger)
    ledger.judge(exactly=True)
    return f"{ledger.written} records, {aborted} transactions aborted"


def transform(bootstrap: list[str], prefix: str, ledger: Ledger, writing: threading.Thread) -> int:
    """Copy source to sink, offsets and records in one transaction, and abort each third."""
    copied, begun, aborted = 0, 0, 0
    group_id = f"{prefix}-transformers"
    with (
        started(
            AIOKafkaProducer,
            bootstrap_servers=bootstrap,
            transactional_id=f"{prefix}-transform",
            metadata_max_age_ms=METADATA_AGE_MS_MAX,
        ) as producer,
        reading(bootstrap, f"{prefix}-source", group_id=group_id) as reader,
    ):
        while writing.is_alive() or copied < ledger.written:
            records = polled(reader)
            if not records:
                continue
            begun += 1
            if wait(copy(producer, prefix, group_id, records, aborts=begun % ABORTS_EVERY == 0)):
                copied += len(records)
            else:
                aborted += 1
                back(reader, records)
    return aborted


async def copy(
    producer: Any, prefix: str, group_id: str, records: list[Any], *, aborts: bool
) -> bool:
    """Return whether the transaction was committed."""
    await producer.begin_transaction()
    for record in records:
        await producer.send(f"{prefix}-sink", record.value, record.key)
    behind = {TopicPartition(each.topic, each.partition): each.offset + 1 for each in records}
    await producer.send_offsets_to_transaction(behind, group_id)
    if aborts:
        await producer.abort_transaction()
        return False
    await producer.commit_transaction()
    return True


def back(reader: Any, records: list[Any]) -> None:
    """Read these records again."""
    first: dict[Any, int] = {}
    for each in records:
        first.setdefault(TopicPartition(each.topic, each.partition), each.offset)
    for partition, offset in first.items():
        in_loop(reader.seek, partition, offset)


if __name__ == "__main__":
    threading.Thread(target=LOOP.run_forever, daemon=True).start()
    items = {
        "admin": administer,
        "produce": produce,
        "group": group,
        "transactions": transactions,
    }
    run(version("aiokafka"), items)
