"""Transactions of real clients, coordinated by the brokers, while disks under them break."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaProducer
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as PythonPartition

from broker.core.coordination import partition_for
from jbodlab.processes.lab_spec import LabShape
from protocol.errors import ErrorCode
from protocol.messages.transactions import (
    DescribeTransactionsRequest,
    ListTransactionsRequest,
    TransactionState,
)
from protocol.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from tests.deadlines import DEADLINE_S
from tests.integration.labs import FAST, Lab, running_lab

PARTITIONS: Final = 50


def producer(lab: Lab, transactional_id: str, **settings: Any) -> Producer:
    """Return one that has initialized its transactions."""
    made = Producer(
        {
            "bootstrap.servers": ",".join(lab.servers),
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 60_000,
            **settings,
        }
    )
    made.init_transactions(DEADLINE_S)
    return made


def write(client: Producer, topic: str, *values: bytes, partition: int = 0) -> None:
    for value in values:
        client.produce(topic, value, partition=partition)


def read_committed(lab: Lab, topic: str, count: int, partition: int = 0) -> list[bytes]:
    """Return the first ``count`` committed values; fewer where no more come in time."""
    settings = {
        "bootstrap.servers": ",".join(lab.servers),
        "group.id": "none",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
    }
    consumer = Consumer(settings)
    found: list[bytes] = []
    with closing(consumer):
        consumer.assign([ConfluentPartition(topic, partition, 0)])
        while len(found) < count:
            for message in consumer.consume(count - len(found), DEADLINE_S):
                if message.error() is None:
                    found.append(message.value() or b"")
                else:
                    return found
    return found


def wait_for_committed(lab: Lab, topic: str, wanted: list[bytes], partition: int = 0) -> None:
    """Markers are written after the commit is answered: wait until readers see all of it."""
    lab.cluster.wait_until(
        lambda _admin: read_committed(lab, topic, len(wanted) + 1, partition) == wanted,
        f"{topic}-{partition} has {len(wanted)} committed records",
    )


def coordinator_of(lab: Lab, transactional_id: str) -> int:
    return lab.partition(TRANSACTION_STATE, partition_for(transactional_id, PARTITIONS)).leader


def described(lab: Lab, transactional_id: str) -> TransactionState:
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    broker = coordinator_of(lab, transactional_id)
    (state,) = lab.ask(request, 0, broker=broker).transaction_states
    return state


def test_readers_see_all_of_what_is_committed_and_nothing_of_what_is_aborted(
    shared_lab: Lab,
) -> None:
    lab = shared_lab
    lab.create("ledger", 2)
    client = producer(lab, "pay")

    client.begin_transaction()
    write(client, "ledger", b"one")
    write(client, "ledger", b"two", partition=1)
    client.commit_transaction(DEADLINE_S)
    client.begin_transaction()
    write(client, "ledger", b"never")
    client.abort_transaction(DEADLINE_S)
    client.begin_transaction()
    write(client, "ledger", b"three")
    client.commit_transaction(DEADLINE_S)

    wait_for_committed(lab, "ledger", [b"one", b"three"])
    wait_for_committed(lab, "ledger", [b"two"], partition=1)


def test_a_transactional_id_is_described_and_listed_by_its_coordinator(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.create("described", 1)
    client = producer(lab, "shown")
    client.begin_transaction()
    write(client, "described", b"x")
    client.flush(DEADLINE_S)

    state = described(lab, "shown")
    assert (state.error_code, state.transaction_state) == (ErrorCode.NONE, "Ongoing")
    assert [(topic.topic, list(topic.partitions)) for topic in state.topics] == [("described", [0])]
    request = ListTransactionsRequest(state_filters=["Ongoing"], producer_id_filters=[])
    broker = coordinator_of(lab, "shown")
    rows = lab.ask(request, 1, broker=broker).transaction_states
    assert "shown" in [row.transactional_id for row in rows]

    client.abort_transaction(DEADLINE_S)
    lab.cluster.wait_until(
        lambda _admin: described(lab, "shown").transaction_state == "CompleteAbort",
        "the abort is complete",
    )


def test_who_starts_with_the_same_id_fences_who_was_there(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.create("fenced", 1)
    first = producer(lab, "one-of-us")
    first.begin_transaction()
    write(first, "fenced", b"from the first")
    first.flush(DEADLINE_S)

    second = producer(lab, "one-of-us")
    with pytest.raises(KafkaException) as caught:
        first.commit_transaction(DEADLINE_S)
    assert caught.value.args[0].fatal()
    second.begin_transaction()
    write(second, "fenced", b"from the second")
    second.commit_transaction(DEADLINE_S)

    wait_for_committed(lab, "fenced", [b"from the second"])


def test_offsets_of_a_group_count_when_the_transaction_is_committed(shared_lab: Lab) -> None:
    """Consume, transform, produce: what was read and what was written go together."""
    lab = shared_lab
    lab.create("source", 1)
    lab.create("sink", 1)
    client = producer(lab, "transform")
    settings = {"bootstrap.servers": ",".join(lab.servers), "group.id": "transformers"}
    consumer = Consumer(settings | {"enable.auto.commit": False})

    def committed() -> int:
        (found,) = consumer.committed([ConfluentPartition("source", 0)], DEADLINE_S)
        return found.offset

    with closing(consumer):
        group = consumer.consumer_group_metadata()
        for offset, commits in ((3, True), (5, False), (7, True)):
            before = committed()
            client.begin_transaction()
            write(client, "sink", b"of %d" % offset)
            offsets = [ConfluentPartition("source", 0, offset)]
            client.send_offsets_to_transaction(offsets, group, DEADLINE_S)
            if commits:
                client.commit_transaction(DEADLINE_S)
                lab.cluster.wait_until(
                    lambda _admin, wanted=offset: committed() == wanted, f"offset {offset} counts"
                )
            else:
                client.abort_transaction(DEADLINE_S)
                assert committed() == before
    wait_for_committed(lab, "sink", [b"of 3", b"of 7"])


@pytest.mark.sampled_among("transactions that are interrupted", kept=1)
def test_commits_survive_the_disk_under_their_coordinator(lab: Lab) -> None:
    """While a transaction is open its coordinator's log dir fails; another broker commits it."""
    lab.create("survives", 1)
    client = producer(lab, "steady")
    index = partition_for("steady", PARTITIONS)
    client.begin_transaction()
    write(client, "survives", b"before")
    client.flush(DEADLINE_S)

    old = coordinator_of(lab, "steady")
    lab.control(old).fail(lab.log_dir_of(old, TRANSACTION_STATE, index).path, "eio")
    lab.wait_for_new_leader(TRANSACTION_STATE, old, index)
    write(client, "survives", b"after")
    retried(lambda: client.commit_transaction(DEADLINE_S))
    wait_for_committed(lab, "survives", [b"before", b"after"])

    client.begin_transaction()
    write(client, "survives", b"next")
    retried(lambda: client.commit_transaction(DEADLINE_S))
    wait_for_committed(lab, "survives", [b"before", b"after", b"next"])


@pytest.mark.sampled_among("transactions that are interrupted", kept=1)
def test_commits_survive_the_disks_under_their_records_and_offsets(tmp_path: Path) -> None:
    """Both fail between the last write and the commit; others write the markers."""
    # Either disk may hold a replica of the coordinator's partition, too: one stays in sync.
    shape = LabShape(configs=FAST | {"transaction.state.log.min.isr": "1"})
    with running_lab(tmp_path, shape) as lab:
        commit_while_disks_fail(lab)


def commit_while_disks_fail(lab: Lab) -> None:
    lab.create("taken", 1)
    client = producer(lab, "careful")
    settings = {"bootstrap.servers": ",".join(lab.servers), "group.id": "careful-readers"}
    consumer = Consumer(settings | {"enable.auto.commit": False})
    with closing(consumer):
        client.begin_transaction()
        write(client, "taken", b"one")
        group = consumer.consumer_group_metadata()
        offsets = [ConfluentPartition("taken", 0, 7)]
        retried(lambda: client.send_offsets_to_transaction(offsets, group, DEADLINE_S))
        client.flush(DEADLINE_S)
        index = partition_for("careful-readers", PARTITIONS)
        for topic, number in (("taken", 0), (CONSUMER_OFFSETS, index)):
            leader = lab.partition(topic, number).leader
            view = lab.log_dir_of(leader, topic, number)
            lab.control(leader).fail(view.path, "eio")
            lab.wait_for_new_leader(topic, leader, number)
        retried(lambda: client.commit_transaction(DEADLINE_S))
    wait_for_committed(lab, "taken", [b"one"])
    wait_for_offset(lab, "taken", "careful-readers", 7)


def retried(call: Callable[[], object]) -> None:
    """Call again what librdkafka says failed for the moment only."""
    ends_at_s = time.monotonic() + DEADLINE_S
    while True:
        try:
            call()
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > ends_at_s:
                raise
        else:
            return


@pytest.mark.sampled_among("transactions that are interrupted", kept=1)
def test_a_producer_that_goes_away_is_aborted_when_its_time_is_up(lab: Lab) -> None:
    lab.create("gone", 1)
    client = producer(lab, "left", **{"transaction.timeout.ms": 1_000})
    client.begin_transaction()
    write(client, "gone", b"never")
    client.flush(DEADLINE_S)

    lab.cluster.wait_until(
        lambda _admin: described(lab, "left").transaction_state == "CompleteAbort",
        "the coordinator aborted the transaction",
    )
    after = producer(lab, "another")
    after.begin_transaction()
    write(after, "gone", b"kept")
    after.commit_transaction(DEADLINE_S)
    wait_for_committed(lab, "gone", [b"kept"])


def test_kafka_python_commits_aborts_and_sends_offsets(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.create("kafka-python", 1)
    client: Any = KafkaProducer(bootstrap_servers=lab.servers, transactional_id="python")
    with closing(client):
        client.init_transactions()
        for value, commits in ((b"one", True), (b"never", False), (b"two", True)):
            client.begin_transaction()
            client.send("kafka-python", value).get(DEADLINE_S)
            offsets = {PythonPartition("kafka-python", 0): OffsetAndMetadata(len(value), "", -1)}
            client.send_offsets_to_transaction(offsets, "python-readers")
            if commits:
                client.commit_transaction()
            else:
                client.abort_transaction()
            wait_for_offset(lab, "kafka-python", "python-readers", 3)
    wait_for_committed(lab, "kafka-python", [b"one", b"two"])


async def test_aiokafka_commits_aborts_and_sends_offsets(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.create("aiokafka", 1)
    client: Any = AIOKafkaProducer(bootstrap_servers=",".join(lab.servers), transactional_id="aio")
    async with client:
        for value, commits in ((b"one", True), (b"never", False), (b"two", True)):
            await client.begin_transaction()
            await client.send_and_wait("aiokafka", value)
            offsets = {AioPartition("aiokafka", 0): len(value)}
            await client.send_offsets_to_transaction(offsets, "aio-readers")
            if commits:
                await client.commit_transaction()
            else:
                await client.abort_transaction()
            await asyncio.to_thread(wait_for_offset, lab, "aiokafka", "aio-readers", 3)
    await asyncio.to_thread(wait_for_committed, lab, "aiokafka", [b"one", b"two"])


def wait_for_offset(lab: Lab, topic: str, group: str, offset: int) -> None:
    """Wait until a group's offset counts: that is once its marker is written."""
    servers = {"bootstrap.servers": ",".join(lab.servers), "group.id": group}
    consumer = Consumer(servers | {"enable.auto.commit": False})

    def counts(_admin: object) -> bool:
        (found,) = consumer.committed([ConfluentPartition(topic, 0)], DEADLINE_S)
        return found.offset == offset

    with closing(consumer):
        lab.cluster.wait_until(counts, f"{group} is at {offset}")
