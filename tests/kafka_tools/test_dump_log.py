"""kafka-dump-log on files that our brokers wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.integration.labs import Lab, produce_with_confluent
from tests.kafka_tools.tools import KafkaTools


@pytest.fixture
def segment(lab: Lab, topic: str) -> Path:
    """The first segment of a leader: five batches of ten records, indexed one by one."""
    configs = {"min.insync.replicas": "1", "index.interval.bytes": "0"}
    lab.create(topic, assignment={0: [1]}, configs=configs)
    values = [b"value %d" % number for number in range(50)]
    produce_with_confluent(lab, topic, values, **{"batch.num.messages": 10})
    return Path(lab.log_dir_of(1, topic).path) / f"{topic}-0" / f"{0:020}.log"


def dumped(tools: KafkaTools, file: Path, options: str = "") -> list[str]:
    """Return what the tool says of one file, the heading aside."""
    printed = tools.run(f"kafka-dump-log {options} --files", str(file))
    assert (printed.code, printed.err) == (0, ""), printed.err[:600]
    heading, *lines = printed.lines
    assert heading == f"Dumping {file}"
    return lines


def test_batches_are_whole(tools: KafkaTools, segment: Path):
    first, *batches = dumped(tools, segment)
    assert first == "Log starting offset: 0"
    found = [re.match(r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) ", one) for one in batches]
    numbers = [tuple(map(int, one.groups())) for one in found if one is not None]
    assert len(numbers) == len(batches) >= 5
    assert sum(count for *_, count in numbers) == 50
    assert all(last - base + 1 == count for base, last, count in numbers)
    assert all(one.endswith(" isvalid: true") for one in batches)


def test_records_are_readable(tools: KafkaTools, segment: Path):
    lines = dumped(tools, segment, "--print-data-log")
    payloads = [line.partition(" payload: ")[2] for line in lines if line.startswith("| offset")]
    assert payloads == [f"value {number}" for number in range(50)]


def test_a_broker_that_stopped_leaves_whole_indexes_and_producers(
    tools: KafkaTools, lab: Lab, segment: Path
):
    lab.cluster.restart_broker(1)
    lab.cluster.wait_until(
        lambda admin: all(each.leader >= 0 for each in admin.view(1).partitions), "it is back"
    )
    for index in (segment.with_suffix(".index"), segment.with_suffix(".timeindex")):
        entries = dumped(tools, index)
        assert entries
        assert all(re.match(r"(offset|timestamp): \d+ ", one) for one in entries), "no complaints"
        checked = dumped(tools, index, "--index-sanity-check")
        assert checked == [f"{index} passed sanity check."]

    (snapshot,) = segment.parent.glob("*.snapshot")
    assert snapshot.stem == f"{50:020}"
    (line,) = dumped(tools, snapshot)
    assert re.match(r"producerId: \d+ producerEpoch: 0 coordinatorEpoch: -1 ", line)
    assert "lastSequence: 49 lastOffset: 49 " in line


def test_files_are_needed(tools: KafkaTools):
    printed = tools.run("kafka-dump-log")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith("This tool helps to parse a log file and dump its contents")


def test_a_file_that_is_not_there(tools: KafkaTools, tmp_path: Path):
    file = tmp_path / f"{0:020}.log"
    printed = tools.run("kafka-dump-log --files", str(file))
    assert (printed.code, printed.out) == (1, f"Dumping {file}\nLog starting offset: 0\n")
    assert "java.nio.file.NoSuchFileException" in printed.err
