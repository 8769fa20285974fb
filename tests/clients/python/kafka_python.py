"""kafka-python in the report card: BOOTSTRAP PREFIX ITEM... ."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import CommitFailedError, RebalanceInProgressError, TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata, TopicPartition

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


def create(admin: Any, topic: str) -> None:
    admin.create_topics([NewTopic(topic, PARTITIONS, REPLICAS, topic_configs=CONFIGS)])


def administer(bootstrap: list[str], prefix: str) -> str:
    topic, ledger = f"{prefix}-admin", Ledger()
    made: Any = KafkaAdminClient(bootstrap_servers=bootstrap)
    with closing(made) as admin:
        create(admin, topic)
        try:
            create(admin, topic)
        except TopicAlreadyExistsError:
            pass
        else:
            raise MissedError("the topic was created twice")
        wanted = {"retention.ms": "1234567"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, wanted)])

        def is_configured() -> bool:
            resource = ConfigResource(ConfigResourceType.TOPIC, topic)
            found = admin.describe_configs([resource], config_filter="all")["topic"][topic]
            return {key: found[key]["value"] for key in wanted | CONFIGS} == wanted | CONFIGS

        ledger.until("the configuration is described as it was set", is_configured)
        admin.create_partitions({topic: 2 * PARTITIONS})

        def has_replicas() -> bool:
            (found,) = admin.describe_topics([topic])
            counts = [len(each["replica_nodes"]) for each in found["partitions"]]
            return counts == [REPLICAS] * 2 * PARTITIONS

        ledger.until("each partition has its replicas", has_replicas)
        admin.delete_topics([topic])
        ledger.until("the topic is gone", lambda: topic not in admin.list_topics())
    return "topics, configurations, partitions"


@contextmanager
def sending(bootstrap: list[str], topic: str, ledger: Ledger) -> Generator[Send]:
    """Give a send; all of it is acknowledged behind the block."""
    producer: Any = KafkaProducer(
        bootstrap_servers=bootstrap,
        enable_idempotence=True,
        linger_ms=1,
        metadata_max_age_ms=METADATA_AGE_MS_MAX,
    )

    def send(key: bytes, value: bytes) -> None:
        producer.send(topic, value, key).add_errback(ledger.fail)

    with closing(producer):
        yield send
        producer.flush(DEADLINE_S)


def consumer(bootstrap: list[str], **settings: Any) -> Any:
    return KafkaConsumer(
        bootstrap_servers=bootstrap,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        metadata_max_age_ms=METADATA_AGE_MS_MAX,
        **settings,
    )


def polled(reader: Any) -> list[Any]:
    found: dict[Any, list[Any]] = reader.poll(POLL_MS, max_records=BATCH)
    return [record for records in found.values() for record in records]


def read_all(bootstrap: list[str], topic: str, ledger: Ledger) -> None:
    with closing(consumer(bootstrap)) as reader:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        reader.assign(partitions)
        reader.seek_to_beginning(*partitions)

        def is_read() -> bool:
            for record in polled(reader):
                ledger.read(record.key, record.value)
            return ledger.is_read

        ledger.until("all is read", is_read)


def created(bootstrap: list[str], *topics: str) -> None:
    made: Any = KafkaAdminClient(bootstrap_servers=bootstrap)
    with closing(made) as admin:
        for topic in topics:
            create(admin, topic)


def produce(bootstrap: list[str], prefix: str) -> str:
    topic, ledger = f"{prefix}-produce", Ledger()
    created(bootstrap, topic)
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
        self._reader = consumer(bootstrap, group_id=group_id)
        self._reader.subscribe([topic], listener=self)
        self._thread = thread(self._consume, ledger)

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Count what is had beside."""
        self.owned = len(list(assigned))

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        """Count down."""
        self.owned -= len(list(revoked))

    def _consume(self) -> None:
        with closing(self._reader) as reader:
            while not self._leaves.is_set():
                records = polled(reader)
                for record in records:
                    self._ledger.read(record.key, record.value)
                self.read += len(records)
                if records:
                    self._commit()

    def _commit(self) -> None:
        # Somebody else may have its partitions by now, and reads them again.
        with suppress(CommitFailedError, RebalanceInProgressError):
            self._reader.commit()

    def close(self) -> None:
        """Leave the group."""
        self._leaves.set()
        self._thread.join(DEADLINE_S)


def group(bootstrap: list[str], prefix: str) -> str:
    topic, group_id, ledger = f"{prefix}-group", f"{prefix}-readers", Ledger()
    created(bootstrap, topic)
    with sending(bootstrap, topic, ledger) as send:
        share(lambda: Member(bootstrap, group_id, topic, ledger), topic, ledger, send)
        resume(lambda: Member(bootstrap, group_id, topic, ledger), ledger, send)
    listed(bootstrap, group_id)
    ledger.judge(exactly=False)
    return f"{ledger.written} records, {ledger.again} of them twice"


def listed(bootstrap: list[str], group_id: str) -> None:
    made: Any = KafkaAdminClient(bootstrap_servers=bootstrap)
    with closing(made) as admin:
        if group_id not in [each["group_id"] for each in admin.list_groups()]:
            raise MissedError(f"{group_id} is not listed")
        state = admin.describe_groups([group_id])[group_id]["group_state"]
        if state != "Empty":
            raise MissedError(f"{group_id} is {state}, not Empty")
        admin.delete_groups([group_id])


def transactions(bootstrap: list[str], prefix: str) -> str:
    source, sink, ledger = f"{prefix}-source", f"{prefix}-sink", Ledger()
    created(bootstrap, source, sink)
    with sending(bootstrap, source, ledger) as send:
        writing = thread(lambda: ledger.write(sink, send), ledger)
        aborted = transform(bootstrap, prefix, ledger, writing)
    read_all(bootstrap, sink, ledger)
    ledger.judge(exactly=True)
    return f"{ledger.written} records, {aborted} transactions aborted"


def transform(bootstrap: list[str], prefix: str, ledger: Ledger, writing: threading.Thread) -> int:
    """Copy source to sink, offsets and records in one transaction, and abort each third."""
    producer: Any = KafkaProducer(
        bootstrap_servers=bootstrap,
        transactional_id=f"{prefix}-transform",
        metadata_max_age_ms=METADATA_AGE_MS_MAX,
    )
    copied, begun, aborted = 0, 0, 0
    reading = consumer(bootstrap, group_id=f"{prefix}-transformers")
    with closing(producer), closing(reading) as reader:
        producer.init_transactions()
        reader.subscribe([f"{prefix}-source"])
        while writing.is_alive() or copied < ledger.written:
            records = polled(reader)
            if not records:
                continue
            producer.begin_transaction()
            for record in records:
                producer.send(f"{prefix}-sink", record.value, record.key)
            behind = {
                TopicPartition(each.topic, each.partition): OffsetAndMetadata(
                    each.offset + 1, "", -1
                )
                for each in records
            }
            producer.send_offsets_to_transaction(behind, reader.group_metadata())
            begun += 1
            if begun % ABORTS_EVERY == 0:
                producer.abort_transaction()
                aborted += 1
                back(reader, records)
            else:
                producer.commit_transaction()
                copied += len(records)
    return aborted


def back(reader: Any, records: list[Any]) -> None:
    """Read these records again."""
    first: dict[Any, int] = {}
    for each in records:
        first.setdefault(TopicPartition(each.topic, each.partition), each.offset)
    for partition, offset in first.items():
        reader.seek(partition, offset)


if __name__ == "__main__":
    items = {
        "admin": administer,
        "produce": produce,
        "group": group,
        "transactions": transactions,
    }
    run(version("kafka-python"), items)
