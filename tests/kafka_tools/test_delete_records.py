"""kafka-delete-records: up to an offset, up to the end, and what it says when that fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.integration.labs import Lab, produce_with_confluent
from tests.kafka_tools.tools import KafkaTools, Printed

OUT_OF_RANGE = (
    "org.apache.kafka.common.errors.OffsetOutOfRangeException: The requested offset is not within "
    "the range of offsets maintained by the server."
)


@pytest.fixture
def created(lab: Lab, topic: str) -> str:
    """A topic with ten records."""
    lab.create(topic)
    produce_with_confluent(lab, topic, [b"v"] * 10)
    return topic


def offsets(wanted: Mapping[tuple[str, int], int]) -> dict[str, Any]:
    return {
        "version": 1,
        "partitions": [
            {"topic": topic, "partition": number, "offset": offset}
            for (topic, number), offset in wanted.items()
        ],
    }


class OffsetFile:
    """The file that the tool reads."""

    def __init__(self, tools: KafkaTools, folder: Path) -> None:
        self._tools = tools
        self._file = folder / "offsets.json"

    def run(self, content: Mapping[str, Any] | str, options: str = "") -> Printed:
        text = content if isinstance(content, str) else json.dumps(content)
        self._file.write_text(text)
        return self._tools.run(
            f"kafka-delete-records {options} --offset-json-file", str(self._file)
        )

    def results(self, wanted: Mapping[tuple[str, int], int], options: str = "") -> list[str]:
        """Return what became of each partition, sorted."""
        printed = self.run(offsets(wanted), options)
        assert printed.code == 0
        first, second, *results = printed.lines
        assert first == "Executing records delete operation"
        assert second == "Records delete operation completed:"
        return sorted(results)


@pytest.fixture
def file(tools: KafkaTools, tmp_path: Path) -> OffsetFile:
    return OffsetFile(tools, tmp_path)


def test_records_are_deleted_before_an_offset(tools: KafkaTools, created: str, file: OffsetFile):
    deleted = f"partition: {created}-0\tlow_watermark: "
    assert file.results({(created, 0): 4}) == [f"{deleted}4"]
    assert file.results({(created, 0): 2}) == [f"{deleted}4"]
    earliest = tools.run(f"kafka-get-offsets --topic {created} --time earliest")
    assert earliest == Printed(0, f"{created}:0:4\n")
    assert file.results({(created, 0): -1}) == [f"{deleted}10"]


def test_each_partition_has_its_result(file: OffsetFile, created: str, lab: Lab):
    other = f"{created}-other"
    lab.create(other)
    assert file.results({(created, 0): 11, (other, 0): 0}) == [
        f"partition: {created}-0\terror: {OUT_OF_RANGE}",
        f"partition: {other}-0\tlow_watermark: 0",
    ]


def test_a_partition_that_is_not_there_is_looked_for_until_the_timeout(
    file: OffsetFile, created: str, tmp_path: Path
):
    config = tmp_path / "client.properties"
    config.write_text("default.api.timeout.ms=5000\nrequest.timeout.ms=4000\n")
    missing, deleted = file.results(
        {(created, 0): 1, (created, 9): 0}, f"--command-config {config}"
    )[::-1]
    assert deleted == f"partition: {created}-0\tlow_watermark: 1"
    assert missing.startswith(
        f"partition: {created}-9\terror: org.apache.kafka.common.errors.TimeoutException: "
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "The input string is not a valid JSON"),
        ('{"version": 1}', "Missing partitions field"),
        ('{"version": 2, "partitions": []}', "Not supported version field value 2"),
        (
            json.dumps({"partitions": offsets({("a", 0): 1})["partitions"] * 2}),
            "Offset json file contains duplicate topic partitions: a-0",
        ),
    ],
    ids=["no JSON", "no partitions", "version", "twice"],
)
def test_a_file_without_sense_is_refused(file: OffsetFile, text: str, message: str):
    printed = file.run(text)
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith(f"{message}\n")


def test_a_file_is_needed(tools: KafkaTools):
    printed = tools.run("kafka-delete-records")
    assert (printed.code, printed.out) == (1, "")
    assert printed.err.startswith('Missing required argument "[offset-json-file]"\n')
    printed = tools.run("kafka-delete-records --offset-json-file /nothing/there")
    assert printed.err.startswith("Unable to read file /nothing/there\n")
