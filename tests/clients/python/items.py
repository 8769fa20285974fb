"""The items of the report card, written once: each Python program says them in its library's words.

What is common to clients of other languages too is in ``ledger``.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from tests.clients.programs import FOUR
from tests.clients.python.ledger import (
    ABORTS_EVERY,
    DEADLINE_S,
    HALF,
    PARTITIONS,
    Ledger,
    MissedError,
    run,
    thread,
)

Send: TypeAlias = Callable[[bytes, bytes], None]
Item: TypeAlias = Callable[[list[str], str], str]
"""Takes bootstrap servers and the prefix of its names, tells how much it did."""
_NONE: Final[Mapping[str, Item]] = MappingProxyType({})
MEMBERS: Final = 3
MOVED: Final = [0, PARTITIONS // 2, PARTITIONS // 3, 0]
"""How many partitions go elsewhere when the members join, and when the last one leaves."""


class Record(NamedTuple):
    """One that was read; a library's own will do where it has these fields."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class Holding:
    """Which partitions a member has: a listener for libraries that name its methods so.

    Its thread calls the listener, another one may read.
    """

    def __init__(self) -> None:
        self.partitions: frozenset[int] = frozenset()
        self.revoked: frozenset[int] = frozenset()
        """Whatever was taken from it since ``watch``."""

    @property
    def owned(self) -> int:
        """How many it has."""
        return len(self.partitions)

    def watch(self) -> frozenset[int]:
        """Forget what was taken from it; return what it has."""
        self.revoked = frozenset()
        return self.partitions

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Take all that it has from now on."""
        self.partitions = frozenset(each.partition for each in assigned)

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        """Take what it has no longer."""
        gone = frozenset(each.partition for each in revoked)
        self.revoked |= gone
        self.partitions -= gone


class GrowingHolding(Holding):
    """Of libraries that tell what a member gets beside what it has."""

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        """Take what it has, too, from now on."""
        self.partitions |= frozenset(each.partition for each in assigned)


class Reader(ABC):
    """A consumer that begins with the oldest record and is given committed ones only."""

    @abstractmethod
    def assign(self, topic: str) -> None:
        """Read all partitions of a topic, without a group."""

    @abstractmethod
    def subscribe(self, topic: str) -> Holding:
        """Read as a member of its group; return what counts its partitions."""

    @abstractmethod
    def polled(self) -> list[Any]:
        """Return the next records, each as ``Record``; none after a while without any."""

    @abstractmethod
    def commit(self) -> None:
        """Commit what was polled, unless somebody else has its partitions by now."""

    @abstractmethod
    def seek(self, topic: str, partition: int, offset: int) -> None:
        """Go on there."""


class Transactional(ABC):
    """A producer whose transactional id is its own by now."""

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction."""

    @abstractmethod
    def send(self, topic: str, record: Record) -> None:
        """Send a copy of a record."""

    @abstractmethod
    def send_offsets(self, reader: Any, records: Sequence[Record]) -> None:
        """Send that ``reader``, the library's own, has read these records."""

    @abstractmethod
    def commit(self) -> None:
        """Commit the transaction."""

    @abstractmethod
    def abort(self) -> None:
        """Abort the transaction."""


class Library(ABC):
    """What an item asks of a client library."""

    def __init__(self, bootstrap: list[str]) -> None:
        self.bootstrap = bootstrap

    @abstractmethod
    def administer(self, topic: str) -> None:
        """Create a topic, change, describe and delete it. Raises MissedError."""

    @abstractmethod
    def create(self, *topics: str) -> None:
        """Create topics."""

    @abstractmethod
    def check_left(self, group_id: str) -> None:
        """Raise MissedError unless the group is listed, described as empty and can be deleted."""

    @abstractmethod
    def sending(self, topic: str, ledger: Ledger) -> AbstractContextManager[Send]:
        """Give a send; all of it is acknowledged behind the block."""

    @abstractmethod
    def reading(self, ledger: Ledger, group_id: str | None) -> AbstractContextManager[Reader]:
        """Give a consumer; ``ledger`` takes the errors that it does not raise."""

    @abstractmethod
    def in_transactions(self, transactional_id: str) -> AbstractContextManager[Transactional]:
        """Give a producer."""


class Member:
    """Reads a topic as one of a group until it is closed, and commits what it has read."""

    def __init__(self, library: Library, group_id: str, topic: str, ledger: Ledger) -> None:
        self.holding = Holding()
        self.read = 0
        """How many records it has read."""
        self._library = library
        self._ledger = ledger
        self._leaves = threading.Event()
        self._thread = thread(lambda: self._consume(group_id, topic), ledger)

    def _consume(self, group_id: str, topic: str) -> None:
        with self._library.reading(self._ledger, group_id) as reader:
            self.holding = reader.subscribe(topic)
            while not self._leaves.is_set():
                records = take(reader, self._ledger)
                if records:
                    reader.commit()
                self.read += records

    def close(self) -> None:
        """Leave the group."""
        self._leaves.set()
        self._thread.join(DEADLINE_S)


def run_items(
    version: str, make: Callable[[list[str]], Library], more: Mapping[str, Item] = _NONE
) -> None:
    """Run what the command line names: BOOTSTRAP PREFIX ITEM... .

    Args:
        version: of the library.
        make: connects it to a cluster.
        more: items that not every library has.
    """
    four = zip(FOUR, (administer, produce, group, transactions), strict=True)
    run(version, {**{name: made(make, item) for name, item in four}, **more})


def made(make: Callable[[list[str]], Library], item: Callable[[Library, str], str]) -> Item:
    """Return an item with its library."""
    return lambda bootstrap, prefix: item(make(bootstrap), prefix)


def administer(library: Library, prefix: str) -> str:
    library.administer(f"{prefix}-admin")
    return "topics, configurations, partitions"


def produce(library: Library, prefix: str) -> str:
    topic, ledger = f"{prefix}-produce", Ledger()
    library.create(topic)
    with library.sending(topic, ledger) as send:
        ledger.write(topic, send)
    read_all(library, topic, ledger)
    return f"{ledger.written} records, idempotent"


def group(library: Library, prefix: str) -> str:
    topic, group_id, ledger = f"{prefix}-group", f"{prefix}-readers", Ledger()
    library.create(topic)

    def join() -> Member:
        return Member(library, group_id, topic, ledger)

    with library.sending(topic, ledger) as send:
        share(join, lambda: ledger.write(topic, send, group_id), ledger)
        resume(join, ledger, send)
    library.check_left(group_id)
    ledger.judge(exactly=False)
    return f"{ledger.written} records, {ledger.again} of them twice"


def share(join: Callable[[], Member], write: Callable[[], object], ledger: Ledger) -> None:
    """Have two members read what is written meanwhile, and one of them leave."""
    half = PARTITIONS // 2
    with closing(join()) as first:
        writing = thread(write, ledger)
        ledger.until("the first member reads", lambda: first.read > 0)
        with closing(join()) as second:
            ledger.until(
                "both share the partitions",
                lambda: (first.holding.owned, second.holding.owned) == (half, half),
            )
            writing.join(DEADLINE_S)
        ledger.until("all is read", lambda: ledger.is_read and first.holding.owned == PARTITIONS)


def cooperative(library: Library, prefix: str) -> str:
    """Have three members share, one after the other, and one leave, while all is read."""
    topic, group_id, ledger = f"{prefix}-cooperative", f"{prefix}-cooperative", Ledger()
    library.create(topic)
    with library.sending(topic, ledger) as send:
        writing = thread(lambda: ledger.write(topic, send, group_id), ledger)
        with ExitStack() as leaving:
            members: list[Member] = []

            def join() -> None:
                member = Member(library, group_id, topic, ledger)
                members.append(leaving.enter_context(closing(member)))

            taken = [change(members, ledger, join) for _ in range(MEMBERS)]
            taken.append(change(members, ledger, lambda: members.pop().close()))
            writing.join(DEADLINE_S)
            ledger.until("all is read", lambda: ledger.is_read)
    if taken != MOVED:
        raise MissedError(f"{taken} partitions were taken from members, {MOVED} had to move")
    library.check_left(group_id)
    ledger.judge(exactly=False)
    return f"{ledger.written} records, {sum(taken)} partitions moved"


def change(members: list[Member], ledger: Ledger, how: Callable[[], object]) -> int:
    """Have one join or leave; return how many partitions were taken from those that are there."""
    had = [(each.holding, each.holding.watch()) for each in members]
    how()
    share = PARTITIONS // len(members)
    ledger.until(
        f"{len(members)} members share the partitions",
        lambda: [each.holding.owned for each in members] == [share] * len(members),
    )
    for holding, before in had[: len(members)]:
        kept = before & holding.partitions & holding.revoked
        if kept:
            raise MissedError(f"{sorted(kept)} were taken from a member that keeps them")
    return sum(len(holding.revoked) for holding, _ in had[: len(members)])


def resume(join: Callable[[], Member], ledger: Ledger, send: Send) -> None:
    """Have a new member read what is written from now on, and nothing that was committed."""
    again = ledger.again
    for _ in range(HALF):
        send(*ledger.next())
    with closing(join()):
        ledger.until("what was written last is read", lambda: ledger.is_read)
    if ledger.again > again:
        raise MissedError(f"{ledger.again - again} committed records were read again")


def transactions(library: Library, prefix: str) -> str:
    source, sink, ledger = f"{prefix}-source", f"{prefix}-sink", Ledger()
    library.create(source, sink)
    with library.sending(source, ledger) as send:
        names = f"{prefix}-transformers", f"{prefix}-transform"
        writing = thread(lambda: ledger.write(sink, send, *names), ledger)
        aborted = transform(library, prefix, ledger, writing)
    read_all(library, sink, ledger)
    return f"{ledger.written} records, {aborted} transactions aborted"


def transform(library: Library, prefix: str, ledger: Ledger, writing: threading.Thread) -> int:
    """Copy source to sink, offsets and records in one transaction, and abort each third."""
    copied, begun, aborted = 0, 0, 0
    with (
        library.in_transactions(f"{prefix}-transform") as producer,
        library.reading(ledger, f"{prefix}-transformers") as reader,
    ):
        reader.subscribe(f"{prefix}-source")
        while (writing.is_alive() or copied < ledger.written) and not ledger.has_failed:
            records = reader.polled()
            if not records:
                continue
            producer.begin()
            for record in records:
                producer.send(f"{prefix}-sink", record)
            producer.send_offsets(reader, records)
            begun += 1
            if begun % ABORTS_EVERY == 0:
                producer.abort()
                aborted += 1
                go_back(reader, records)
            else:
                producer.commit()
                copied += len(records)
    return aborted


def go_back(reader: Reader, records: Sequence[Record]) -> None:
    """Have these records read again."""
    first: dict[tuple[str, int], int] = {}
    for each in records:
        first.setdefault((each.topic, each.partition), each.offset)
    for (topic, partition), offset in first.items():
        reader.seek(topic, partition, offset)


def take(reader: Reader, ledger: Ledger) -> int:
    """Write the next records down; return how many they are."""
    records = reader.polled()
    for record in records:
        ledger.read(record.key, record.value)
    return len(records)


def read_all(library: Library, topic: str, ledger: Ledger) -> None:
    """Read a topic from its beginning: all that was written is there, once and in order."""
    with library.reading(ledger, None) as reader:
        reader.assign(topic)

        def is_read() -> bool:
            take(reader, ledger)
            return ledger.is_read

        ledger.until("all is read", is_read)
    ledger.judge(exactly=True)
