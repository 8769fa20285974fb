"""What members of a group ask that do all that members may do, and some of what they must not.

They join by either protocol and change it, leave, stay away and return under another id, keep what
they are to give back, lose answers, commit in epochs that are over. Nothing they read matters; the
group is theirs alone. Each ``next`` is one request with what is to be done with its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, NamedTuple, Protocol, TypeAlias

from protocol.admin.groups import COMMIT_BY_NAME_VERSION_MAX
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from protocol.messages.groups import MemberIdentity

REBALANCE_TIMEOUT_MS: Final = 1_500
"""So long they may keep what they are to give back: a story is to see it end."""
SHORT_REBALANCE_TIMEOUT_MS: Final = 500
"""So long at times, from when they say so."""
COMMIT_WITH_TIME_VERSION: Final = 1
"""An OffsetCommit of such an old client says when it commits."""
_LONG_AGO_MS: Final = 1
_JOINING: Final = 0
_LEAVING: Final = -1
_AWAY: Final = -2
_HEARTBEAT_VERSION: Final = 1
_FETCH_VERSION: Final = 9
_OFFSET_MAX: Final = 1_000
_EVERYTHING, _NO_EXPRESSION = ".*", "a(b"
_WRONG_ONCE_OF: Final = 8
"""One of so many regular expressions is none."""
_PASSING: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.UNKNOWN_SERVER_ERROR,
)


class Chance(Protocol):
    """As much of ``random.Random`` as it takes."""

    def randrange(self, stop: int, /) -> int:
        """Return a number from 0 to ``stop`` - 1."""
        ...


class Asking(NamedTuple):
    """One request."""

    message: Any
    version: int
    answered: Callable[[Any], None]
    """Takes the answer."""


class KnownTopic(NamedTuple):
    """A topic as metadata told of it last."""

    topic_id: bytes
    partitions: int


class Place(NamedTuple):
    """Who a member is for as long as it lives, whatever ids it has meanwhile."""

    group: str
    name: str
    instance_id: str | None
    topics: Sequence[str]
    """What it may read; some may not be there."""


Wave: TypeAlias = Literal["consumer", "classic", "both"]


class Side(Protocol):
    """A member that speaks one of the protocols."""

    def speaks(self, wave: Wave) -> bool:
        """Tell whether it is of those that come then."""
        ...

    @property
    def is_out(self) -> bool:
        """Whether another one may take its place: it left, or was put out."""
        ...

    @property
    def is_awaited(self) -> bool:
        """Whether others go on once it asks for what it is to have."""
        ...

    @property
    def identity(self) -> MemberIdentity:
        """Who it is, for who removes it."""
        ...

    def next(self, chance: Chance, known: Mapping[str, KnownTopic]) -> Asking:
        """Return what it asks next."""
        ...

    def leave(self, chance: Chance, /) -> Asking:
        """Return its last request."""
        ...

    def again(self, chance: Chance, asked: Asking, /) -> Asking:
        """Return what it asks, on a new connection, when ``asked`` is not answered in time."""
        ...


def some_of(chance: Chance, names: Sequence[str]) -> list[str]:
    """Return one or more of ``names``, sorted."""
    found = {names[chance.randrange(len(names))] for _ in range(1 + chance.randrange(3))}
    return sorted(found)


def others_of(chance: Chance, names: Sequence[str], now: Sequence[str] | None) -> list[str]:
    """Return one or more of ``names``, sorted, and mostly not those of now."""
    found = some_of(chance, names)
    return some_of(chance, names) if found == now else found


def commit_request(
    place: Place, member_id: str, epoch: int, offsets: Mapping[TopicPartition, int]
) -> OffsetCommitRequest:
    """Return a commit of one member."""
    return OffsetCommitRequest(
        group_id=place.group,
        generation_id_or_member_epoch=epoch,
        member_id=member_id,
        group_instance_id=place.instance_id,
        topics=[
            OffsetCommitRequestTopic(
                name=tp.topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=tp.partition,
                        committed_offset=offset,
                        committed_metadata="",
                    )
                ],
            )
            for tp, offset in offsets.items()
        ],
    )


def long_ago(request: OffsetCommitRequest) -> OffsetCommitRequest:
    """Have offsets be committed so long ago that they expire where nothing else keeps them."""
    for topic in request.topics:
        for row in topic.partitions:
            row.commit_timestamp = _LONG_AGO_MS
    return request


def ignored(answer: Any) -> None:
    """Take an answer that changes nothing for who asked."""


class ConsumerSide:
    """A member of the consumer protocol (KIP-848)."""

    def __init__(self, place: Place, member_id: str, topics: Sequence[str]) -> None:
        self.is_out = False
        self._place = place
        self._member_id = member_id
        self._topics: Sequence[str] | None = topics
        """None: it reads by a regular expression."""
        self._regex = _EVERYTHING
        self._rebalance_timeout_ms = REBALANCE_TIMEOUT_MS
        self._epoch = _JOINING
        self._before = _JOINING
        """Its epoch before this one; its first one is its own."""
        self._owned: dict[tuple[bytes, int], int] = {}
        """What it was given and has not given back, and in which epoch it came."""
        self._target: set[tuple[bytes, int]] = set()
        self._is_refused = False
        """Whether nobody comes under its instance id before it says that it is away."""

    def speaks(self, wave: Wave) -> bool:
        """Tell whether it is of those that come then."""
        return wave != "classic"

    @property
    def is_awaited(self) -> bool:
        """Never: it is told what it has with every answer, and keeps it long enough without."""
        return False

    @property
    def identity(self) -> MemberIdentity:
        """Who it is, for who removes it."""
        return MemberIdentity(member_id=self._member_id, group_instance_id=self._place.instance_id)

    def next(self, chance: Chance, known: Mapping[str, KnownTopic]) -> Asking:
        """Join; then mostly beat, with what it has or what it is to have."""
        if self._is_refused:
            return self.leave(chance)
        if self._epoch == _JOINING:
            return self._join(chance)
        if self._lost and (drawn := chance.randrange(6)):
            return self._keep(chance, known) if drawn > 2 else self._swap(chance, known)
        act = self._ACTS[chance.randrange(len(self._ACTS))]
        return act(self, chance, known)

    def leave(self, chance: Chance, /) -> Asking:
        """Leave for good, or for a while where another one will come under its instance id."""
        is_away = self._is_static and chance.randrange(2)
        epoch = _AWAY if is_away else _LEAVING
        return Asking(self._request(epoch), _HEARTBEAT_VERSION, self._gone)

    def again(self, _chance: Chance, asked: Asking, /) -> Asking:
        """Ask the same."""
        return asked

    def _gone(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        self.is_out = answer.error_code not in _PASSING

    def _request(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self._place.group,
            member_id=self._member_id,
            member_epoch=epoch,
            instance_id=self._place.instance_id,
        )

    def _join(self, chance: Chance) -> Asking:
        self._epoch, self._owned, self._target = _JOINING, {}, set()
        asking = self._beat(is_full=True)
        asking.message.server_assignor = (None, "uniform", "range")[chance.randrange(3)]
        return asking

    def _beat(
        self, *, epoch: int | None = None, tells_owned: bool = False, is_full: bool = False
    ) -> Asking:
        request = self._request(self._epoch if epoch is None else max(epoch, _JOINING))
        if is_full:
            request.rebalance_timeout_ms = self._rebalance_timeout_ms
            request.subscribed_topic_names = self._topics or ()
            request.subscribed_topic_regex = "" if self._topics is not None else self._regex
        if is_full or tells_owned:
            owned = self._owned if request.member_epoch != _JOINING else ()
            request.topic_partitions = [
                TopicPartitions(topic_id=topic_id, partitions=[index])
                for topic_id, index in sorted(owned)
            ]
        return Asking(request, _HEARTBEAT_VERSION, self._answered)

    def _answered(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        code = ErrorCode(answer.error_code)
        if code in _PASSING:
            return
        if code is ErrorCode.INVALID_REGULAR_EXPRESSION:
            self._regex = _EVERYTHING
            return
        if code is not ErrorCode.NONE:
            # A static member begins anew under another id, as a process that was restarted does.
            self._is_refused = code is ErrorCode.FENCED_MEMBER_EPOCH and self._is_static
            self.is_out = not self._is_refused
            return
        if answer.member_epoch != self._epoch:
            self._before = self._epoch if self._epoch != _JOINING else answer.member_epoch
            self._epoch = answer.member_epoch
        if answer.assignment is not None:
            rows = answer.assignment.topic_partitions
            self._target = {(bytes(row.topic_id), each) for row in rows for each in row.partitions}
            self._owned = dict.fromkeys(self._target, self._epoch) | self._owned

    @property
    def _is_static(self) -> bool:
        return self._place.instance_id is not None

    @property
    def _lost(self) -> set[tuple[bytes, int]]:
        """What it is to give back."""
        return self._owned.keys() - self._target

    def _in_another_epoch(self, chance: Chance, _known: Mapping[str, KnownTopic]) -> Asking:
        return self._beat(epoch=self._epoch + 1 - 2 * chance.randrange(2), is_full=True)

    def _without_an_answer(self, chance: Chance, known: Mapping[str, KnownTopic]) -> Asking:
        """Go on in the epoch before, with what it may have then, with everything, or silently."""
        match chance.randrange(4):
            case 0:
                return self._beat(epoch=self._before)
            case 1:
                for topic in known.values():
                    every = ((topic.topic_id, index) for index in range(topic.partitions))
                    self._owned = dict.fromkeys(every, self._epoch) | self._owned
            case _:
                self._give_back()
        return self._beat(epoch=self._before, is_full=True)

    def _of_other_topics(self, chance: Chance, _known: Mapping[str, KnownTopic]) -> Asking:
        if chance.randrange(3):
            self._topics = others_of(chance, self._place.topics, self._topics)
        else:
            self._topics, self._regex = None, self._other_regex(chance)
        timeouts_ms = (SHORT_REBALANCE_TIMEOUT_MS, REBALANCE_TIMEOUT_MS)
        self._rebalance_timeout_ms = timeouts_ms[chance.randrange(len(timeouts_ms))]
        return self._beat(is_full=True)

    def _other_regex(self, chance: Chance) -> str:
        """Match one of the topics by its first letters, or all of them; or be none at all."""
        if not chance.randrange(_WRONG_ONCE_OF):
            return _NO_EXPRESSION
        patterns = [f"{name[:2]}.*" for name in self._place.topics]
        return (*patterns, "|".join(patterns))[chance.randrange(len(patterns) + 1)]

    def _swap(self, chance: Chance, known: Mapping[str, KnownTopic]) -> Asking:
        """Read something else than what it is to give back, which it gives back, or keeps."""
        if not chance.randrange(3):
            self._give_back()
        lost = {topic_id for topic_id, _ in self._lost}
        losing = {name for name, topic in known.items() if topic.topic_id in lost}
        others = [name for name in self._place.topics if name not in losing]
        self._topics = others_of(chance, others or self._place.topics, self._topics)
        return self._beat(is_full=True)

    def _go(self, chance: Chance, _known: Mapping[str, KnownTopic]) -> Asking:
        """Leave, or join again; while a static member is there, nobody joins under its name."""
        return self.leave(chance) if self._is_static or chance.randrange(2) else self._join(chance)

    def _keep(self, chance: Chance, known: Mapping[str, KnownTopic]) -> Asking:
        """Beat without giving anything back, or commit that in the epoch that brought it."""
        lost = {place for place in self._lost if self._owned[place] < self._epoch} or self._lost
        offsets = self._offsets(chance, known, lost)
        if not offsets or not chance.randrange(3):
            return self._beat()
        epoch = max(self._owned[place] for place in lost) - (not chance.randrange(4))
        request = commit_request(self._place, self._member_id, epoch, offsets)
        return Asking(request, COMMIT_BY_NAME_VERSION_MAX, ignored)

    def _settle(self, chance: Chance, _known: Mapping[str, KnownTopic]) -> Asking:
        is_told = bool(self._lost) or not chance.randrange(2)
        self._give_back()
        return self._beat(tells_owned=is_told)

    def _give_back(self) -> None:
        self._owned = {place: self._owned[place] for place in self._target}

    def _commit(self, chance: Chance, known: Mapping[str, KnownTopic]) -> Asking:
        """Commit what it has, or what it is given, in one of its epochs or one that is to come."""
        offsets = self._offsets(chance, known, set(self._owned))
        if not offsets or not chance.randrange(4):
            offsets[TopicPartition(self._place.topics[0], 0)] = chance.randrange(_OFFSET_MAX)
        epoch = (self._epoch, self._before, self._epoch, self._epoch + 1)[chance.randrange(4)]
        request = commit_request(self._place, self._member_id, epoch, offsets)
        return Asking(request, COMMIT_BY_NAME_VERSION_MAX, ignored)

    def _offsets(
        self, chance: Chance, known: Mapping[str, KnownTopic], places: set[tuple[bytes, int]]
    ) -> dict[TopicPartition, int]:
        names = {each.topic_id: name for name, each in known.items()}
        return {
            TopicPartition(names[topic_id], index): chance.randrange(_OFFSET_MAX)
            for topic_id, index in sorted(places)
            if topic_id in names
        }

    def _fetch(self, chance: Chance, _known: Mapping[str, KnownTopic]) -> Asking:
        group = OffsetFetchRequestGroup(
            group_id=self._place.group,
            member_id=self._member_id,
            member_epoch=(self._epoch, self._before)[chance.randrange(2)],
            topics=None,
        )
        return Asking(OffsetFetchRequest(groups=[group]), _FETCH_VERSION, ignored)

    _ACTS: ClassVar = (
        _in_another_epoch,
        *(_without_an_answer,) * 2,
        *(_of_other_topics,) * 4,
        _go,
        *(_commit,) * 3,
        _fetch,
        *(_keep,) * 2,
        *(_settle,) * 5,
    )
    """Of these one is drawn each time."""
