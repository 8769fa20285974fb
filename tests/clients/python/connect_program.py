"""Kafka Connect in the report card: LIBS BOOTSTRAP PREFIX ITEM... .

librdkafka writes what connectors copy, and reads what they wrote to topics.
"""

# Its admin module names what it exports in no list.
# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from jbodlab.processes.lab_spec import LabShape
from tests.clients.disks import VICTIM
from tests.clients.programs import CONNECTORS, MIRROR
from tests.clients.python.confluent import Confluent, ConfluentReader, done
from tests.clients.python.connect_workers import Workers, workers
from tests.clients.python.items import Send, read_all
from tests.clients.python.ledger import (
    CONFIGS,
    DEADLINE_S,
    HALF,
    PARTITIONS,
    REPLICAS,
    Ledger,
    MissedError,
    run,
    thread,
)
from tests.integration.labs import FAST, running_lab

RELEASE: Final = "4.3.1"
MIRRORS: Final = "org.apache.kafka.connect.mirror"
BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
ORIGIN: Final = "origin"
RETENTION: Final = "retention.ms"
RETENTIONS_MS: Final = ("1234567", "7654321")
LINES_OF_A_POLL: Final = "100000"
"""Of what it has read beyond them FileStreamSource gives nothing before the file grows."""


def connectors(libs: Path, bootstrap: list[str], prefix: str) -> str:
    """Copy a file's lines into a topic, exactly once, and on into another file.

    Once a disk has failed, the worker that reads the file is killed while it grows.
    """
    topic, ledger = f"{prefix}-lines", Ledger()
    source, sink = f"{prefix}-file-source", f"{prefix}-file-sink"
    _create_at_victim(bootstrap, topic)
    with (
        tempfile.TemporaryDirectory(prefix="jbodlab-connect-") as name,
        workers(libs, bootstrap, f"{prefix}-workers", Path(name)) as running,
    ):
        read, written = Path(name, "in"), Path(name, "out")
        read.touch()
        written.touch()
        _start_files(running, topic, {source: read, sink: written})
        with read.open("ab", buffering=0) as lines, _followed(written, ledger):

            def send(key: bytes, value: bytes) -> None:
                lines.write(key + b" " + value + b"\n")

            ledger.write(topic, send, f"connect-{sink}", f"{running.group}-{source}-0")
            ledger.until("each line is in the other file", lambda: ledger.is_read)
            more = thread(lambda: _write_half(ledger, send), ledger)
            running.kill_worker_of(source)
            more.join(DEADLINE_S)
            ledger.until("each line is there, without one worker", lambda: ledger.is_read)
        for each in (source, sink):
            running.wait_until(f"{each} runs", lambda of=each: running.is_running(of))
            running.forget(each)
    ledger.judge(exactly=False)
    stored = Ledger()
    for _ in range(ledger.written):
        stored.next()
    _read_lines(bootstrap, topic, stored)
    return f"{ledger.written} lines, {ledger.again} of them twice in the file"


def _create_at_victim(bootstrap: list[str], topic: str) -> None:
    """Create it with one partition, in whose order all lines stay."""
    others = [each for each in range(1, REPLICAS + 1) if each != VICTIM]
    wanted = NewTopic(topic, 1, replica_assignment=[[VICTIM, *others]], config=CONFIGS)
    admin = _admin(bootstrap)
    done(admin.create_topics([wanted]))


def _admin(bootstrap: list[str]) -> Any:
    return AdminClient({"bootstrap.servers": ",".join(bootstrap)})


def _start_files(running: Workers, topic: str, files: dict[str, Path]) -> None:
    (source, read), (sink, written) = files.items()
    running.start(
        source,
        {
            "connector.class": "FileStreamSource",
            "file": str(read),
            "topic": topic,
            "batch.size": LINES_OF_A_POLL,
            "exactly.once.support": "required",
        },
    )
    running.start(
        sink,
        {
            "connector.class": "FileStreamSink",
            "file": str(written),
            "topics": topic,
            "consumer.override.isolation.level": "read_committed",
        },
    )


@contextmanager
def _followed(file: Path, ledger: Ledger) -> Generator[None]:
    """Have the ledger read each line that a file gets."""
    ended = threading.Event()

    def follow() -> None:
        with file.open("rb") as lines:
            begun = b""
            while not ended.wait(0.02):
                *whole, begun = (begun + lines.read()).split(b"\n")
                for line in whole:
                    ledger.read(*line.split(b" "))

    following = thread(follow, ledger)
    try:
        yield
    finally:
        ended.set()
        following.join(DEADLINE_S)


def _write_half(ledger: Ledger, send: Send) -> None:
    for _ in range(HALF):
        send(*ledger.next())


def _read_lines(bootstrap: list[str], topic: str, ledger: Ledger) -> None:
    """Read the lines of a topic: each is there once, in order."""
    with closing(_consumer(bootstrap, "unused")) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        reader = ConfluentReader(consumer, ledger)

        def is_read() -> bool:
            for record in reader.polled():
                ledger.read(*(record.value or b"").split(b" "))
            return ledger.is_read

        ledger.until("all is read", is_read)
    ledger.judge(exactly=True)


def _consumer(bootstrap: list[str], group: str) -> Any:
    return Consumer(
        {
            "bootstrap.servers": ",".join(bootstrap),
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )


def mirror(libs: Path, bootstrap: list[str], prefix: str) -> str:
    """Copy a topic of another cluster, exactly once, with its configuration; a group follows."""
    topic, ledger = f"{prefix}-mirrored", Ledger()
    copy, source = f"{ORIGIN}.{topic}", f"{prefix}-mirror"
    with tempfile.TemporaryDirectory(prefix="jbodlab-connect-") as name:
        folder, shape = Path(name), LabShape(brokers=1, log_dirs=1, configs=FAST)
        with (
            running_lab(folder / ORIGIN, shape) as origin,
            workers(libs, bootstrap, f"{prefix}-mirrors", folder) as running,
        ):
            configs = {RETENTION: RETENTIONS_MS[0]}
            origin.create(topic, PARTITIONS, configs=configs, replication_factor=1)
            running.start(source, _ends(origin.servers, bootstrap) | _copied(topic))
            with Confluent(origin.servers).sending(topic, ledger) as send:
                ledger.write(copy, send, f"{prefix}-readers", f"{running.group}-{source}-0")
            _set_retention(_admin(origin.servers), topic, RETENTIONS_MS[1])
            _follow(running, origin.servers, bootstrap, prefix, ledger)
            admin = _admin(bootstrap)
            ledger.until(
                "the configuration is copied",
                lambda: _retention(admin, copy) == RETENTIONS_MS[1],
            )
            running.wait_until(f"{source} runs", lambda: running.is_running(source))
            running.forget(source)
    read_all(Confluent(bootstrap), copy, ledger)
    return f"{ledger.written} records"


def _ends(origin: list[str], target: list[str]) -> dict[str, str]:
    return {
        "source.cluster.alias": ORIGIN,
        "target.cluster.alias": "target",
        "source.cluster.bootstrap.servers": ",".join(origin),
        "target.cluster.bootstrap.servers": ",".join(target),
        "key.converter": BYTES,
        "value.converter": BYTES,
    }


def _copied(topic: str) -> dict[str, str]:
    return {
        "connector.class": f"{MIRRORS}.MirrorSourceConnector",
        "topics": topic,
        "replication.factor": str(REPLICAS),
        "exactly.once.support": "required",
        "consumer.isolation.level": "read_committed",
        # It copies configurations of topics alone whose copies it has seen.
        "refresh.topics.interval.seconds": "1",
        "sync.topic.configs.interval.seconds": "1",
        "offset.lag.max": "0",
        "offset-syncs.topic.replication.factor": "1",
    }


def _translated(group: str) -> dict[str, str]:
    return {
        "connector.class": f"{MIRRORS}.MirrorCheckpointConnector",
        "groups": group,
        "checkpoints.topic.replication.factor": str(REPLICAS),
        "emit.checkpoints.interval.seconds": "1",
        "sync.group.offsets.enabled": "true",
        "sync.group.offsets.interval.seconds": "1",
        "offset-syncs.topic.replication.factor": "1",
    }


def _follow(
    running: Workers, origin: list[str], target: list[str], prefix: str, ledger: Ledger
) -> None:
    """Have a group read all at the origin, and go on with the copy: it misses nothing."""
    topic, group, checkpoints = f"{prefix}-mirrored", f"{prefix}-readers", f"{prefix}-checkpoints"
    copy, seen = f"{ORIGIN}.{topic}", Counter[tuple[bytes, bytes]]()
    with closing(_consumer(origin, group)) as consumer:
        consumer.subscribe([topic])
        reader = ConfluentReader(consumer, ledger)
        ledger.until("the group has read all", lambda: _count(reader, seen) == ledger.written)
        consumer.commit(asynchronous=False)
    before, admins = ledger.written, (_admin(origin), _admin(target))
    running.start(checkpoints, _ends(origin, target) | _translated(group))
    ledger.until(
        "the offsets of the group are copied",
        lambda: _committed(admins[1], group, copy) == _committed(admins[0], group, topic),
    )
    later = [ledger.next() for _ in range(HALF)]
    with Confluent(origin).sending(topic, ledger) as send:
        for key, value in later:
            send(key, value)
    seen.clear()
    with closing(_consumer(target, group)) as consumer:
        consumer.subscribe([copy])
        reader = ConfluentReader(consumer, ledger)
        ledger.until(
            "the group has read what came later",
            lambda: _count(reader, seen) >= HALF and set(later) <= set(seen),
        )
    if sum(seen.values()) >= before + HALF:
        raise MissedError("the group began anew with the copy")
    running.forget(checkpoints)


def _count(reader: ConfluentReader, seen: Counter[tuple[bytes, bytes]]) -> int:
    """Count the next records; return how many there were."""
    seen.update((record.key or b"", record.value or b"") for record in reader.polled())
    return sum(seen.values())


def _committed(admin: Any, group: str, topic: str) -> set[int]:
    """Return the partitions in which a group has read something."""
    try:
        (found,) = done(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
    except KafkaException as error:
        if error.args[0].name() != "GROUP_ID_NOT_FOUND":
            raise
        return set()
    places = [each for each in found.topic_partitions if each.topic == topic]
    return {each.partition for each in places if each.offset > 0}


def _set_retention(admin: Any, topic: str, value: str) -> None:
    entry = ConfigEntry(RETENTION, value, incremental_operation=AlterConfigOpType.SET)
    changed = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    done(admin.incremental_alter_configs([changed]))


def _retention(admin: Any, topic: str) -> str:
    (found,) = done(admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
    return found[RETENTION].value


def main() -> None:
    """Run what the command line names; its first word is the folder of the jars."""
    libs = Path(sys.argv.pop(1))
    run(RELEASE, {CONNECTORS: partial(connectors, libs), MIRROR: partial(mirror, libs)})


if __name__ == "__main__":
    main()
