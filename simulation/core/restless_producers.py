"""What producers do that share a transactional id: all that they may, and what they must not.

Each puts out whoever has the id, falls silent inside of a transaction, goes on under an epoch that
is over, asks with what it had before or with what another id has. Some speak the first version of
transactions, some the second. Each ``next`` is one request with what is to be done with its answer.
What became of a transaction is told where it is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from protocol.errors import RETRIABLE, ErrorCode
from protocol.ids import NO_PRODUCER_ID, TopicPartition
from protocol.messages.produce import ACKS_ALL
from protocol.messages.producer_ids import InitProducerIdResponse
from protocol.messages.transactions import AddPartitionsToTxnResponse, EndTxnRequest, EndTxnResponse
from simulation.core import producer_requests as requests
from simulation.core.history import Function, History, Invocation, Send, Txn
from simulation.core.producer_requests import (
    Identity,
    ProducerPlace,
    RecordAt,
    TransactionVersion,
)
from simulation.core.restless_members import Chance, KnownTopic

_SENDS_MAX: Final = 3
_OFFSETS: Final = 1_000
_DEEDS_OF_A_GHOST: Final = 4
"""So much is asked by one that was told that it is put out."""
_DEEDS: Final = 20
_TRANSACTIONS: Final = 13
"""Of so many deeds."""
_FOREIGN: Final = 2
"""Up to here something else is drawn that asks for an epoch: with its own, an old or another id."""
_CHANCES_INSIDE: Final = 24
_IS_THERE: Final = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
_PASSING: Final = (*RETRIABLE, ErrorCode.CONCURRENT_TRANSACTIONS)
Where: TypeAlias = Literal["transaction", "group"] | TopicPartition
_CodeOf: TypeAlias = Callable[[Any], ErrorCode]


class ProducerAsking(NamedTuple):
    """One request."""

    where: Where
    """Whom it goes to: a coordinator, or who leads a partition."""
    message: Any
    version: int
    answered: _CodeOf
    """Takes the answer, and returns its code."""
    lost: Callable[[], None] = lambda: None
    """Called in place of ``answered`` where none came."""


class Numbers:
    """Gives each record of a workload its number."""

    def __init__(self, first: int) -> None:
        self._next = first

    def take(self, count: int) -> range:
        """Return so many numbers that nobody has."""
        taken = range(self._next, self._next + count)
        self._next = taken.stop
        return taken


class Book(NamedTuple):
    """Where all producers of a workload write down what they do, and as whom."""

    history: History
    client: str
    """The workload."""
    numbers: Numbers
    wall_ms: Callable[[], int]

    def begin(self, txn: Txn) -> Invocation:
        """Write down that a transaction begins."""
        return self.history.begin(self.client, Function.TXN, txn)


@dataclass(slots=True)
class _Open:
    """One transaction, from when its producer begins it."""

    txn: Txn
    told: Invocation
    has_offsets: bool
    """Whether offsets are yet to be committed in it."""
    sent: list[Send] = field(default_factory=list[Send])
    """Those that were acknowledged."""
    added: dict[Any, None] = field(default_factory=dict[Any, None])
    """What the coordinator was told of: partitions, and the group. Of the first version."""
    is_ruined: bool = False
    """Whether something was refused that belongs to it."""
    is_committed: bool | None = None
    """How its end was asked for; None: not yet."""

    @property
    def is_whole(self) -> bool:
        """Whether all its records are there."""
        return len(self.sent) == len(self.txn.sends)


class ProducerSide:
    """One producer, until it is out for good."""

    def __init__(self, place: ProducerPlace, version: TransactionVersion, book: Book) -> None:
        self.is_out = False
        self.now = Identity()
        self._place = place
        self._version: TransactionVersion = version
        self._book = book
        self._earlier: list[Identity] = []
        self._sequences: dict[TopicPartition, int] = {}
        self._open: _Open | None = None
        self._last_end: EndTxnRequest | None = None
        self._has_to_begin = True
        """Whether it needs another epoch first: something of before may come late."""
        self._deeds_left = _DEEDS_OF_A_GHOST

    @property
    def is_inside(self) -> bool:
        """Whether a transaction is open, so that silence means something."""
        return self._open is not None

    def next(
        self, chance: Chance, known: Mapping[str, KnownTopic], others: Sequence[Identity]
    ) -> ProducerAsking:
        """Return what it asks next; ``others`` have other transactional ids."""
        topic = known.get(self._place.topic)
        if topic is not None and self._open is not None:
            return self._go_on(self._open, chance, topic)
        if topic is None or self._has_to_begin:
            has_id = chance.randrange(2)
            return self._initialize(chance, self.now if has_id else Identity())
        drawn = chance.randrange(_DEEDS)
        if drawn >= _TRANSACTIONS:
            return self._else(drawn - _TRANSACTIONS, chance, topic, others)
        self._open = self._opened(chance, topic)
        return self._go_on(self._open, chance, topic)

    def end(self) -> None:
        """Say that nothing more is asked: what is open stays so until it is aborted."""
        if self._open is not None:
            self._close(self._open, "given up")

    # Who it is.

    def _initialize(self, chance: Chance, having: Identity) -> ProducerAsking:
        is_first = having == Identity()
        versions = requests.INIT_VERSIONS if is_first else requests.INIT_WITH_ID_VERSIONS

        def answered(answer: InitProducerIdResponse) -> ErrorCode:
            code = _code_of(answer)
            if code is ErrorCode.NONE:
                self.end()
                self._become(Identity(answer.producer_id, answer.producer_epoch))
                self._has_to_begin = False
                self._deeds_left = _DEEDS_OF_A_GHOST
            elif code not in _PASSING:
                self._put_out()
            return code

        version = versions[chance.randrange(len(versions))]
        request = requests.initializing(self._place, having)
        return ProducerAsking("transaction", request, version, answered, self._unsure)

    def _become(self, identity: Identity) -> None:
        if identity != self.now:
            self._earlier.append(self.now)
            self.now = identity
            self._sequences.clear()

    def _put_out(self) -> None:
        """Go on for a little while, as one that does not know better."""
        self._deeds_left -= 1
        self.is_out = self._deeds_left <= 0
        if self.is_out:
            self.end()

    def _unsure(self) -> None:
        self._has_to_begin = True

    # A transaction.

    def _opened(self, chance: Chance, topic: KnownTopic) -> _Open:
        name, keys = self._place.topic, self._place.keys
        sends = tuple(
            Send(TopicPartition(name, number % topic.partitions), (number,), ACKS_ALL, keys=keys)
            for number in self._book.numbers.take(1 + chance.randrange(_SENDS_MAX))
        )
        txn = Txn(self._place.transactional_id, sends)
        return _Open(txn, self._book.begin(txn), has_offsets=not chance.randrange(3))

    def _close(self, open_: _Open, error: str) -> None:
        """Write down what became of a transaction of which no success was told."""
        self._open = None
        self._has_to_begin = True
        if open_.is_committed:
            open_.told.unknown(error)
        else:
            open_.told.fail(error)

    def _go_on(self, open_: _Open, chance: Chance, topic: KnownTopic) -> ProducerAsking:
        drawn = chance.randrange(_CHANCES_INSIDE)
        if open_.is_committed is not None:
            return self._end(open_, is_committed=open_.is_committed)
        if drawn == 0:
            return self._initialize(chance, self.now if chance.randrange(2) else Identity())
        if drawn == 1 or open_.is_ruined:
            return self._end(open_, is_committed=False)
        if open_.has_offsets and (drawn % 2 or open_.is_whole):
            return self._commit_offsets(open_)
        if not open_.is_whole:
            return self._send(open_, open_.txn.sends[len(open_.sent)], topic)
        return self._end(open_, is_committed=bool(chance.randrange(4)))

    def _send(self, open_: _Open, send: Send, topic: KnownTopic) -> ProducerAsking:
        """Send a record; by the first version the coordinator is told of its partition before."""
        if self._version == 1 and send.tp not in open_.added:
            request = requests.adding(self._place, self.now, send.tp)
            return self._added(open_, send.tp, request, _code_of_added)
        return self._produce(open_, send, topic)

    def _added(
        self, open_: _Open, what: object, request: object, code_of: _CodeOf
    ) -> ProducerAsking:
        def answered(answer: Any) -> ErrorCode:
            code = code_of(answer)
            if code is ErrorCode.NONE:
                open_.added[what] = None
            self._heed(open_, code)
            return code

        return ProducerAsking("transaction", request, requests.ADD_VERSION, answered, self._unsure)

    def _heed(self, open_: _Open, code: ErrorCode) -> None:
        if code not in _PASSING and code not in _IS_THERE:
            open_.is_ruined = True
            self._put_out()

    def _produce(self, open_: _Open, send: Send, topic: KnownTopic) -> ProducerAsking:
        sequence = self._sequences.get(send.tp, 0)

        def answered(answer: Any) -> ErrorCode:
            code, base_offset = _produced(answer)
            if code in _IS_THERE:
                open_.sent.append(send._replace(base_offset=base_offset))
                self._sequences[send.tp] = sequence + 1
            self._heed(open_, code)
            return code

        at = RecordAt(send.tp, send.records[0], sequence)
        return self._sending(self.now, at, topic, answered, self._unsure)

    def _sending(
        self,
        who: Identity,
        at: RecordAt,
        topic: KnownTopic,
        answered: _CodeOf,
        lost: Callable[[], None],
    ) -> ProducerAsking:
        now_ms = self._book.wall_ms()
        request = requests.producing(self._place, who, at, topic.topic_id, now_ms=now_ms)
        version = requests.PRODUCE_VERSIONS[self._version]
        return ProducerAsking(at.tp, request, version, answered, lost)

    def _commit_offsets(self, open_: _Open) -> ProducerAsking:
        """Commit an offset in the transaction; by the first version the group is told of before."""
        place = self._place
        if self._version == 1 and place.group not in open_.added:
            request = requests.adding_offsets(place, self.now)
            return self._added(open_, place.group, request, _code_of)

        def answered(answer: Any) -> ErrorCode:
            code = _first_code_of(answer)
            open_.has_offsets = code is not ErrorCode.NONE
            self._heed(open_, code)
            return code

        offset = open_.txn.sends[0].records[0] % _OFFSETS
        commit = requests.committing(place, self.now, offset)
        version = requests.OFFSETS_VERSIONS[self._version]
        return ProducerAsking("group", commit, version, answered, self._unsure)

    def _end(self, open_: _Open, *, is_committed: bool) -> ProducerAsking:
        open_.is_committed = is_committed
        request = requests.ending(self._place, self.now, is_committed=is_committed)
        self._last_end = request

        def answered(answer: EndTxnResponse) -> ErrorCode:
            code = _code_of(answer)
            if code is ErrorCode.NONE:
                self._told_next(answer)
                self._ended(open_, is_committed=is_committed)
            elif code not in _PASSING:
                self._close(open_, code.name)
                self._put_out()
            return code

        version = requests.END_VERSIONS[self._version]
        return ProducerAsking("transaction", request, version, answered, self._unsure)

    def _ended(self, open_: _Open, *, is_committed: bool) -> None:
        self._open = None
        if is_committed:
            open_.told.ok(open_.txn._replace(sends=tuple(open_.sent)))
        else:
            self._has_to_begin |= open_.is_ruined
            open_.told.fail("aborted")

    def _told_next(self, answer: EndTxnResponse) -> None:
        if answer.producer_id != NO_PRODUCER_ID:
            self._become(Identity(answer.producer_id, answer.producer_epoch))

    # While nothing is open.

    def _else(
        self, drawn: int, chance: Chance, topic: KnownTopic, others: Sequence[Identity]
    ) -> ProducerAsking:
        """Ask for something else than a transaction; ``drawn`` is from 0 to 6."""
        before = [each for each in self._earlier if each != Identity()]
        if drawn <= _FOREIGN:
            having = ([self.now], before, list(others))[drawn] or [self.now]
            return self._initialize(chance, having[chance.randrange(len(having))])
        match drawn:
            case 3:
                return self._end_again(chance)
            case 4 if before or self._version == 1:
                is_stray = not before or (self._version == 1 and chance.randrange(2))
                return self._haunt(self.now if is_stray else before[-1], topic)
            case 5:
                request = requests.committing_at_once(self._place, _OFFSETS)
                version = requests.COMMIT_VERSION
                return ProducerAsking("group", request, version, _first_code_of)
            case _:
                tp = TopicPartition(self._place.topic, chance.randrange(topic.partitions))
                request = requests.asking_for_the_end(tp)
                return ProducerAsking(tp, request, requests.LIST_VERSION, _first_code_of)

    def _end_again(self, chance: Chance) -> ProducerAsking:
        """End what is over, or nothing at all."""
        request = self._last_end
        if request is None or not chance.randrange(3):
            is_committed = bool(chance.randrange(2))
            request = requests.ending(self._place, self.now, is_committed=is_committed)

        def answered(answer: EndTxnResponse) -> ErrorCode:
            if answer.error_code == ErrorCode.NONE:
                self._told_next(answer)
            return _code_of(answer)

        version = requests.END_VERSIONS[self._version]
        return ProducerAsking("transaction", request, version, answered, self._unsure)

    def _haunt(self, who: Identity, topic: KnownTopic) -> ProducerAsking:
        """Send a record under an epoch that is over, or by the first version in no transaction."""
        (number,) = self._book.numbers.take(1)
        tp = TopicPartition(self._place.topic, number % topic.partitions)
        send = Send(tp, (number,), ACKS_ALL, keys=self._place.keys)
        told = self._book.begin(Txn(self._place.transactional_id, (send,)))
        self._has_to_begin |= who == self.now

        def answered(answer: Any) -> ErrorCode:
            told.fail("a ghost's")
            return _produced(answer)[0]

        at = RecordAt(tp, number, self._sequences.get(tp, 0) if who == self.now else 0)
        return self._sending(who, at, topic, answered, lambda: told.fail("a ghost's"))


def _code_of(answer: Any) -> ErrorCode:
    return ErrorCode(answer.error_code)


def _code_of_added(answer: AddPartitionsToTxnResponse) -> ErrorCode:
    (topic,) = answer.results_by_topic_v3_and_below
    (row,) = topic.results_by_partition
    return ErrorCode(row.partition_error_code)


def _produced(answer: Any) -> tuple[ErrorCode, int]:
    (row,) = answer.responses[0].partition_responses
    return ErrorCode(row.error_code), row.base_offset


def _first_code_of(answer: Any) -> ErrorCode:
    """Return the code of an answer about one partition."""
    (topic,) = answer.topics
    (row,) = topic.partitions
    return ErrorCode(row.error_code)
