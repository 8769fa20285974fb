"""Resets of offsets without a cluster: bounds, durations and the file of a plan.

Source: ConsumerGroupCommand.java, java.time.Duration.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Final

from jbodlab.kafka_tools.core.failures import (
    ILLEGAL_ARGUMENT,
    IO,
    ToolFailure,
    UsageFailure,
    whole_number,
)
from protocol.ids import TopicPartition

Offsets = Mapping[TopicPartition, int]
_DURATION: Final = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(T(?=[-+]?\d)(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?"
    r"(?:([-+]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE,
)
_SECONDS: Final = (86_400, 3600, 60, 1)
_FIELDS: Final = {3: "topic,partition,offset", 4: "group,topic,partition,offset"}


def within(
    wanted: Offsets, starts: Offsets, ends: Offsets
) -> tuple[dict[TopicPartition, int], list[str]]:
    """Return offsets moved into their logs, and a warning for each that was moved."""
    found: dict[TopicPartition, int] = {}
    warnings: list[str] = []
    for tp, offset in wanted.items():
        found[tp] = max(min(offset, ends[tp]), starts[tp])
        if found[tp] != offset:
            side = "higher than latest" if offset > ends[tp] else "lower than earliest"
            warnings.append(
                f"New offset ({offset}) is {side} offset for topic partition {tp}. "
                f"Value will be set to {found[tp]}"
            )
    return found, warnings


def shifted(committed: Offsets, partitions: list[TopicPartition], by: int) -> Offsets:
    """Return offsets of a group moved by some records.

    Raises:
        UsageFailure: the group has no offset in one of the partitions.
    """
    for tp in partitions:
        if tp not in committed:
            raise UsageFailure(
                f"Cannot shift offset for partition {tp} since there is no current committed offset"
            )
    return {tp: committed[tp] + by for tp in partitions}


def duration_ms(text: str) -> int:
    """Return how long ``P1DT2H3M4.5S`` is.

    Raises:
        ToolFailure: it is none.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.group(2, 3)):
        raise ToolFailure(ILLEGAL_ARGUMENT, "Text cannot be parsed to a Duration")
    parts = [float((part or "0").replace(",", ".")) for part in match.group(2, 4, 5, 6)]
    total_s = sum(part * unit for part, unit in zip(parts, _SECONDS, strict=True))
    return round(total_s * 1000) * (-1 if match.group(1) == "-" else 1)


def parse_plan(text: str, group: str | None) -> dict[str, dict[TopicPartition, int]]:
    """Return the offsets of a CSV file by group.

    Args:
        text: lines of ``topic,partition,offset`` or ``group,topic,partition,offset``.
        group: the one that lines without a group are about; None: each line has to name one.

    Raises:
        ToolFailure: a line is neither, or a number is none; names the line.
    """
    plan: dict[str, dict[TopicPartition, int]] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text)), 1):
        if not row:
            continue
        fields = [group, *row] if len(row) == 3 and group is not None else row
        if len(fields) != 4:
            wanted = _FIELDS[4] if group is None else f"{_FIELDS[3]} or {_FIELDS[4]}"
            raise ToolFailure(IO, f"line {number} is {','.join(row)}: it has to be {wanted}")
        name, topic, partition, offset = fields
        tp = TopicPartition(topic, whole_number(partition.strip()))
        plan.setdefault(name, {})[tp] = _offset(offset.strip(), number)
    return plan


def plan_lines(resets: Mapping[str, Offsets], *, has_groups: bool) -> Iterator[str]:
    """Return the lines that ``parse_plan`` reads."""
    for group, offsets in resets.items():
        for (topic, number), offset in offsets.items():
            row = [topic, str(number), str(offset)]
            yield ",".join([group, *row] if has_groups else row)


def _offset(text: str, line: int) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**63):
        raise ToolFailure(IO, f"line {line}: {text!r} is no offset; 0 to {2**63 - 1} are")
    return int(text)
