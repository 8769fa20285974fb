"""kafka-console-producer and -consumer, kafka-producer-perf-test and the like: clients by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.integration.labs import Lab
from tests.kafka_tools.tools import KafkaTools, Printed


@pytest.fixture
def created(lab: Lab, topic: str) -> str:
    lab.create(topic)
    return topic


def produced(tools: KafkaTools, topic: str, text: str, options: str = "") -> None:
    """Produce a record per line."""
    printed = tools.run(f"kafka-console-producer --topic {topic} {options}", stdin=text)
    assert (printed.code, printed.err) == (0, "")


def consumed(tools: KafkaTools, topic: str, count: int, options: str) -> list[str]:
    """Consume partition 0; return the lines of records."""
    command = f"kafka-console-consumer --topic {topic} --partition 0 --max-messages {count}"
    printed = tools.run(f"{command} {options}")
    assert (printed.code, printed.err) == (0, f"Processed a total of {count} messages\n")
    return [line for line in printed.lines if "is deprecated" not in line]


def formatting(tools: KafkaTools, *names: str) -> str:
    """Return options that show more than values; 4.2 gave them another name."""
    option = "--property" if tools.release.startswith("3.") else "--formatter-property"
    return " ".join(f"{option} print.{name}=true" for name in names)


def test_lines_become_records_and_records_lines(tools: KafkaTools, created: str):
    produced(tools, created, "one\ntwo\n\nfour ü\n")
    assert consumed(tools, created, 4, "--offset earliest") == ["one", "two", "", "four ü"]
    assert consumed(tools, created, 2, "--offset 1") == ["two", ""]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_are_compressed_and_acknowledged_by_all(
    tools: KafkaTools, created: str, codec: str
):
    lines = [f"{number} {'abc' * 20}" for number in range(200)]
    options = f"--compression-codec {codec}"
    acknowledged = "--request-required-acks all"
    produced(tools, created, "\n".join(lines), f"{options} {acknowledged}")
    assert consumed(tools, created, 200, "--offset earliest") == lines


def test_keys_headers_and_places_are_shown(tools: KafkaTools, created: str):
    option = "--property" if tools.release.startswith("3.") else "--reader-property"
    names = ("parse.key=true", "parse.headers=true", "key.separator=:")
    options = " ".join(f"{option} {name}" for name in names)
    produced(tools, created, "h1:1,h2:x\tk:v\n", options)
    shown = formatting(tools, "partition", "offset", "headers", "key")
    assert consumed(tools, created, 1, f"--offset earliest {shown}") == [
        "Partition:0\tOffset:0\th1:1,h2:x\tk\tv"
    ]


def test_a_marker_stands_for_no_value(tools: KafkaTools, created: str):
    option = "--property" if tools.release.startswith("3.") else "--reader-property"
    options = f"{option} parse.key=true {option} null.marker=NONE {option} key.separator=:"
    produced(tools, created, "k1:v1\nk1:NONE\n", f"{options} --batch-size 1")
    shown = formatting(tools, "key")
    assert consumed(tools, created, 2, f"--offset earliest {shown}") == ["k1\tv1", "k1\tnull"]


def test_a_consumer_begins_at_the_beginning(tools: KafkaTools, created: str):
    produced(tools, created, "one\ntwo\n")
    assert consumed(tools, created, 2, "--from-beginning --isolation-level read_committed") == [
        "one",
        "two",
    ]


def test_records_are_sent_with_keys_that_repeat(tools: KafkaTools, created: str):
    printed = tools.run(
        f"kafka-verifiable-producer --topic {created} --max-messages 6 --acks -1 "
        "--value-prefix 7 --repeating-keys 3"
    )
    assert (printed.code, printed.err) == (0, "")
    shown = formatting(tools, "key")
    assert consumed(tools, created, 6, f"--offset earliest {shown}") == [
        f"{number % 3}\t7.{number}" for number in range(6)
    ]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_what_a_member_of_a_group_does_is_told_in_json(
    tools: KafkaTools, created: str, protocol: str
):
    produced(tools, created, "one\ntwo\nthree\n")
    printed = tools.run(
        f"kafka-verifiable-consumer --topic {created} --group-id of-{created} --max-messages 3 "
        f"--reset-policy earliest --verbose --group-protocol {protocol}"
    )
    assert (printed.code, printed.err) == (0, "")
    told = [json.loads(line) for line in printed.lines]
    # The consumer begins with no partition where a broker's assignment, which names topics by their
    # ids, reaches it before the metadata that tell what they are called.
    kept = [each for each in told if each.get("partitions") != []]
    events = [each["name"] for each in kept if each["name"] != "records_consumed"]
    assert events == [
        *("startup_complete", "partitions_assigned"),
        *["record_data"] * 3,
        *("offsets_committed", "partitions_revoked", "shutdown_complete"),
    ]
    assert [each["value"] for each in told if each["name"] == "record_data"] == [
        *("one", "two", "three")
    ]
    (committed,) = [each for each in told if each["name"] == "offsets_committed"]
    assert committed["success"] is True
    assert committed["offsets"] == [{"topic": created, "partition": 0, "offset": 3}]


def test_a_consumer_waits_no_longer_than_told(tools: KafkaTools, created: str):
    produced(tools, created, "only\n")
    printed = tools.run(
        f"kafka-console-consumer --topic {created} --partition 0 --offset earliest "
        "--timeout-ms 1000"
    )
    assert (printed.code, printed.out) == (0, "only\n")
    assert printed.err.endswith("Processed a total of 1 messages\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--topic a --offset 5", "The partition is required when offset is specified."),
        (
            "--topic a --partition 0 --offset -5",
            "The provided offset value '-5' is incorrect. Valid values are 'earliest', 'latest', "
            "or a non-negative long.",
        ),
    ],
)
def test_what_cannot_be_consumed(tools: KafkaTools, options: str, message: str):
    printed = tools.run(f"kafka-console-consumer {options}")
    assert (printed.code, printed.out) == (1, "")
    assert message in printed.err


@pytest.mark.parametrize("properties", ["acks=all enable.idempotence=false", ""])
def test_a_measured_load_arrives_whole(tools: KafkaTools, created: str, properties: str):
    printed = tools.run(
        f"kafka-producer-perf-test --topic {created} --num-records 5000 --record-size 100 "
        f"--throughput -1 --producer-props bootstrap.servers={tools.bootstrap} {properties}"
    )
    assert (printed.code, printed.err) == (0, "")
    assert re.fullmatch(r"5000 records sent, .* ms 99\.9th\.", printed.lines[-1])
    assert tools.run(f"kafka-get-offsets --topic {created}") == Printed(0, f"{created}:0:5000\n")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_measured_reader_is_given_every_record(
    tools: KafkaTools, created: str, tmp_path: Path, protocol: str
):
    produced(tools, created, "".join(f"{number}\n" for number in range(300)))
    is_old = tools.release.startswith("3.")
    count, configured = (
        ("--messages", "--consumer.config") if is_old else ("--num-records", "--command-config")
    )
    configs = tmp_path / "consumer.properties"
    configs.write_text(f"group.protocol={protocol}\n")
    printed = tools.run(
        f"kafka-consumer-perf-test --topic {created} {count} 300 --timeout 60000 --hide-header "
        f"{configured} {configs}"
    )
    assert (printed.code, printed.err) == (0, "")
    assert printed.lines[-1].split(", ")[4] == "300", "the column of records"


def test_each_record_of_a_measured_latency_comes_back(tools: KafkaTools, created: str):
    if tools.release.startswith("3."):
        printed = tools.run_bare("kafka-e2e-latency", [tools.bootstrap, created, "20", "all", "10"])
    else:
        printed = tools.run(
            f"kafka-e2e-latency --topic {created} --num-records 20 --producer-acks all "
            "--record-size 10"
        )
    assert (printed.code, printed.err) == (0, "")
    assert printed.lines[-2].startswith("Avg latency: ")
    assert tools.run(f"kafka-get-offsets --topic {created}") == Printed(0, f"{created}:0:20\n")
