"""Follows the requests and responses of one connection by their bytes, and tells what is wrong.

It looks at the beginnings of frames only. Whether a request that is still open should have been
answered by now is asked at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple

from protocol.messages.produce import ProduceRequest
from protocol.ports import Buffer
from protocol.wire.table import META
from simulation.core.rebalances import (
    HEAD,
    HEARTBEAT,
    INT16,
    JOIN_GROUP,
    Rebalances,
    after_client_id,
    group_of,
    is_nothing_new,
)
from simulation.core.samples import Misanswer

_SIZE: Final = Struct(">i")
_HEAD_BYTES: Final = 512
"""Enough for the header and the first fields of any request of ours."""
_PRODUCE: Final = 0
REQUESTS_PER_S_MAX: Final = 250
"""Of one API over one connection, but for Produce, whose pace is the writer's. In seeds it is below
100; who asks again as soon as it is answered asks some thousand times. A Fetch that brings much is
a quarter of one: a follower that catches up asks again at once.
"""
_FETCH: Final = 1
_MUCH_BYTES: Final = 256
"""An answer with that much has records: a small batch that the next one does not fit behind."""
_QUARTERS: Final = 4
_SECOND_US: Final = 1_000_000
_ROUTINE: Final = frozenset({1, 3, 18, 63})
"""Fetch, Metadata, ApiVersions, BrokerHeartbeat: what goes on when nothing does."""


class _Request(NamedTuple):
    at_us: int
    api_key: int
    correlation_id: int
    version: int = 0
    group: str = ""
    """That it is about, of those that ``Rebalances`` follows."""


@dataclass(slots=True)
class _Frames:
    """Cuts one direction into frames and keeps their first bytes."""

    _head: bytearray = field(default_factory=bytearray)
    _size: bytearray = field(default_factory=bytearray)
    _left: int = 0

    def feed(self, data: Buffer) -> Iterator[bytes]:
        """Give the beginning of each frame that ends in ``data``."""
        is_clean = self._left == 0 and not self._size
        if is_clean and len(data) > _SIZE.size:
            (size,) = _SIZE.unpack_from(data)
            if size == len(data) - _SIZE.size:
                # As nearly all do, it brings one whole frame.
                yield bytes(data[_SIZE.size : _SIZE.size + _HEAD_BYTES])
                return
        view = memoryview(data)
        while view:
            if self._left == 0:
                taken = min(_SIZE.size - len(self._size), len(view))
                self._size += view[:taken]
                view = view[taken:]
                if len(self._size) < _SIZE.size:
                    return
                (self._left,) = _SIZE.unpack(self._size)
                self._size.clear()
            taken = min(self._left, len(view))
            self._head += view[: min(taken, max(0, _HEAD_BYTES - len(self._head)))]
            self._left -= taken
            view = view[taken:]
            if self._left == 0:
                yield bytes(self._head)
                self._head.clear()


class Exchange:
    """One connection of Kafka's protocol."""

    def __init__(self, name: str, rebalances: Rebalances | None = None) -> None:
        """Begin with nothing asked.

        Args:
            name: for people: who asks whom.
            rebalances: of the broker that is asked.
        """
        self.name = name
        self._rebalances = rebalances
        self._asked = _Frames()
        self._answered = _Frames()
        self._open: deque[_Request] = deque()
        """In their order; a client may give two the same correlation id."""
        self.count = 0
        """Requests so far that want an answer."""
        self._paces: dict[int, tuple[int, int]] = {}
        """API -> the second that began then, and the requests since, in quarters."""
        self._told: set[int] = set()
        """APIs that were told of in their second."""
        self._too_often: list[Misanswer] = []
        """What is told with the next answer."""

    def asked(self, data: Buffer, at_us: int) -> bool:
        """Take bytes on their way to the server; True when a request may change something."""
        is_news = False
        for head in self._asked.feed(data):
            api_key, version, correlation_id = HEAD.unpack_from(head)
            is_news = is_news or api_key not in _ROUTINE
            if api_key != _PRODUCE or _wants_answer(head, version):
                group = group_of(head, api_key, version)
                request = _Request(at_us, api_key, correlation_id, version, group)
                self._open.append(request)
                self.count += 1
                if api_key != _PRODUCE:
                    self._pace(request)
                if group and len(self._open) == 1:
                    self._begin(request, at_us)
        return is_news

    def answered(self, data: Buffer, at_us: int) -> tuple[list[Misanswer], bool]:
        """Take bytes on their way back; Kafka answers in the order of the requests.

        Returns:
            What is wrong, and whether a request that may have changed something was answered.
        """
        wrong, self._too_often = self._too_often, []
        is_news = False
        for head in self._answered.feed(data):
            (correlation_id,) = _SIZE.unpack_from(head)
            open_ = self._open
            if open_ and open_[0].correlation_id == correlation_id:
                request = open_.popleft()
            else:
                request = next((one for one in open_ if one.correlation_id == correlation_id), None)
                if request is None:
                    unknown = _Request(at_us, -1, correlation_id)
                    what = "was answered twice, or never asked"
                    wrong.append(self._misanswer(unknown, at_us, what))
                    continue
                open_.remove(request)
                wrong.append(self._misanswer(request, at_us, "was answered before an earlier one"))
            is_news = is_news or request.api_key not in _ROUTINE
            self._end(request, head, at_us)
        return wrong, is_news

    def _pace(self, request: _Request) -> None:
        """Count a request; who asks too often is told once a second."""
        since_us, count = self._paces.get(request.api_key, (request.at_us, 0))
        if request.at_us - since_us >= _SECOND_US:
            since_us, count = request.at_us, 0
            self._told.discard(request.api_key)
        self._paces[request.api_key] = since_us, count + _QUARTERS
        beyond = count - REQUESTS_PER_S_MAX * _QUARTERS
        if beyond >= 0 and request.api_key not in self._told:
            self._told.add(request.api_key)
            what = f"is one of more than {REQUESTS_PER_S_MAX} within a second: nobody waits"
            self._too_often.append(self._misanswer(request, request.at_us, what))

    def _begin(self, request: _Request, at_us: int) -> None:
        """Tell who follows groups of a request that nothing stands before any more."""
        if self._rebalances is not None and request.api_key == JOIN_GROUP:
            self._rebalances.waits(self.name, request.group, at_us)

    def _end(self, request: _Request, head: bytes, at_us: int) -> None:
        if request.api_key == _FETCH and len(head) >= _MUCH_BYTES:
            since_us, count = self._paces[_FETCH]
            self._paces[_FETCH] = since_us, max(0, count - _QUARTERS + 1)
        if self._rebalances is not None and request.group:
            if request.api_key == JOIN_GROUP:
                self._rebalances.ended(self.name)
            elif request.api_key == HEARTBEAT and is_nothing_new(head, request.version):
                self._rebalances.nothing_new(
                    self.name, request.group, asked_us=request.at_us, at_us=at_us
                )
        first = self._open[0] if self._open else None
        if first is not None and first.group:
            self._begin(first, at_us)

    def closed(self) -> None:
        """Note that the connection is gone."""
        if self._rebalances is not None:
            self._rebalances.ended(self.name)

    def unanswered(self, now_us: int, patience_us: int) -> Iterator[Misanswer]:
        """Tell the requests that are open for too long."""
        for request in self._open:
            waited_us = now_us - request.at_us
            if waited_us > patience_us:
                yield self._misanswer(
                    request, now_us, f"was not answered for {waited_us / 1e6:.3f} s"
                )

    def _misanswer(self, request: _Request, at_us: int, what: str) -> Misanswer:
        return Misanswer(at_us, self.name, request.api_key, request.correlation_id, what)


def _wants_answer(head: bytes, version: int) -> bool:
    """Tell whether a Produce asks for acks 1 or all: what comes before ``acks`` is skipped."""
    position = after_client_id(head)
    if version in META[ProduceRequest].flexible:
        position += 1  # no tagged fields in the header
        position += max(1, head[position])  # compact: the length is one more
    elif version >= 3:
        (length,) = INT16.unpack_from(head, position)
        position += INT16.size + max(0, length)
    (acks,) = INT16.unpack_from(head, position)
    return acks != 0
