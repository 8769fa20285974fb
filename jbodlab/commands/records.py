"""``produce``, ``consume`` and ``load``: records for a first look, and to see what is lost."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import click

from jbodlab.commands.completion import complete_topics
from jbodlab.commands.output import Lab, lab_command
from jbodlab.errors import ExitCode, LabError

if TYPE_CHECKING:
    from jbodlab.load import LoadReport, Verification

_SHOW_EVERY_S: Final = 0.2


@click.command(short_help="Write lines of standard input into a topic.")
@click.argument("topic", shell_complete=complete_topics)
@click.option("--key-separator", metavar="TEXT", help="What is before it in a line is the key.")
@lab_command
def produce(lab: Lab, topic: str, key_separator: str | None) -> None:
    """Write each line of standard input into TOPIC as a record, with acks=all.

    \b
      echo hello | jbodlab produce orders
      seq 1000 | jbodlab produce orders --key-separator :
    """  # noqa: D301 - click leaves the lines behind the backspace as they are
    # Clients take a moment to load: no help waits for them, here and below.
    from kafka import KafkaProducer  # noqa: PLC0415
    from kafka.errors import KafkaError as ClientError  # noqa: PLC0415

    servers = _servers(lab)
    producer: Any = KafkaProducer(
        bootstrap_servers=servers, acks="all", linger_ms=5, **lab.client_settings()
    )
    try:
        futures = [producer.send(topic, **_record(line, key_separator)) for line in sys.stdin]
        offsets = [future.get(timeout=60) for future in futures]
    except ClientError as error:
        raise LabError(ExitCode.FAILED, f"{topic}: {type(error).__name__}: {error}") from error
    finally:
        producer.close(timeout=5)
    lab.emit(
        [{"partition": each.partition, "offset": each.offset} for each in offsets],
        f"{len(offsets)} record(s) are in {topic}, acknowledged by the whole Isr"
        if offsets
        else "standard input had no line: no record was written",
    )


def _record(line: str, key_separator: str | None) -> dict[str, bytes | None]:
    text = line.rstrip("\n")
    if key_separator is None:
        return {"value": text.encode()}
    key, found, value = text.partition(key_separator)
    return {"key": key.encode(), "value": value.encode()} if found else {"value": text.encode()}


@click.command(short_help="Print the records of a topic.")
@click.argument("topic", shell_complete=complete_topics)
@click.option("--from-beginning", is_flag=True, help="Not only what comes from now on.")
@click.option("--group", help="As a member of this group: it goes on where the group is.")
@click.option("--count", type=click.IntRange(min=1), help="End after so many records.")
@click.option(
    "--idle",
    "idle_s",
    type=click.FloatRange(min=0.1),
    help="End after so many seconds without a record; else Ctrl-C ends it.",
)
@lab_command
def consume(
    lab: Lab,
    topic: str,
    *,
    from_beginning: bool,
    group: str | None,
    count: int | None,
    idle_s: float | None,
) -> None:
    """Print the values of the records of TOPIC; with --json a line with all of each."""
    consumer = _consumer(
        _servers(lab),
        topic,
        group_id=group,
        auto_offset_reset="earliest" if from_beginning else "latest",
        consumer_timeout_ms=float("inf") if idle_s is None else idle_s * 1000,
        **lab.client_settings(),
    )
    try:
        _partitions_of(consumer, topic)
        for number, record in enumerate(consumer, start=1):
            click.echo(_line(record, is_json=lab.is_json))
            if number == count:
                break
    finally:
        consumer.close()


# Any: kafka-python has no types.
def _line(record: Any, *, is_json: bool) -> str:
    value = _text(record.value)
    if not is_json:
        return value or ""
    return json.dumps(
        {
            "partition": record.partition,
            "offset": record.offset,
            "timestamp_ms": record.timestamp,
            "key": _text(record.key),
            "value": value,
        }
    )


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode(errors="backslashreplace")


@click.command(short_help="Write at a rate, then tell what was lost.")
@click.argument("topic", shell_complete=complete_topics)
@click.option("--seconds", type=click.FloatRange(min=0.1), default=10, show_default=True)
@click.option("--rate", type=click.IntRange(1, 100_000), default=1000, show_default=True)
@click.option("--record-bytes", type=click.IntRange(20, 512 * 1024), default=100, show_default=True)
@lab_command
def load(lab: Lab, topic: str, *, seconds: float, rate: int, record_bytes: int) -> None:
    """Write numbered records into TOPIC, idempotent and with acks=all, then read them back.

    Break disks meanwhile: it tells how long clients waited at most, and what was lost or is there
    twice. Ends with 12 when anything is, with 1 when records failed. Ctrl-C ends the writing early.
    """
    from jbodlab.load import Load, dump_load, end_offsets, read_numbers, verify  # noqa: PLC0415

    servers = _servers(lab)
    security = lab.client_settings()
    partitions = _partition_count(servers, topic, security)
    begins = end_offsets(servers, topic, partitions=partitions, security=security)
    writer = Load(
        servers,
        topic,
        partitions=partitions,
        size_bytes=record_bytes,
        pace_ms=1000 * partitions / rate,
        first_number=time.time_ns() // 1000,
        security=security,
    )
    began = time.monotonic()
    writer.start()
    with lab.working("writing") as shown:
        try:
            while (left := seconds - (time.monotonic() - began)) > 0:
                shown.update(f"{writer.acknowledged_count:,} acknowledged, {left:.0f} s to go")
                time.sleep(min(_SHOW_EVERY_S, left))
        except KeyboardInterrupt:
            lab.warn("stops writing; what was written is read back")
        report = writer.stop()
        if lab.is_own:
            dump_load(lab.cluster.spec, lab.cluster.run_id, topic, report.acknowledged)
        shown.update("reading back")
        numbers = read_numbers(
            servers, topic, partitions=partitions, begins=begins, security=security
        )
    _tell(lab, topic, report, verify(report.acknowledged, numbers), began)


def _tell(lab: Lab, topic: str, report: LoadReport, check: Verification, began: float) -> None:
    partitions = sorted({each.partition for each in report.acknowledged})
    gap_ms = report.longest_gap_ms(partitions, after=began)
    content = {
        "topic": topic,
        **asdict(check),
        "failed": list(report.failed),
        "records_per_second": round(report.records_per_second, 1),
        "longest_gap_ms": round(gap_ms, 1),
    }
    lab.emit(
        content,
        f"{check.acknowledged:,} records acknowledged, {report.records_per_second:,.0f} a second; "
        f"the longest any partition waited: {gap_ms:,.0f} ms\n"
        f"read back: {len(check.lost)} lost, {len(check.twice)} twice, "
        f"{len(report.failed)} failed at the client",
    )
    if not check.is_clean:
        raise LabError(
            ExitCode.VIOLATION,
            f"{len(check.lost)} acknowledged records of {topic} are lost, "
            f"{len(check.twice)} are there twice",
        )
    if report.failed:
        raise LabError(ExitCode.FAILED, f"{len(report.failed)} failed, first {report.failed[0]}")


def _servers(lab: Lab) -> list[str]:
    if lab.bootstrap is not None:
        return lab.bootstrap.split(",")
    lab.require_running()
    return [f"{each.advertised_host}:{each.advertised_port}" for each in lab.awake()]


# Any: kafka-python has no types.
def _partition_count(servers: Sequence[str], topic: str, security: Mapping[str, Any]) -> int:
    consumer = _consumer(servers, **security)
    try:
        return len(_partitions_of(consumer, topic))
    finally:
        consumer.close()


# Any: kafka-python has no types.
def _consumer(servers: Sequence[str], *topics: str, **settings: Any) -> Any:
    from kafka import KafkaConsumer  # noqa: PLC0415

    return KafkaConsumer(*topics, bootstrap_servers=list(servers), **settings)


# Any: as above.
def _partitions_of(consumer: Any, topic: str) -> set[int]:
    numbers: set[int] | None = consumer.partitions_for_topic(topic)
    if not numbers:
        raise LabError(
            ExitCode.FAILED, f"there is no topic {topic}: `jbodlab topics create {topic}` makes it"
        )
    return numbers
