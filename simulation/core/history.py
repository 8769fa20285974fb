"""What the clients of a run did: every operation's begin and end, in order; nothing is taken back.

It reads no clock of its own and judges nothing. How it is written down is in `history_text`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from enum import StrEnum
from types import TracebackType
from typing import Final, NamedTuple, TypeAlias

from protocol.ids import NO_EPOCH, NO_LEADER, NO_OFFSET, TopicPartition

UNREADABLE: Final = -1
"""In the place of a record's number: what was read is no record of a workload."""
NAMELESS: Final = -2
"""The same: a record without a value, whose number old formats have no place for."""
NO_GENERATION: Final = -1
"""Of a member that has left its group, and of who is in none."""


class Kind(StrEnum):
    """What an entry says of its operation."""

    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    """It did certainly not happen."""
    INFO = "info"
    """It may have happened, or may happen yet."""


class Function(StrEnum):
    """What was asked for."""

    SEND = "send"
    POLL = "poll"
    ASSIGN = "assign"
    """Nothing was asked: a member of a group is assigned partitions."""
    COMMIT = "commit"
    FETCH_OFFSETS = "fetch-offsets"
    DELETE_OFFSETS = "delete-offsets"
    DELETE_GROUP = "delete-group"
    TXN = "txn"
    CREATE_TOPIC = "create-topic"
    CREATE_PARTITIONS = "create-partitions"
    DELETE_TOPIC = "delete-topic"
    DELETE_RECORDS = "delete-records"
    MOVE = "move"
    REASSIGN = "reassign"
    ELECT = "elect"
    ALTER_CONFIGS = "alter-configs"
    NOTE = "note"
    """Nothing was asked: a step of the run, for who reads the history."""


class ProducerRange(NamedTuple):
    """How an idempotent producer numbered one batch."""

    producer_id: int
    producer_epoch: int
    base_sequence: int


class Send(NamedTuple):
    """One batch of records to one partition."""

    tp: TopicPartition
    records: tuple[int, ...]
    """Their numbers, unique in the run."""
    acks: int
    producer: ProducerRange | None = None
    """None: not idempotent."""
    base_offset: int = NO_OFFSET
    broker: int = NO_LEADER
    """Who answered."""
    leader_epoch: int = NO_EPOCH
    """Under which the client asked."""
    keys: int = 0
    """How many keys the producer's records have (``payload.key_of``); 0: none."""
    asked_us: int = -1
    """When the request that was answered was sent, on the loop's time; -1: not known."""
    has_timestamps: bool = True
    """Whether its format says when records were made; format 0 does not."""


class Read(NamedTuple):
    """What one fetch asked of one partition, and got."""

    tp: TopicPartition
    fetch_offset: int
    leader_epoch: int = NO_EPOCH
    """Under which the client asked."""
    records: tuple[tuple[int, int], ...] = ()
    """Offset and number of each record that was read."""
    high_watermark: int = NO_OFFSET
    error: str = ""
    """Kafka's name of the code for this partition alone."""


class Poll(NamedTuple):
    """One fetch from one broker."""

    broker: int
    reads: tuple[Read, ...]
    """When it is over: those with records or an error."""
    is_committed: bool = False
    """Only records of transactions that were committed were asked for, and records without one."""
    names_epochs: bool = False
    """The request said under which leader epochs it asks (Fetch 9 and later)."""


class Assignment(NamedTuple):
    """What one member of a group owns from now on; without a group: a consumer begins anew.

    In no generation: it has left.
    """

    group: str
    generation: int
    partitions: tuple[TopicPartition, ...]
    asked_us: int = -1
    """A member's of the consumer protocol: when it sent what was answered with these; -1: others.

    Such a member gives back in the generation that it is in, before somebody else takes.
    """
    placed: tuple[TopicPartition, ...] = ()
    """Of the partitions, those that it goes on reading from where it was."""


class Commit(NamedTuple):
    """Offsets that a group is to go on from; where they are asked for, those that it has."""

    group: str
    offsets: tuple[tuple[TopicPartition, int], ...]
    """NO_OFFSET: it has none, or is to have none any more."""
    broker: int = NO_LEADER
    """Who answered what the group has."""
    is_late: bool = False
    """By a member under a generation in which it was not assigned these partitions: not allowed."""


class Txn(NamedTuple):
    """One transaction. OK: its commit was answered. FAIL: nobody asked for its commit."""

    transactional_id: str
    sends: tuple[Send, ...]
    reads: tuple[Read, ...] = ()
    """What it takes from: the records that were sent come from these, one from one, in order."""
    group: str = ""
    """Commits what was read, as this group's offsets; "": it reads nothing."""
    is_alone: bool = False
    """Each request of its producer before it was answered: none can come late and end it."""


class Order(NamedTuple):
    """What an administrator asked for; fields that say nothing keep their defaults."""

    topic: str = ""
    partition: int = -1
    """-1: the topic as a whole."""
    broker: int = NO_LEADER
    log_dir: str = ""
    offset: int = NO_OFFSET
    detail: str = ""
    partitions: int = -1
    """How many the topic is to have."""
    assignment: tuple[tuple[int, ...], ...] = ()
    """The brokers of each partition that is made, or of the one that is reassigned."""
    configs: tuple[tuple[str, str | None], ...] = ()
    """Name and value; None takes one off. Without a topic they are the broker's, or everybody's."""
    is_whole: bool = False
    """``configs`` take the place of all that were set before."""
    is_repeated: bool = False
    """Asked of more than one broker: who did not answer may do it yet, a second time."""


Value: TypeAlias = Send | Poll | Assignment | Commit | Txn | Order


class Operation(NamedTuple):
    """One entry: an operation begins, or what became of it."""

    number: int
    """Of the entry, from 0 without gaps."""
    at_us: int
    """On the loop's time."""
    process: int
    """Does one operation at a time, and none any more after one whose outcome is not known."""
    client: str
    """The workload that the process belongs to."""
    kind: Kind
    function: Function
    value: Value
    error: str = ""
    """Of FAIL and INFO: Kafka's name of the error, or a sentence."""


class Invocation:
    """One operation under way: ``with history.begin(...) as operation``.

    It ends once, by ``ok`` or ``fail`` or ``unknown``; left without an end, it ends as unknown.
    """

    __slots__ = ("_function", "_history", "_is_ended", "client", "process", "value")

    def __init__(
        self, history: History, process: int, client: str, function: Function, value: Value
    ) -> None:
        """Only ``History.begin`` makes one."""
        self._history = history
        self._function = function
        self._is_ended = False
        self.process = process
        self.client = client
        self.value = value

    def __enter__(self) -> Invocation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if not self._is_ended:
            self.unknown(str(error) or type(error).__name__ if error else "given up")

    def ok(self, value: Value) -> None:
        """It happened; ``value`` has what the answer said."""
        self._end(Kind.OK, value, "")

    def fail(self, error: str) -> None:
        """It did certainly not happen."""
        self._end(Kind.FAIL, self.value, error)

    def unknown(self, error: str) -> None:
        """It may have happened."""
        self._end(Kind.INFO, self.value, error)

    def _end(self, kind: Kind, value: Value, error: str) -> None:
        assert not self._is_ended, f"{self._function} of {self.client} ended twice"
        self._is_ended = True
        self._history.end(self, kind, self._function, value, error)


class History:
    """All operations of one run, in the order in which they were told."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        """``now_us`` is the loop's time in microseconds."""
        self._now_us = now_us
        self._operations: list[Operation] = []
        self._idle: dict[str, list[int]] = {}
        self._process_count = 0

    def __len__(self) -> int:
        return len(self._operations)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations)

    @property
    def operations(self) -> list[Operation]:
        """All entries; not to be changed."""
        return self._operations

    def begin(self, client: str, function: Function, value: Value) -> Invocation:
        """Write down that ``client`` asks for something, by a process of its that is idle."""
        idle = self._idle.setdefault(client, [])
        if idle:
            process = heapq.heappop(idle)
        else:
            process = self._process_count
            self._process_count += 1
        self._add((process, client), Kind.INVOKE, function, value, "")
        return Invocation(self, process, client, function, value)

    def end(
        self, invocation: Invocation, kind: Kind, function: Function, value: Value, error: str
    ) -> None:
        """Write down how an operation ended; ``Invocation`` calls it."""
        self._add((invocation.process, invocation.client), kind, function, value, error)
        if kind is not Kind.INFO:
            heapq.heappush(self._idle[invocation.client], invocation.process)

    def note(self, client: str, text: str) -> None:
        """Write down a step of the run: a fault, a restart."""
        with self.begin(client, Function.NOTE, Order(detail=text)) as invocation:
            invocation.ok(invocation.value)

    def _add(
        self, who: tuple[int, str], kind: Kind, function: Function, value: Value, error: str
    ) -> None:
        at = (len(self._operations), self._now_us())
        self._operations.append(Operation(*at, *who, kind, function, value, error))
