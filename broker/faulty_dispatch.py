"""Does to clients' requests, and to their answers, what the faults in force say.

It stands before the dispatcher and is asked only while there are such faults. It works on the bytes
of requests and answers, so that the dispatcher knows nothing of it. Which request is met, and what
becomes of its partitions, is decided in ``broker.core.request_rules`` and ``request_parts``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from broker.core.request_parts import (
    NameOf,
    Part,
    divide,
    error_names,
    has_throttle_time,
    joined,
    parts_of,
    refused_fetch,
    with_error,
)
from broker.core.request_rules import RequestRule, RequestSeen
from broker.handlers import HANDLERS
from broker.muted_connections import MutedConnections
from broker.request_faults import Passed, RequestFaults
from protocol.apis import APIS, Api
from protocol.connection import CloseConnection, Peer, RequestReceived
from protocol.errors import ErrorCode, KafkaError, Malformed
from protocol.faults.requests import RequestMode, Way, When
from protocol.messages.fetch import FetchRequest, FetchResponse
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.held_request import HeldRequest
from protocol.transport.link_owner import Dispatch
from protocol.transport.paced_transport import PacedTransport, ServerLinks
from protocol.wire.fast import Codec, codec

_FETCH: Final = "Fetch"
_SESSIONS_SINCE: Final = 7
_NO_SESSION_EPOCH: Final = -1
_TOLD_BY_THE_ANSWER: Final = ("Metadata", "DescribeTopicPartitions")
"""A request may name no topic and mean all: who is met is seen in the answer. They do no work."""
_PARTS_SHOWN_MAX: Final = 100

_Answer: TypeAlias = LaterAnswer | Body


class _Asked(NamedTuple):
    """A request that is met by rules."""

    received: RequestReceived
    peer: Peer
    api: Api
    request: Any
    rules: list[RequestRule]
    """Those that it meets."""
    parts: list[Part]

    @property
    def codec_out(self) -> Codec:
        """What makes and reads its answer."""
        return codec(self.api.response, self.received.api_version)

    @property
    def shown(self) -> Passed:
        """The request as people are told of it."""
        received = self.received
        return {
            "api": self.api.name,
            "version": received.api_version,
            "client_id": received.client_id,
            "connection": self.peer.number,
            "correlation_id": received.correlation_id,
            "parts": [str(each) for each in self.parts[:_PARTS_SHOWN_MAX]],
            "request_bytes": len(received.body),
        }


class FaultyDispatch:
    """Answers requests in place of a dispatcher, by asking it."""

    def __init__(
        self,
        dispatch: Dispatch,
        faults: RequestFaults,
        *,
        name_of: NameOf,
        own_client_ids: Collection[str],
    ) -> None:
        """Prepare.

        Args:
            dispatch: who does the work.
            faults: those of this broker.
            name_of: tells the name of a topic by its id.
            own_client_ids: of those whose requests are left alone: the cluster's nodes, jbodlab.
        """
        self._dispatch = dispatch
        self._faults = faults
        self._name_of = name_of
        self._own = frozenset(own_client_ids)
        self._muted = MutedConnections()
        self._waiting: dict[int, None] = {}
        self.links: ServerLinks | None = None
        """The connections of the server, once it is made."""

    def waits(self, request: RequestReceived) -> bool:
        """Tell whether a request waits in a fault: nobody misses it when its connection is lost."""
        return id(request) in self._waiting

    async def dispatch(
        self, received: RequestReceived, peer: Peer
    ) -> LaterAnswer | HeldRequest | Body:
        """Answer one request as a ``Dispatch`` does."""
        asked = None if received.client_id in self._own else self._asked(received, peer)
        if asked is None:
            return await self._dispatch(received, peer)
        if self._is_in_session(asked):
            unknown = FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            return asked.codec_out.encode_parts(unknown)
        asked.rules.extend(self._faults.met(self._seen(asked)))
        with self._waiting_in_faults(received):
            await self._until_unmuted(peer)
            await self._before(asked)
        answer = await self._answer(asked)
        try:
            with self._waiting_in_faults(received):
                return await self._after(asked, answer)
        except BaseException:
            if isinstance(answer, LaterAnswer):
                answer.abandon()
            raise

    @contextmanager
    def _waiting_in_faults(self, received: RequestReceived) -> Generator[None]:
        self._waiting[id(received)] = None
        try:
            yield
        finally:
            del self._waiting[id(received)]

    # Which rules a request meets.

    def _asked(self, received: RequestReceived, peer: Peer) -> _Asked | None:
        """Return the request as it is to be worked off, None for what the dispatcher refuses."""
        api, version = APIS[received.api_key], received.api_version
        if received.api_key not in HANDLERS or version not in api.versions:
            return None
        codec_in = codec(api.request, version)
        try:
            request = codec_in.decode_leading(received.body)
        except Malformed:
            return None
        if self._needs_whole_fetches(request, version) and request.session_epoch <= 0:
            request.session_id, request.session_epoch = 0, _NO_SESSION_EPOCH
            received = received._replace(body=_encoded(codec_in, request))
        return _Asked(received, peer, api, request, [], parts_of(request, self._name_of))

    def _seen(self, asked: _Asked) -> RequestSeen:
        api, received = asked.api, asked.received
        return RequestSeen(
            api.name,
            received.api_version,
            received.client_id,
            asked.parts,
            names_all=not asked.parts and api.name in _TOLD_BY_THE_ANSWER,
            has_throttle_time=has_throttle_time(api.response, received.api_version),
        )

    def _needs_whole_fetches(self, request: Any, version: int) -> bool:
        """Tell whether a Fetch must name all its partitions: a fault is about some of them.

        So it is answered without a session (KIP-227), as a broker without room for one does; of
        one that was begun before the client hears that it is not found, and begins anew.
        """
        if not isinstance(request, FetchRequest) or version < _SESSIONS_SINCE:
            return False
        return any(
            (each.fault.topic is not None or each.fault.mode is RequestMode.ERROR)
            and (each.fault.apis is None or _FETCH in each.fault.apis)
            for each in self._faults.rules
        )

    def _is_in_session(self, asked: _Asked) -> bool:
        needs_whole = self._needs_whole_fetches(asked.request, asked.received.api_version)
        return needs_whole and asked.request.session_epoch > 0

    # What is done before the work, in its place, and after it.

    async def _until_unmuted(self, peer: Peer) -> None:
        """Wait as long as a client should by the throttle time that it was told (KIP-219)."""
        await self._muted.until_unmuted(peer)
        if self.links is not None:
            await self.links.until_drained(peer)

    async def _before(self, asked: _Asked) -> None:
        for rule in asked.rules:
            fault = rule.fault
            if fault.mode is RequestMode.TRICKLE and fault.way is Way.REQUESTS:
                rate = fault.bytes_per_second or 1
                size_bytes = len(asked.received.body)
                await self._faults.wait(rule, asked.shown, size_bytes * 1000 / rate)
            elif fault.when is When.BEFORE:
                await self._meet(rule, asked)

    async def _after(self, asked: _Asked, answer: _Answer) -> _Answer:
        """Change an answer and let it wait; the work is done once it is ready."""
        changes = [
            change for rule in asked.rules if (change := self._change(rule, asked)) is not None
        ]
        waits = [
            rule
            for rule in asked.rules
            if rule.fault.when is When.AFTER and rule.fault.mode is not RequestMode.ERROR
        ]
        if isinstance(answer, LaterAnswer) and waits:
            await asyncio.shield(answer.ready)
        if waits and self.links is not None and not self.links.is_open(asked.peer):
            raise CloseConnection("it left while its request was worked off")
        for rule in waits:
            await self._meet(rule, asked)
        return _changed(answer, changes)

    async def _meet(self, rule: RequestRule, asked: _Asked) -> None:
        """Wait in a rule, or end there.

        Raises:
            CloseConnection: the request gets no answer.
        """
        faults, fault = self._faults, rule.fault
        match fault.mode:
            case RequestMode.DELAY:
                late_ms = fault.delay_ms + faults.chance.random() * fault.jitter_ms
                await faults.wait(rule, asked.shown, late_ms)
            case RequestMode.HOLD:
                await faults.wait(rule, asked.shown, None)
            case RequestMode.DROP:
                await faults.drop(rule, asked.shown)
            case RequestMode.CLOSE | RequestMode.RESET:
                if fault.delay_ms:
                    await faults.wait(rule, asked.shown, fault.delay_ms)
                if fault.mode is RequestMode.RESET and self.links is not None:
                    self.links.reset(asked.peer)
                raise CloseConnection(f"a fault of mode {fault.mode.value}")
            case _:
                pass

    async def _answer(self, asked: _Asked) -> _Answer:
        """Have the work done, but for what is refused in its place."""
        rule = next((each for each in asked.rules if _refuses(each, asked.api)), None)
        if rule is None:
            return await self._worked_off(asked, asked.received)
        chosen, rest = asked.request, None
        if rule.is_about_parts:
            chosen, rest = divide(asked.request, rule.is_part, self._name_of)
        refused = _refused(asked, chosen, ErrorCode[rule.fault.error_code])
        if rest is None:
            return asked.codec_out.encode_parts(refused)
        if isinstance(rest, FetchRequest):
            rest.max_wait_ms = 0  # As Kafka does with a partition in error.
        body = _encoded(codec(asked.api.request, asked.received.api_version), rest)
        answer = await self._worked_off(asked, asked.received._replace(body=body))
        add = partial(_rewritten, asked.codec_out, lambda told: joined(told, refused))
        return _changed(answer, [add])

    async def _worked_off(self, asked: _Asked, received: RequestReceived) -> _Answer:
        answer = await self._dispatch(received, asked.peer)
        while isinstance(answer, HeldRequest):
            try:
                with self._waiting_in_faults(asked.received):
                    await answer.admitted
            finally:
                answer.release()
            answer = await answer.begin()
        return answer

    # How an answer is changed.

    def _change(self, rule: RequestRule, asked: _Asked) -> Callable[[Body], Body] | None:
        fault = rule.fault
        match fault.mode:
            case RequestMode.ERROR if not _refuses(rule, asked.api):
                return partial(self._failed, rule, asked)
            case RequestMode.THROTTLE:
                return partial(self._throttled, asked, fault.throttle_time_ms)
            case RequestMode.TRICKLE if fault.way is Way.ANSWERS:
                return partial(self._slowed, rule, asked)
            case RequestMode.TRUNCATE:
                return partial(self._truncated, asked, fault.capacity_bytes)
            case RequestMode.OBSERVE:
                return partial(self._observed, rule, asked)
            case _:
                return None

    def _failed(self, rule: RequestRule, asked: _Asked, body: Body) -> Body:
        code = ErrorCode[rule.fault.error_code]
        if body is None:
            raise CloseConnection(f"Produce with acks=0 failed: {code.name}")
        chosen = rule.is_part if rule.is_about_parts else None
        name_of = self._name_of
        change = partial(with_error, code=code, is_chosen=chosen, name_of=name_of)
        return _rewritten(asked.codec_out, change, body)

    def _throttled(self, asked: _Asked, throttle_time_ms: int, body: Body) -> Body:
        self._muted.mute(asked.peer, throttle_time_ms)

        def throttle(told: Any) -> Any:
            told.throttle_time_ms = max(told.throttle_time_ms, throttle_time_ms)
            return told

        return _rewritten(asked.codec_out, throttle, body)

    def _slowed(self, rule: RequestRule, asked: _Asked, body: Body) -> Body:
        paced = self._paced(asked, body)
        if paced is not None:
            paced.pace(asked.received.correlation_id, self._faults.pace(rule))
        return body

    def _truncated(self, asked: _Asked, capacity_bytes: int, body: Body) -> Body:
        paced = self._paced(asked, body)
        if paced is not None:
            paced.cut(asked.received.correlation_id, capacity_bytes)
        return body

    def _paced(self, asked: _Asked, body: Body) -> PacedTransport | None:
        """Return by what an answer leaves; None when there is none, or nobody who reads it."""
        if body is None or self.links is None:
            return None
        return self.links.paced(asked.peer)

    def _observed(self, rule: RequestRule, asked: _Asked, body: Body) -> Body:
        size_bytes = 0 if body is None else sum(map(len, body))
        names = [] if body is None else error_names(asked.codec_out.decode(b"".join(body)))
        self._faults.note(rule, {**asked.shown, "answer_bytes": size_bytes, "errors": names})
        return body


def _refuses(rule: RequestRule, api: Api) -> bool:
    """Tell whether a rule refuses in place of the work."""
    fault = rule.fault
    is_error = fault.mode is RequestMode.ERROR and fault.when is When.BEFORE
    return is_error and api.name not in _TOLD_BY_THE_ANSWER


def _refused(asked: _Asked, request: Any, code: ErrorCode) -> Any:
    """Return the answer that has the code wherever Kafka puts it.

    Raises:
        CloseConnection: the request takes no answer.
    """
    if isinstance(request, FetchRequest):
        return refused_fetch(request, code)
    handler = HANDLERS[asked.api.key]
    return handler.refuse(request, asked.received.api_version, KafkaError(code))


def _changed(answer: _Answer, changes: Sequence[Callable[[Body], Body]]) -> _Answer:
    """Change an answer, when it is ready."""

    def changed(body: Body) -> Body:
        for change in changes:
            body = change(body)
        return body

    if isinstance(answer, LaterAnswer):
        return answer._replace(finish=lambda: changed(answer.finish()))
    return changed(answer)


def _rewritten(message: Codec, change: Callable[[Any], Any], body: Body) -> Body:
    if body is None:
        return None
    return message.encode_parts(change(message.decode(b"".join(body))))


def _encoded(message: Codec, value: Any) -> memoryview:
    return memoryview(bytearray(b"".join(message.encode_parts(value))))
