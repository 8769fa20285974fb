"""kafka-python in the report card: BOOTSTRAP PREFIX ITEM... ."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import CommitFailedError, RebalanceInProgressError, TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata, TopicPartition

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


class KafkaPython(Library):
    @contextmanager
    def _admin(self) -> Generator[Any]:
        admin: Any = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        with closing(admin):
            yield admin

    def create(self, *topics: str) -> None:
        with self._admin() as admin:
            for topic in topics:
                create(admin, topic)

    def administer(self, topic: str) -> None:
        ledger = Ledger()
        with self._admin() as admin:
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

    def check_left(self, group_id: str) -> None:
        with self._admin() as admin:
            if group_id not in [each["group_id"] for each in admin.list_groups()]:
                raise MissedError(f"{group_id} is not listed")
            state = admin.describe_groups([group_id])[group_id]["group_state"]
            if state != "Empty":
                raise MissedError(f"{group_id} is {state}, not Empty")
            admin.delete_groups([group_id])

    @contextmanager
    def sending(self, topic: str, ledger: Ledger) -> Generator[Send]:
        producer: Any = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            enable_idempotence=True,
            linger_ms=1,
            metadata_max_age_ms=METADATA_AGE_MS_MAX,
        )

        def send(key: bytes, value: bytes) -> None:
            producer.send(topic, value, key).add_errback(ledger.fail)

        with closing(producer):
            yield send
            producer.flush(DEADLINE_S)

    @contextmanager
    def reading(self, ledger: Ledger, group_id: str | None) -> Generator[Reader]:
        consumer: Any = KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=group_id,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            metadata_max_age_ms=METADATA_AGE_MS_MAX,
        )
        with closing(consumer):
            yield KafkaPythonReader(consumer)

    @contextmanager
    def in_transactions(self, transactional_id: str) -> Generator[Transactional]:
        producer: Any = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            transactional_id=transactional_id,
            metadata_max_age_ms=METADATA_AGE_MS_MAX,
        )
        with closing(producer):
            producer.init_transactions()
            yield KafkaPythonTransactional(producer)


def create(admin: Any, topic: str) -> None:
    admin.create_topics([NewTopic(topic, PARTITIONS, REPLICAS, topic_configs=CONFIGS)])


class KafkaPythonReader(Reader):
    def __init__(self, consumer: Any) -> None:
        self.consumer = consumer

    def assign(self, topic: str) -> None:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        self.consumer.assign(partitions)
        self.consumer.seek_to_beginning(*partitions)

    def subscribe(self, topic: str) -> Holding:
        listener = Listener()
        self.consumer.subscribe([topic], listener=listener)
        return listener

    def polled(self) -> list[Any]:
        found: dict[Any, list[Any]] = self.consumer.poll(POLL_MS, max_records=BATCH)
        return [record for records in found.values() for record in records]

    def commit(self) -> None:
        # Somebody else may have its partitions by now, and reads them again.
        with suppress(CommitFailedError, RebalanceInProgressError):
            self.consumer.commit()

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self.consumer.seek(TopicPartition(topic, partition), offset)


class Listener(Holding, ConsumerRebalanceListener):
    """The library asks for its own class."""


class KafkaPythonTransactional(Transactional):
    def __init__(self, producer: Any) -> None:
        self._producer = producer

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, record: Record) -> None:
        self._producer.send(topic, record.value, record.key)

    def send_offsets(self, reader: KafkaPythonReader, records: Sequence[Record]) -> None:
        behind = {
            TopicPartition(each.topic, each.partition): OffsetAndMetadata(each.offset + 1, "", -1)
            for each in records
        }
        group = reader.consumer.group_metadata()
        self._producer.send_offsets_to_transaction(behind, group)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()


if __name__ == "__main__":
    run_items(version("kafka-python"), KafkaPython)
