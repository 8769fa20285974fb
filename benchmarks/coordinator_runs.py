"""The measurements of the coordinators' benchmark: each takes a running target, returns figures.

Clients are librdkafka's (confluent-kafka); who commits for a thousand groups speaks the wire
protocol itself. It starts nothing; ``benchmarks.coordinators`` owns the targets.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from statistics import median
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from benchmarks.load import produce
from benchmarks.paced import latencies_of
from benchmarks.runs import BROKER_IDS, PARTITIONS, Figure, create_topic
from benchmarks.targets import Target
from broker.core.coordination import partition_for
from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.properties import ClientSettings
from jbodlab.kafka_tools.group_questions import commit, describe_committed, find_coordinator
from protocol.errors import KafkaError
from protocol.ids import TopicPartition as Partition
from protocol.topic_names import CONSUMER_OFFSETS

RECORDS_OF_A_TRANSACTION: Final = 100
OFFSETS_PARTITIONS: Final = 50
SESSION_TIMEOUT_MS: Final = 6_000
"""The least that brokers allow unless they are told otherwise."""
_SESSION: Final = f"session.timeout.ms={SESSION_TIMEOUT_MS}"
_SIZE_BYTES: Final = 1024
_READERS: Final = 7
_EAGER: Final = {"queued.min.messages": 1_000_000, "fetch.queue.backoff.ms": 10}
"""When its queue is full, as a fast broker makes it, librdkafka asks for nothing for a second."""
_DEADLINE_S: Final = 120.0
_REQUEST_TIMEOUT_MS: Final = 5_000


def transactions(target: Target, *, count: int) -> list[Figure]:
    """Commit ``count`` transactions of 100 records of 1 KiB each, one after the other, RF 3."""
    create_topic(target, "paid", partitions=PARTITIONS, replicas=3)
    settings = {"bootstrap.servers": target.bootstrap, "transactional.id": "bench", "linger.ms": 5}
    producer = Producer(settings)
    producer.init_transactions(_DEADLINE_S)
    value = bytes(_SIZE_BYTES)

    def one(_number: int) -> None:
        producer.begin_transaction()
        for index in range(RECORDS_OF_A_TRANSACTION):
            producer.produce("paid", value, partition=index % PARTITIONS)
        producer.commit_transaction(_DEADLINE_S)

    return _one_after_the_other(one, count, "transactions of 100 x 1 KiB RF 3", "transaction")


def commits(target: Target, *, count: int) -> list[Figure]:
    """Commit one offset ``count`` times, each after the answer to the one before."""
    create_topic(target, "read", partitions=1, replicas=3)
    consumer = _consumer(target, "committers")

    def one(offset: int) -> None:
        consumer.commit(offsets=[TopicPartition("read", 0, offset)], asynchronous=False)

    with closing(consumer):
        _insist(partial(one, 0))  # Until there is a coordinator.
        return _one_after_the_other(
            one, count, "offset commits, one after the other", "offset commit"
        )


def _one_after_the_other(
    one: Callable[[int], None], count: int, all_name: str, one_name: str
) -> list[Figure]:
    """Do one with each number below ``count``, a tenth of them unmeasured before."""
    for number in range(count // 10):
        one(number)
    taken_s: list[float] = []
    for number in range(count):
        began_s = time.perf_counter()
        one(number)
        taken_s.append(time.perf_counter() - began_s)
    found = latencies_of(taken_s)
    return [
        Figure(all_name, count / sum(taken_s), "1/s"),
        Figure(f"{one_name} p50", found.p50_ms, "ms", "lower"),
        Figure(f"{one_name} p99", found.p99_ms, "ms", "lower"),
    ]


def consumption(target: Target, *, count: int) -> list[Figure]:
    """Let groups of one member read ``count`` records of 1 KiB; the median of several groups."""
    create_topic(target, "consumed", partitions=PARTITIONS, replicas=3)
    write = partial(produce, target.bootstrap, "consumed", partitions=PARTITIONS, acks="all")
    write(size_bytes=_SIZE_BYTES, count=count)
    rates = [_consume(target, f"readers-{number}", count) for number in range(_READERS)]
    return [Figure("consumption of a group, 1 KiB", median(rates), "MB/s")]


def _consume(target: Target, group: str, count: int) -> float:
    """Return MB/s of a group that reads ``count`` records from the second quarter on, and commits.

    What librdkafka fetched before its first record was asked for would count as infinitely fast.
    """
    consumer = _consumer(target, group, **_EAGER)
    consumer.subscribe(["consumed"])
    _read(consumer, count // 4)
    began_s = time.perf_counter()
    _read(consumer, count - count // 4)
    taken_s = time.perf_counter() - began_s
    consumer.commit(asynchronous=False)
    consumer.close()
    return (count - count // 4) * _SIZE_BYTES / taken_s / 1e6


def _read(consumer: Consumer, count: int) -> None:
    seen, began_s = 0, time.perf_counter()
    while seen < count:
        seen += len(consumer.consume(min(10_000, count - seen), 5))
        if time.perf_counter() - began_s > _DEADLINE_S:
            raise RuntimeError(f"{seen} of {count} records after {_DEADLINE_S:.0f} s")


def rebalance(target: Target, *, members: Sequence[int]) -> list[Figure]:
    """Have one join a group of so many members, then let one die; until each partition is owned."""
    figures: list[Figure] = []
    for size in members:
        with _group(target, size) as group:
            began_s = time.perf_counter()
            group.join()
            group.wait_until_owned(size + 1)
            joined_s = time.perf_counter() - began_s
            began_s = time.perf_counter()
            group.kill_one()
            group.wait_until_owned(size)
            died_s = time.perf_counter() - began_s
        name = f"rebalance, group of {size}"
        noticed_s = died_s - SESSION_TIMEOUT_MS / 1000
        figures += [
            Figure(f"{name}: one joins", joined_s, "s", "lower"),
            Figure(f"{name}: one dies, beyond {_SESSION}", noticed_s, "s", "lower"),
        ]
    return figures


def offsets_disk(target: Target) -> list[Figure]:
    """Break the disk under the partition of a group's offsets; until the group commits again."""
    create_topic(target, "under-offsets", partitions=1, replicas=3)
    group = "survivors"
    with _client(target) as client:
        offsets = {Partition("under-offsets", 0): 1}
        commit(client, group, offsets)
        _break_offsets_partition(target, client, group)
        began_s = time.perf_counter()
        _insist(lambda: commit(client, group, offsets))
        taken_s = time.perf_counter() - began_s
    return [Figure("group commits again after its disk broke", taken_s, "s", "lower")]


def many_groups(target: Target, *, count: int) -> list[Figure]:
    """Commit for ``count`` groups; memory of it, and until all answer after a disk broke."""
    create_topic(target, "of-many", partitions=10, replicas=3)
    offsets = {Partition("of-many", index): index for index in range(10)}
    names = [f"group-{number}" for number in range(count)]
    with _client(target) as client:
        commit(client, "first", offsets)  # It makes the topic of offsets.
        before = sum(target.resident_bytes().values())
        for name in names:
            commit(client, name, offsets)
        grown = sum(target.resident_bytes().values()) - before
        _break_offsets_partition(target, client, names[0])
        began_s = time.perf_counter()
        for name in names:
            found = _insist(partial(describe_committed, client, name))
            if found != offsets:
                raise RuntimeError(f"{name} lost offsets: {found}")
        taken_s = time.perf_counter() - began_s
    return [
        Figure(f"memory of {count} groups, all processes", grown / 1e6, "MB", "lower"),
        Figure(f"{count} groups answer after a disk broke", taken_s, "s", "lower"),
    ]


class _Group:
    """Members in threads, which poll until they are told to end."""

    def __init__(self, target: Target, topic: str, partitions: int) -> None:
        self._target = target
        self._topic = topic
        self._partitions = partitions
        self._members: list[_Member] = []
        self._made = 0

    def join(self) -> None:
        self._made += 1
        # A member with an instance id leaves without a word: brokers notice by its silence.
        self._members.append(_Member(self._target, self._topic, f"member-{self._made}"))

    def kill_one(self) -> None:
        self._members.pop().end()

    def wait_until_owned(self, count: int) -> None:
        """Return when all partitions are owned by ``count`` members, each having some."""
        end = time.monotonic() + _DEADLINE_S
        while time.monotonic() < end:
            owned = [set(member.owned) for member in self._members]
            in_all = sum(map(len, owned))
            if len(owned) == count and all(owned) and in_all == self._partitions:
                return
            time.sleep(0.005)
        raise RuntimeError(f"a group of {count} had no balance after {_DEADLINE_S:.0f} s")

    def end(self) -> None:
        for member in self._members:
            member.end()


class _Member:
    def __init__(self, target: Target, topic: str, instance: str) -> None:
        self.owned: frozenset[int] = frozenset()
        self._ends = threading.Event()
        words = {"group.instance.id": instance, "session.timeout.ms": SESSION_TIMEOUT_MS}
        more = {"heartbeat.interval.ms": 500, "partition.assignment.strategy": "range"}
        self._consumer = _consumer(target, f"of-{topic}", **words, **more)
        self._thread = threading.Thread(target=self._run, args=(topic,), daemon=True)
        self._thread.start()

    def _run(self, topic: str) -> None:
        self._consumer.subscribe([topic], on_assign=self._assigned, on_revoke=self._revoked)
        while not self._ends.is_set():
            self._consumer.poll(0.05)
        self._consumer.close()

    def _assigned(self, _consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self.owned = frozenset(each.partition for each in partitions)

    def _revoked(self, _consumer: Consumer, _partitions: Sequence[TopicPartition]) -> None:
        self.owned = frozenset()

    def end(self) -> None:
        self._ends.set()
        self._thread.join(_DEADLINE_S)


@contextmanager
def _group(target: Target, size: int) -> Generator[_Group]:
    """Give a group of so many members, who share a topic of twice as many partitions."""
    topic, partitions = f"shared-{size}", size * 2
    create_topic(target, topic, partitions=partitions, replicas=3)
    group = _Group(target, topic, partitions)
    try:
        for _ in range(size):
            group.join()
        group.wait_until_owned(size)
        yield group
    finally:
        group.end()


def _consumer(target: Target, group: str, **more: Any) -> Consumer:
    settings = {"bootstrap.servers": target.bootstrap, "group.id": group}
    settings |= {"enable.auto.commit": False, "auto.offset.reset": "earliest"}
    return Consumer(settings | more)


def _client(target: Target) -> ClusterClient:
    settings = ClientSettings(
        bootstrap=target.bootstrap,
        client_id="bench",
        request_timeout_ms=_REQUEST_TIMEOUT_MS,
        api_timeout_ms=int(_DEADLINE_S * 1000),
    )
    return ClusterClient(settings, pause=lambda _s: time.sleep(0.005))


def _insist(call: Callable[[], Any]) -> Any:
    """Call again while it fails: a broker may be busy with its failed disk."""
    end = time.monotonic() + _DEADLINE_S
    while True:
        try:
            return call()
        except (KafkaError, KafkaException, ToolFailure):
            if time.monotonic() > end:
                raise


def _break_offsets_partition(target: Target, client: ClusterClient, group: str) -> None:
    """Put a file where the log dir was that has a group's offsets on their leader."""
    name = f"{CONSUMER_OFFSETS}-{partition_for(group, OFFSETS_PARTITIONS)}"
    leader = find_coordinator(client, group).id
    assert leader in BROKER_IDS
    (log_dir,) = [path for path in target.log_dirs(leader) if (path / name).is_dir()]
    shutil.move(log_dir, log_dir.with_suffix(".taken"))
    log_dir.write_text("not a directory\n")
