"""confluent-kafka, that is librdkafka, in the report card: BOOTSTRAP PREFIX ITEM... ."""

# Its admin module names what it exports in no list.
# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from tests.clients.programs import CONSUMER_GROUP, COOPERATIVE
from tests.clients.python.items import (
    GrowingHolding,
    Holding,
    Item,
    Library,
    Reader,
    Record,
    Send,
    Transactional,
    cooperative,
    group,
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

POLL_S = 0.1
BATCH = 50
CLASSIC: Final[Mapping[str, str]] = MappingProxyType({})
KIP_848: Final = MappingProxyType({"group.protocol": "consumer"})
STICKY: Final = MappingProxyType({"partition.assignment.strategy": "cooperative-sticky"})
NO_GROUP = "unused"
"""librdkafka wants the name of a group from every consumer, also from one that joins none."""


class Confluent(Library):
    def __init__(self, bootstrap: list[str], grouping: Mapping[str, str] = CLASSIC) -> None:
        """Connect; ``grouping`` says how members of a group share."""
        super().__init__(bootstrap)
        self._grouping = dict(grouping)
        self._servers: dict[str, Any] = {"bootstrap.servers": ",".join(bootstrap)}
        self._admin: Any = AdminClient(self._servers)

    def create(self, *topics: str) -> None:
        wanted = [NewTopic(each, PARTITIONS, REPLICAS, config=CONFIGS) for each in topics]
        done(self._admin.create_topics(wanted))

    def administer(self, topic: str) -> None:
        admin, ledger = self._admin, Ledger()
        self.create(topic)
        try:
            self.create(topic)
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
            values = (found["retention.ms"].value, found["min.insync.replicas"].value)
            return values == ("1234567", "2")

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

    def check_left(self, group_id: str) -> None:
        groups = self._admin.list_consumer_groups().result(DEADLINE_S).valid
        if group_id not in [each.group_id for each in groups]:
            raise MissedError(f"{group_id} is not listed")
        (found,) = done(self._admin.describe_consumer_groups([group_id]))
        if found.state.name != "EMPTY":
            raise MissedError(f"{group_id} is {found.state.name}, not EMPTY")
        done(self._admin.delete_consumer_groups([group_id]))

    @contextmanager
    def sending(self, topic: str, ledger: Ledger) -> Generator[Send]:
        settings = {"enable.idempotence": True, "linger.ms": 1}
        producer = Producer({**self._servers, **settings})

        def send(key: bytes, value: bytes) -> None:
            def told(error: object, _: object) -> None:
                if error is not None:
                    ledger.fail(error)

            producer.produce(topic, value, key, on_delivery=told)
            producer.poll(0)

        yield send
        if producer.flush(DEADLINE_S):
            raise MissedError("records are not acknowledged")

    @contextmanager
    def reading(self, ledger: Ledger, group_id: str | None) -> Generator[Reader]:
        settings = {
            "group.id": group_id or NO_GROUP,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
        grouping = self._grouping if group_id is not None else {}
        with closing(Consumer({**self._servers, **settings, **grouping})) as consumer:
            yield ConfluentReader(consumer, ledger)

    @contextmanager
    def in_transactions(self, transactional_id: str) -> Generator[Transactional]:
        producer = Producer({**self._servers, "transactional.id": transactional_id})
        producer.init_transactions(DEADLINE_S)
        yield ConfluentTransactional(producer)


def _nothing() -> None:
    """Join no group."""


def done(futures: dict[Any, Any]) -> list[Any]:
    """Wait for what an admin call promised."""
    return [future.result(DEADLINE_S) for future in futures.values()]


class ConfluentReader(Reader):
    """A member that was refused its offsets joins anew: see ``programs.NOTES``."""

    def __init__(self, consumer: Any, ledger: Ledger) -> None:
        self.consumer = consumer
        self._ledger = ledger
        self._join: Callable[[], None] = _nothing
        self._lacks_offsets = False

    def assign(self, topic: str) -> None:
        self.consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

    def subscribe(self, topic: str) -> Holding:
        holding = GrowingHolding()

        def assigned(_: object, partitions: list[Any]) -> None:
            holding.on_partitions_assigned(partitions)

        def revoked(_: object, partitions: list[Any]) -> None:
            holding.on_partitions_revoked(partitions)

        self._join = partial(
            self.consumer.subscribe, [topic], on_assign=assigned, on_revoke=revoked
        )
        self._join()
        return holding

    def polled(self) -> list[Record]:
        if self._lacks_offsets:
            self._lacks_offsets = False
            self.consumer.unsubscribe()
            self._join()
        messages: list[Record] = []
        for each in self.consumer.consume(BATCH, POLL_S):
            error = each.error()
            if error is None:
                place = each.topic(), each.partition(), each.offset()
                messages.append(Record(*place, each.key(), each.value()))
            elif error.code() == KafkaError.NOT_COORDINATOR:
                self._lacks_offsets = True
            elif not error.retriable() and error.fatal():
                self._ledger.fail(error)
        return messages

    def commit(self) -> None:
        self.consumer.commit(asynchronous=False)

    def seek(self, topic: str, partition: int, offset: int) -> None:
        self.consumer.seek(TopicPartition(topic, partition, offset))


class ConfluentTransactional(Transactional):
    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, record: Record) -> None:
        self._producer.produce(topic, record.value, record.key)

    def send_offsets(self, reader: ConfluentReader, records: Sequence[Record]) -> None:
        offsets = reader.consumer.position(reader.consumer.assignment())
        group = reader.consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction(offsets, group, DEADLINE_S)

    def commit(self) -> None:
        self._producer.commit_transaction(DEADLINE_S)

    def abort(self) -> None:
        """Abort, once no request waits that would be dropped: see ``programs.NOTES``."""
        self._producer.flush(DEADLINE_S)
        self._producer.abort_transaction(DEADLINE_S)


def shared_by(protocol: Mapping[str, str], item: Callable[[Library, str], str]) -> Item:
    """Return an item whose groups share so, with names that tell it from others."""
    (name,) = protocol.values()
    return lambda bootstrap, prefix: item(Confluent(bootstrap, protocol), f"{prefix}-{name}")


if __name__ == "__main__":
    run_items(
        version("confluent-kafka"),
        Confluent,
        {CONSUMER_GROUP: shared_by(KIP_848, group), COOPERATIVE: shared_by(STICKY, cooperative)},
    )
