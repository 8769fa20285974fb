"""What ``kafka-consumer-groups`` writes: columns, and documents for ``--json``.

Source: ConsumerGroupCommand.java.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from protocol.admin.cluster import BrokerView
from protocol.admin.groups import DEAD, GroupListing, GroupView, MemberView
from protocol.admin.partitions import numbers_by_topic
from protocol.ids import TopicPartition

_NONE: Final = "-"
_REBALANCING: Final = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
_OFFSET_COLUMNS: Final = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetRow:
    """Where a group is in one partition; what is not known is None."""

    group: str
    topic: str
    partition: int
    offset: int | None
    end_offset: int | None
    member: MemberView | None

    @property
    def lag(self) -> int | None:
        """How many records the group has not read."""
        if self.offset is None or self.end_offset is None:
            return None
        return self.end_offset - self.offset


def offset_rows(
    view: GroupView,
    committed: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> list[OffsetRow]:
    """Return what members read, who reads most first, then what nobody reads."""
    readers = sorted(view.members, key=lambda each: -len(each.assignment))
    read = [(tp, member) for member in readers for tp in sorted(member.assignment)]
    assigned = {tp for tp, _ in read}
    unread = [(tp, None) for tp in sorted(committed) if tp not in assigned]
    return [
        OffsetRow(
            group=view.group,
            topic=tp.topic,
            partition=tp.partition,
            offset=committed.get(tp),
            end_offset=ends.get(tp),
            member=member,
        )
        for tp, member in (*read, *unread)
    ]


def remark(view: GroupView) -> str:
    """Return what is said of a group's state on stderr; empty for nothing."""
    if view.state == "Empty":
        return f"\nConsumer group '{view.group}' has no active members."
    if view.state in _REBALANCING:
        return f"\nWarning: Consumer group '{view.group}' is rebalancing."
    return ""


def missing(view: GroupView) -> str:
    """Return what is said of a group that is not there; empty when it is."""
    return f"Consumer group '{view.group}' does not exist." if view.state == DEAD else ""


def listing_lines(
    groups: Sequence[GroupListing], *, has_type: bool, has_state: bool
) -> Iterator[str]:
    """Return the lines of a list: names alone, or columns."""
    if not (has_type or has_state):
        yield from (each.group for each in groups)
        return
    width = max([15, *(len(each.group) for each in groups)]) + 10
    rows = [("GROUP", "TYPE", "STATE")]
    rows += [(each.group, each.type or "Unknown", each.state or "Unknown") for each in groups]
    for group, kind, state in rows:
        line = f"{group:<{width}}"
        line += f" {kind:<20}" if has_type else ""
        yield line + (f" {state:<20}" if has_state else "")


def offset_lines(rows: Sequence[OffsetRow]) -> Iterator[str]:
    """Return the lines about one group's offsets: none without rows."""
    if not rows:
        return
    texts = [_OFFSET_COLUMNS, *map(_offset_texts, rows)]
    widths = {column: _width(texts, column) for column in (0, 1, 6, 7)}
    widths |= {2: 10, 3: 15, 4: 15, 5: 15, 8: 0}
    yield ""
    for words in texts:
        yield " ".join(f"{word:<{widths[column]}}" for column, word in enumerate(words))


def member_lines(view: GroupView, *, is_verbose: bool) -> Iterator[str]:
    """Return the lines about one group's members."""
    has_instances = any(member.instance_id for member in view.members)
    instance = ("GROUP-INSTANCE-ID",) if has_instances else ()
    texts = [("GROUP", "CONSUMER-ID", *instance, "HOST", "CLIENT-ID", "#PARTITIONS")]
    for each in view.members:
        instance = (each.instance_id,) if has_instances else ()
        count = str(len(each.assignment))
        texts.append((view.group, each.member_id, *instance, each.host, each.client_id, count))
    assignments = ["ASSIGNMENT", *(_assignment(member) for member in view.members)]
    widths = [_width(texts, column) for column in range(len(texts[0]))]
    yield ""
    for words, assignment in zip(texts, assignments, strict=True):
        line = "".join(f"{word:<{width}} " for word, width in zip(words, widths, strict=True))
        yield line + (assignment if is_verbose else "")


def state_lines(view: GroupView, coordinator: BrokerView) -> Iterator[str]:
    """Return the lines about one group's state."""
    where = f"{coordinator.host}:{coordinator.port}  ({coordinator.id})"
    width = max(25, len(where))
    rows = [
        ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"),
        (view.group, where, view.assignor, view.state, str(len(view.members))),
    ]
    yield ""
    for group, broker, assignor, state, members in rows:
        yield f"{group:<{width}} {broker:<25} {assignor:<20} {state:<15} {members}"


def reset_lines(resets: Mapping[str, Mapping[TopicPartition, int]]) -> Iterator[str]:
    """Return the lines about offsets that are set."""
    if not resets:
        return
    yield ""
    yield f"{'GROUP':<30} {'TOPIC':<30} {'PARTITION':<10} {'NEW-OFFSET':<15}"
    for group, offsets in resets.items():
        for (topic, number), offset in offsets.items():
            yield f"{group:<30} {topic:<30} {number:<10} {offset:<15}"


def deletion_lines(statuses: Mapping[TopicPartition, str]) -> Iterator[str]:
    """Return the lines about offsets that are deleted; partition -1: of a topic not there."""
    yield ""
    yield f"{'TOPIC':<30} {'PARTITION':<15} {'STATUS':<15}"
    for (topic, number), status in sorted(statuses.items()):
        yield f"{topic:<30} {number if number >= 0 else 'Not Provided':<15} {status:<15}"


def offset_document(row: OffsetRow) -> Mapping[str, object]:
    """Return one row as part of a JSON document."""
    member = row.member
    return {
        "topic": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "end_offset": row.end_offset,
        "lag": row.lag,
        "member_id": member.member_id if member else None,
        "host": member.host if member else None,
        "client_id": member.client_id if member else None,
    }


def member_document(member: MemberView) -> Mapping[str, object]:
    """Return one member as part of a JSON document."""
    assignment = [tp._asdict() for tp in sorted(member.assignment)]
    return {**asdict(member), "instance_id": member.instance_id or None, "assignment": assignment}


def reset_document(resets: Mapping[str, Mapping[TopicPartition, int]]) -> list[object]:
    """Return offsets that are set as part of a JSON document."""
    return [
        {"group": group, "topic": topic, "partition": number, "offset": offset}
        for group, offsets in resets.items()
        for (topic, number), offset in offsets.items()
    ]


def _offset_texts(row: OffsetRow) -> tuple[str, ...]:
    numbers = (row.offset, row.end_offset, row.lag)
    member = row.member
    return (
        row.group,
        row.topic,
        str(row.partition),
        *(_NONE if number is None else str(number) for number in numbers),
        *((member.member_id, member.host, member.client_id) if member else (_NONE,) * 3),
    )


def _assignment(member: MemberView) -> str:
    by_topic = numbers_by_topic(member.assignment).values()
    groups = sorted(f"({','.join(sorted(map(str, numbers)))})" for numbers in by_topic)
    return ", ".join(groups) or _NONE


def _width(texts: Sequence[Sequence[str]], column: int) -> int:
    return max(15, *(len(words[column]) for words in texts))
