"""confluent-kafka, that is librdkafka, in the report card: BOOTSTRAP PREFIX ITEM... ."""

# Its admin module names what it exports in no list.
# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from importlib.metadata import version
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

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

POLL_S = 0.1
BATCH = 50


def done(futures: dict[Any, Any]) -> list[Any]:
    """Wait for what an admin call promised."""
    return [future.result(DEADLINE_S) for future in futures.values()]


def create(admin: Any, topic: str) -> None:
    done(admin.create_topics([NewTopic(topic, PARTITIONS, REPLICAS, config=CONFIGS)]))


def connect(bootstrap: list[str]) -> Any:
    return AdminClient({"bootstrap.servers": ",".join(bootstrap)})


def administer(bootstrap: list[str], prefix: str) -> str:
    admin, topic, ledger = connect(bootstrap), f"{prefix}-admin", Ledger()
    create(admin, topic)
    try:
        create(admin, topic)
    except KafkaException as error:
        if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
            raise
    else:
        raise MissedError("the topic was created twice")
    entry = ConfigEntry("retention.ms", "1234567", incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    done(admin.incremental_alter_configs([changed]))

    def is_configured() -> bool:
        (found,) = done(admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
        return (found["retention.ms"].value, found["min.insync.replicas"].value) == ("1234567", "2")

    ledger.until("the configuration is described as it was set", is_configured)
    done(admin.create_partitions([NewPartitions(topic, 2 * PARTITIONS)]))

    def has_replicas() -> bool:
        partitions = admin.list_topics(topic, DEADLINE_S).topics[topic].partitions.values()
        counts = [len(each.replicas) for each in partitions]
        return counts == [REPLICAS] * 2 * PARTITIONS

    ledger.until("each partition has its replicas", has_replicas)
    done(admin.delete_topics([topic]))
    ledger.until(
        "the topic is gone", lambda: topic not in admin.list_topics(timeout=DEADLINE_S).topics
    )
    return "topics, configurations, partitions"


@contextmanager
def sending(bootstrap: list[str], topic: str, ledger: Ledger) -> Generator[Send]:
    """Give a send; all of it is acknowledged behind the block."""
    settings = {"bootstrap.servers": ",".join(bootstrap), "enable.idempotence": True}
    producer = Producer(settings | {"linger.ms": 1})

    def send(key: bytes, value: bytes) -> None:
        def told(error: object, _: object) -> None:
            if error is not None:
                ledger.fail(error)

        producer.produce(topic, value, key, on_delivery=told)
        producer.poll(0)

    yield send
    if producer.flush(DEADLINE_S):
        raise MissedError("records are not acknowledged")


def consumer(bootstrap: list[str], group_id: str, **settings: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": ",".join(bootstrap),
            "group.id": group_id,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            **settings,
        }
    )


def taken(reader: Consumer, ledger: Ledger) -> list[Any]:
    """Return the next messages; errors that librdkafka deals with itself are none."""
    messages: list[Any] = []
    for message in reader.consume(BATCH, POLL_S):
        error = message.error()
        if error is None:
            messages.append(message)
        elif not error.retriable() and error.fatal():
            ledger.fail(error)
    return messages


def read_all(bootstrap: list[str], topic: str, ledger: Ledger) -> None:
    with closing(consumer(bootstrap, f"{topic}-check")) as reader:
        reader.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

        def is_read() -> bool:
            for message in taken(reader, ledger):
                ledger.read(message.key(), message.value())
            return ledger.is_read

        ledger.until("all is read", is_read)


def produce(bootstrap: list[str], prefix: str) -> str:
    topic, ledger = f"{prefix}-produce", Ledger()
    create(connect(bootstrap), topic)
    with sending(bootstrap, topic, ledger) as send:
        ledger.write(topic, send)
    read_all(bootstrap, topic, ledger)
    ledger.judge(exactly=True)
    return f"{ledger.written} records, idempotent"


class Member:
    """Reads a topic as one of a group until it is closed, and commits what it has read."""

    def __init__(self, bootstrap: list[str], group_id: str, topic: str, ledger: Ledger) -> None:
        self.owned = 0
        self.read = 0
        self._ledger = ledger
        self._leaves = threading.Event()
        self._reader = consumer(bootstrap, group_id)
        self._reader.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked)
        self._thread = thread(self._consume, ledger)

    def _assigned(self, _: object, partitions: list[Any]) -> None:
        self.owned = len(partitions)

    def _revoked(self, _: object, partitions: list[Any]) -> None:
        self.owned -= len(partitions)

    def _consume(self) -> None:
        with closing(self._reader):
            while not self._leaves.is_set():
                messages = taken(self._reader, self._ledger)
                for message in messages:
                    self._ledger.read(message.key(), message.value())
                if messages:
                    self._reader.commit(asynchronous=False)
                self.read += len(messages)

    def close(self) -> None:
        """Leave the group."""
        self._leaves.set()
        self._thread.join(DEADLINE_S)


def group(bootstrap: list[str], prefix: str) -> str:
    topic, group_id, ledger, admin = (
        f"{prefix}-group",
        f"{prefix}-readers",
        Ledger(),
        connect(bootstrap),
    )
    create(admin, topic)
    with sending(bootstrap, topic, ledger) as send:
        share(lambda: Member(bootstrap, group_id, topic, ledger), topic, ledger, send)
        resume(lambda: Member(bootstrap, group_id, topic, ledger), ledger, send)
    listed(admin, group_id)
    ledger.judge(exactly=False)
    return f"{ledger.written} records, {ledger.again} of them twice"


def listed(admin: Any, group_id: str) -> None:
    groups = admin.list_consumer_groups().result(DEADLINE_S).valid
    if group_id not in [each.group_id for each in groups]:
        raise MissedError(f"{group_id} is not listed")
    (found,) = done(admin.describe_consumer_groups([group_id]))
    if found.state.name != "EMPTY":
        raise MissedError(f"{group_id} is {found.state.name}, not EMPTY")
    done(admin.delete_consumer_groups([group_id]))


def transactions(bootstrap: list[str], prefix: str) -> str:
    source, sink, ledger, admin = (
        f"{prefix}-source",
        f"{prefix}-sink",
        Ledger(),
        connect(bootstrap),
    )
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
    servers = {"bootstrap.servers": ",".join(bootstrap)}
    producer = Producer(servers | {"transactional.id": f"{prefix}-transform"})
    producer.init_transactions(DEADLINE_S)
    copied, begun, aborted = 0, 0, 0
    with closing(consumer(bootstrap, f"{prefix}-transformers")) as reader:
        reader.subscribe([f"{prefix}-source"])
        while writing.is_alive() or copied < ledger.written:
            messages = taken(reader, ledger)
            if not messages:
                continue
            producer.begin_transaction()
            for message in messages:
                producer.produce(f"{prefix}-sink", message.value(), message.key())
            offsets = reader.position(reader.assignment())
            producer.send_offsets_to_transaction(
                offsets, reader.consumer_group_metadata(), DEADLINE_S
            )
            begun += 1
            if begun % ABORTS_EVERY == 0:
                producer.abort_transaction(DEADLINE_S)
                aborted += 1
                back(reader, messages)
            else:
                producer.commit_transaction(DEADLINE_S)
                copied += len(messages)
    return aborted


def back(reader: Consumer, messages: list[Any]) -> None:
    """Read these messages again."""
    first: dict[int, Any] = {}
    for message in messages:
        first.setdefault(message.partition(), message)
    for message in first.values():
        reader.seek(TopicPartition(message.topic(), message.partition(), message.offset()))


if __name__ == "__main__":
    items = {
        "admin": administer,
        "produce": produce,
        "group": group,
        "transactions": transactions,
    }
    run(version("confluent-kafka"), items)
