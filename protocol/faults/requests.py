"""Faults of requests, as values: what a broker does to clients' requests and to its answers.

They break nothing by themselves; ``protocol.faults.document`` reads and writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

PROTOCOL_VERSION_MAX = (1 << 15) - 1


class When(Enum):
    """On which side of a request's work something happens."""

    BEFORE = "before"
    """The work is not begun; where the request goes on it is done then."""
    AFTER = "after"
    """The work is done, and the answer waits, is another one, or never leaves."""


class Way(Enum):
    """Which of the bytes of a connection."""

    ANSWERS = "answers"
    REQUESTS = "requests"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestModeRow:
    """What is true of one mode, for everybody who has to know it."""

    told: str
    """What it does, as docs/faults.md tells people."""
    keys: tuple[str, ...] = ()
    """Fields of RequestFault that belong to it and not to every mode."""
    needed: tuple[str, ...] = ()
    """Those of them without which it is nothing."""
    needs_one_of: tuple[str, ...] = ()
    """Those of which it needs at least one."""


class RequestMode(Enum):
    """What happens to a request that a rule meets: the word for it, and its row."""

    _value_: str
    row: RequestModeRow

    def __new__(cls, word: str, row: RequestModeRow) -> RequestMode:
        """Make the member whose value is the word alone."""
        made = object.__new__(cls)
        made._value_ = word
        made.row = row
        return made

    ERROR = (
        "error",
        RequestModeRow(
            told="the answer has `error_code`: in every partition that is met where the response "
            "has partitions, else wherever it has a code",
            keys=("error_code", "when"),
            needed=("error_code",),
        ),
    )
    DELAY = (
        "delay",
        RequestModeRow(
            told="it is begun, or answered, `delay_ms` and up to `jitter_ms` more later; what its "
            "connection sent behind it waits too",
            keys=("delay_ms", "jitter_ms", "when"),
            needed=("delay_ms",),
        ),
    )
    DROP = (
        "drop",
        RequestModeRow(
            told="it is never answered, nor is anything behind it on its connection, which stays "
            "open until the fault ends or the client closes it",
            keys=("when",),
        ),
    )
    CLOSE = (
        "close",
        RequestModeRow(
            told="its connection is closed in place of an answer, `delay_ms` later",
            keys=("when", "delay_ms"),
        ),
    )
    RESET = (
        "reset",
        RequestModeRow(
            told="its connection is reset (RST) in place of an answer, `delay_ms` later",
            keys=("when", "delay_ms"),
        ),
    )
    THROTTLE = (
        "throttle",
        RequestModeRow(
            told="the answer says `throttle_time_ms`, and the broker takes nothing more from the "
            "connection for so long",
            keys=("throttle_time_ms",),
            needed=("throttle_time_ms",),
        ),
    )
    TRICKLE = (
        "trickle",
        RequestModeRow(
            told="its bytes, or those of its answer, pass at `bytes_per_second`; an answer leaves "
            "in slices of `slice_bytes`, give or take `slice_jitter_bytes`, `delay_ms` apart",
            keys=("bytes_per_second", "slice_bytes", "slice_jitter_bytes", "delay_ms", "way"),
            needs_one_of=("bytes_per_second", "slice_bytes"),
        ),
    )
    TRUNCATE = (
        "truncate",
        RequestModeRow(
            told="its connection is closed once `capacity_bytes` of answers have left by it since "
            "the first that is met, in the middle of one",
            keys=("capacity_bytes",),
            needed=("capacity_bytes",),
        ),
    )
    HOLD = (
        "hold",
        RequestModeRow(
            told="it waits, before its work or with its answer, until it is released or the fault "
            "ends: a barrier",
            keys=("when",),
        ),
    )
    OBSERVE = (
        "observe",
        RequestModeRow(told="nothing; what passes is counted and shown"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFault:
    """Which requests of clients a broker meets with what. None means any.

    Requests of the cluster's own nodes and of jbodlab itself are never met.
    """

    mode: RequestMode
    node: str
    """The broker, as ``broker-1``."""
    apis: tuple[str, ...] | None = None
    """Kafka's names, such as ``Produce``."""
    version_min: int = 0
    version_max: int = PROTOCOL_VERSION_MAX
    """Of the API, both included."""
    topic: str | None = None
    """A pattern with ``*`` and ``?``; requests without such a topic are not met."""
    partition: int | None = None
    client_id: str | None = None
    """A pattern as ``topic``."""
    nth: int | None = None
    """Only this match, counted from 1; None: every one."""
    from_nth: int = 1
    """This match and all later ones."""
    times: int | None = None
    """At most so many hits."""
    probability: float = 1.0
    when: When = When.BEFORE
    """Whether the work of the request is done."""
    error_code: str = "NONE"
    """ERROR: Kafka's name of a code."""
    delay_ms: int = 0
    jitter_ms: int = 0
    throttle_time_ms: int = 0
    bytes_per_second: int | None = None
    """TRICKLE."""
    slice_bytes: int | None = None
    """TRICKLE: of answers."""
    slice_jitter_bytes: int = 0
    """TRICKLE."""
    way: Way = Way.ANSWERS
    """TRICKLE."""
    capacity_bytes: int = 0
    """TRUNCATE: how much leaves before the connection is closed."""
