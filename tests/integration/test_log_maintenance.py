"""Retention, DeleteRecords and compression.type with real processes and clients of others."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient

from jbodlab.processes.lab_spec import LabShape
from tests.integration.labs import (
    DEADLINE_MS,
    FAST,
    Lab,
    consume_with_confluent,
    produce_with_confluent,
    running_lab,
)

SOON = {
    "log.initial.task.delay.ms": "300",
    "log.retention.check.interval.ms": "300",
    "log.flush.start.offset.checkpoint.interval.ms": "300",
}


@pytest.fixture(scope="module")
def tidy_lab(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lab]:
    """A cluster that looks for old segments several times a second."""
    with running_lab(tmp_path_factory.mktemp("tidy"), LabShape(configs=FAST | SOON)) as lab:
        yield lab


def values(count: int) -> list[bytes]:
    return [f"record {number:06d}".encode() for number in range(count)]


def delete_records(lab: Lab, topic: str, offset: int) -> int:
    """Delete with librdkafka's admin client; return the low watermark."""
    admin: Any = AdminClient({"bootstrap.servers": ",".join(lab.servers)})
    asked = ConfluentPartition(topic, 0, offset)
    (future,) = admin.delete_records([asked]).values()
    deleted = future.result(timeout=DEADLINE_MS / 1000)
    return int(deleted.low_watermark)


def log_files(lab: Lab, broker: int, topic: str) -> list[str]:
    folder = Path(lab.log_dir_of(broker, topic).path) / f"{topic}-0"
    return sorted(entry.name for entry in folder.iterdir() if entry.suffix == ".log")


def start_of(lab: Lab, broker: int, topic: str) -> int:
    return int(log_files(lab, broker, topic)[0][:20])


def test_old_segments_go_on_every_replica(tidy_lab: Lab) -> None:
    lab = tidy_lab
    configs = {"min.insync.replicas": "2", "segment.bytes": "4096", "retention.bytes": "10000"}
    lab.create("bounded", assignment={0: [1, 2, 3]}, configs=configs)
    produce_with_confluent(lab, "bounded", values(1000), **{"batch.num.messages": 50})
    lab.cluster.wait_until(
        lambda _: all(start_of(lab, broker, "bounded") > 0 for broker in (1, 2, 3)),
        "every replica removed segments",
        DEADLINE_MS,
    )
    assert len(consume_with_confluent(lab, "bounded", 20)) == 20


@pytest.mark.scenario(96)
def test_deleted_records_stay_deleted_through_a_move(tidy_lab: Lab) -> None:
    lab = tidy_lab
    lab.create("shortened", assignment={0: [1, 2, 3]})
    produce_with_confluent(lab, "shortened", values(100))
    assert delete_records(lab, "shortened", 3) == 3
    source = lab.log_dir_of(1, "shortened").path
    lab.move(1, "shortened", lab.other_dir(1, source))
    assert consume_with_confluent(lab, "shortened", 97) == values(100)[3:]
    assert delete_records(lab, "shortened", -1) == 100
    produce_with_confluent(lab, "shortened", [b"later"])
    assert consume_with_confluent(lab, "shortened", 1) == [b"later"]


def test_a_topics_own_codec_is_what_consumers_get(tidy_lab: Lab) -> None:
    lab = tidy_lab
    configs = {"min.insync.replicas": "2", "compression.type": "zstd"}
    lab.create("packed", assignment={0: [1, 2, 3]}, configs=configs)
    settings = {"compression.codec": "gzip", "linger.ms": 50}
    produce_with_confluent(lab, "packed", values(1000), **settings)
    assert consume_with_confluent(lab, "packed", 1000) == values(1000)
    name = log_files(lab, 2, "packed")[0]
    data = (Path(lab.log_dir_of(2, "packed").path) / "packed-0" / name).read_bytes()
    assert data[22] & 7 == 4
