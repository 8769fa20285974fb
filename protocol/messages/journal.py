"""What controller and brokers tell each other of the controller's journal, in tagged fields.

They are no fields of Kafka's: a Kafka broker or controller skips them. The tags are far above those
that Kafka uses. A controller stamps what it sends with the number of the decision behind it; a
broker tells what it has heard with every registration and heartbeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from protocol.errors import Malformed
from protocol.ids import NO_EPOCH, NO_LEADER, ZERO_UUID
from protocol.ports import Buffer
from protocol.wire.fast import codec
from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import INT32, INT64, UUID

STAMP_TAG: Final = 10_000
"""In what a controller sends: a ``JournalStamp``."""
ASK_TAG: Final = 10_001
"""In the answer to a heartbeat: the next report is to have the replicas; no content."""
REPORT_TAG: Final = 10_002
"""In registrations and heartbeats: a ``JournalReport``."""

_VERSION: Final = 0
T = TypeVar("T")


@message(None, "journal", versions="0", flexible="0+")
class JournalStamp:
    """Which decision of which journal stands behind a request or an answer."""

    journal_id: bytes = field(UUID)
    """Made when a journal begins; a copy of it has the same."""
    controller_epoch: int = field(INT32)
    journal_number: int = field(INT64)


@struct
class ReportedReplica:
    """Part of JournalReport: one replica that is online at the broker."""

    partition: int = field(INT32)
    leader: int = field(INT32, default=NO_LEADER)
    leader_epoch: int = field(INT32, default=NO_EPOCH)
    """-1: nobody has told this process about it."""
    isr: Sequence[int] = field(array(INT32))
    partition_epoch: int = field(INT32, default=NO_EPOCH)
    replicas: Sequence[int] = field(array(INT32))
    adding_replicas: Sequence[int] = field(array(INT32))
    removing_replicas: Sequence[int] = field(array(INT32))
    log_epoch: int = field(INT32, default=NO_EPOCH)
    """The leader epoch of the last record in its log."""
    log_end_offset: int = field(INT64)


@struct
class ReportedTopic:
    name: str = field(STRING)
    topic_id: bytes = field(UUID)
    """All zero while unknown."""
    replicas: Sequence[ReportedReplica] = field(array(ReportedReplica))


@message(None, "journal", versions="0", flexible="0+")
class JournalReport:
    """What a broker knows of the journal, from all of its log dirs and from what it heard."""

    journal_id: bytes = field(UUID)
    """All zero: it never heard of any."""
    controller_epoch: int = field(INT32)
    """The highest that it heard."""
    journal_number: int = field(INT64, default=-1)
    """The highest that it heard from a controller with that epoch."""
    producer_ids_end: int = field(INT64)
    """The end of the highest block of producer ids that it was given, or found in use."""
    topics: Sequence[ReportedTopic] | None = field(
        array(ReportedTopic), default=None, nullable="0+"
    )
    """None: not told this time."""


def stamp_of(message: Any) -> JournalStamp | None:
    """Return the stamp of a request or an answer; None: it has none."""
    return _read(message, STAMP_TAG, JournalStamp)


def report_of(message: Any) -> JournalReport | None:
    """Return the report in a registration or heartbeat; None: it has none."""
    return _read(message, REPORT_TAG, JournalReport)


def put_stamp(message: Any, stamp: JournalStamp) -> None:
    """Put a stamp on a request or an answer."""
    _put(message, STAMP_TAG, codec(JournalStamp, _VERSION).encode(stamp))


def put_report(message: Any, report: JournalReport) -> None:
    """Put a report into a registration or heartbeat."""
    _put(message, REPORT_TAG, codec(JournalReport, _VERSION).encode(report))


def ask_for_replicas(answer: Any) -> None:
    """Have the broker tell its replicas with its next report."""
    _put(answer, ASK_TAG, b"")


def asks_for_replicas(answer: Any) -> bool:
    """Tell whether the controller wants the replicas."""
    return any(tag == ASK_TAG for tag, _ in answer.unknown_tags)


def is_other_journal(report: JournalReport, journal_id: bytes) -> bool:
    """Tell whether a broker has heard of another journal than this one."""
    return bytes(report.journal_id) not in (ZERO_UUID, journal_id)


def _put(message: Any, tag: int, data: Buffer) -> None:
    others = [each for each in message.unknown_tags if each[0] != tag]
    message.unknown_tags = (*others, (tag, data))


def _read(message: Any, tag: int, kind: type[T]) -> T | None:
    for known, data in message.unknown_tags:
        if known == tag:
            try:
                read: T = codec(kind, _VERSION).decode(bytes(data))
            except Malformed:
                return None  # Somebody else's field of this number.
            return read
    return None
