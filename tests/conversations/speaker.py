"""Who speaks in a drawn conversation: what it has learned, and the dice of the step it is at."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeVar

from conformance.core.cases.building import unknown_topic
from conformance.core.script import Form, Given, To, Topic, ask

T = TypeVar("T")
_NOTHING: Final[Form] = {}
_KRAFT_FETCH_MIN: Final = 4
"""The oldest Fetch of a release without ZooKeeper."""


@dataclass(slots=True)
class Producer:
    """One producer that was given an id, or a zombie of it."""

    id: int
    epoch: int
    transactional_id: str | None
    sequences: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    """The next sequence, by topic and partition."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a group of the classic protocol, as of one generation."""

    group: str
    id: str
    generation: int


@dataclass(slots=True)
class Consumer:
    """A member of a group of KIP-848."""

    group: str
    id: str
    epoch: int


@dataclass(slots=True)
class Session:
    """A fetch session that a broker opened."""

    id: int
    epoch: int
    version: int


@dataclass(slots=True)
class Speaker:
    """Draws what is said. What it draws never hangs on ids, which each cluster gives its own."""

    given: Given
    versions: Mapping[str, tuple[int, int]]
    """By API, those that both clusters serve."""
    dice: Random = field(default_factory=lambda: Random(0))
    """Of the step; each step has its own, so that one that is left out changes no other."""
    topics: list[Topic] = field(default_factory=list[Topic])
    partitions: dict[str, int] = field(default_factory=dict[str, int])
    ends: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    """About where a partition ends."""
    copies: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    """How many replicas a partition was given, where it was given other ones."""
    epoch_has_records: dict[tuple[str, int], bool] = field(
        default_factory=dict[tuple[str, int], bool]
    )
    """Whether its log has records of its newest leader epoch."""
    producers: list[Producer] = field(default_factory=list[Producer])
    members: list[Member] = field(default_factory=list[Member])
    consumers: list[Consumer] = field(default_factory=list[Consumer])
    sessions: list[Session] = field(default_factory=list[Session])

    @property
    def is_told_late(self) -> bool:
        """Whether nobody knows when a broker goes by a change: ZooKeeper tells it, before 4.0."""
        return self.versions["Fetch"][0] < _KRAFT_FETCH_MIN

    def chance(self, share: float) -> bool:
        """Whether something happens that does in so many of 1."""
        return self.dice.random() < share

    def one_of(self, values: Sequence[T]) -> T:
        """Return one of them."""
        return values[self.dice.randrange(len(values))]

    def mostly(self, usual: T, *others: T, share: float = 0.85) -> T:
        """Return the usual value, or now and then one of the others."""
        return usual if self.chance(share) else self.one_of(others)

    def version(self, api: str, since: int = 0) -> int:
        """Return a version that both serve; the newest in half of all cases."""
        low, high = self.versions[api]
        return high if self.chance(0.5) else self.dice.randint(max(low, since), high)

    def name(self, word: str, count: int = 2) -> str:
        """Return one of a few names of the conversation."""
        return self.given.name(word, self.dice.randrange(count))

    def topic(self) -> Topic:
        """Return a topic that was made, or now and then one that was not."""
        return self.mostly(self.one_of(self.topics), unknown_topic(self.given), share=0.97)

    def partition(self, topic: Topic) -> int:
        """Return a partition of it, or now and then one that is not there."""
        count = self.partitions.get(topic.name, 1)
        return self.mostly(self.dice.randrange(count), count, share=0.97)

    def offset(self, topic: Topic, partition: int) -> int:
        """Return an offset within a partition, at its ends or beyond."""
        end = self.ends.get((topic.name, partition), 0)
        return self.mostly(self.dice.randint(0, end), 0, end, end + 1, end + 1000, -1, share=0.6)


Step = Generator[Any, Any, Any]


def say(speaker: Speaker, api: str, form: Form, *, to: To = 1, since: int = 0) -> Step:
    """Ask in a drawn version; return the answer's body."""
    return ask(api, speaker.version(api, since), form, to=to)


def first_of(answer: Form, *names: str) -> Form:
    """Return the first row below some lists, one in the other; empty where there is none."""
    found: Any = answer
    for name in names:
        found = (found.get(name) or [_NOTHING])[0]
    return found
