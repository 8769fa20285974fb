"""One connection of a server: its requests are begun one after the other and answered in order.

It knows no API. What all connections hold is ``server_memory``'s. Source: SocketServer.scala.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Final, cast

from protocol.connection import CloseConnection, Peer, RequestReceived, ServerConnection
from protocol.ports import Buffer
from protocol.transport.begun_answers import BegunAnswers, Body, LaterAnswer
from protocol.transport.door import Door, tell_end
from protocol.transport.flow_control import abort, cut, wake_up, write_all
from protocol.transport.held_request import HeldRequest
from protocol.transport.link_owner import Dispatch, LinkOwner
from protocol.transport.rounds import LATE_REQUESTS_MAX
from protocol.transport.server_memory import HeldMemory

logger = logging.getLogger(__name__)

QUEUED_REQUESTS_MAX: Final = 512
"""Reading pauses when this many requests of one connection wait, until none does."""
QUEUED_BYTES_MAX: Final = 4 * 1024 * 1024
"""Reading pauses when this much came in since no request of the connection waited."""
TIGHT_READ_BYTES: Final = 1024
"""Read at once while requests hold all that they may, or the round is over: 73 of the smallest."""
UNSENT_BYTES_MAX: Final = 64 * 1024
"""No further request is begun while this much of the answers waits in the transport.

An answer that is larger and not sent at once is taken from the budget of answers until it is.
"""
WRITTEN_AT_ONCE_BYTES: Final = 2 * 1024 * 1024
"""Of one answer: to hand that over to the system takes a millisecond or two."""
TURN_COST_MAX: Final = 256
"""What requests without a wait cost at most in a turn: 1 each, and 1 per 32 bytes of its answer."""
_BYTES_PER_COST: Final = 32
COLLECTED_BUFFERS_MAX: Final = 128
"""Small answers that may leave together."""


class ServerLink(asyncio.BufferedProtocol):
    """One connection: bytes in from the transport, requests to the worker, answers out."""

    def __init__(
        self, server: LinkOwner[ServerLink], connection: ServerConnection, number: int, door: Door
    ) -> None:
        self._server, self._connection, self._door = server, connection, door
        self._queue: deque[RequestReceived] = deque()
        self._held = HeldMemory(server.memory)
        self._received, self._rounds = server.memory.received, server.rounds
        self._queued_bytes = self._received_bytes = self._unwritten_bytes = self._pauses = 0
        self._current: RequestReceived | None = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_reading_paused = self._is_late = self._is_over = False
        self._takes_requests = True
        self.transport: asyncio.Transport
        self._unsent: list[Buffer] = []
        self._unwritten: deque[list[Buffer]] = deque()
        """Parts of a long answer that the transport has not been given yet."""
        self._begun = BegunAnswers(self._send_all, self._fail)
        self._held_request: HeldRequest | None = None
        self._readable: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self.number, self.peer = number, Peer("", 0)
        self.worker: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve."""
        # A cast, as not every loop's transport derives from asyncio's.
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=UNSENT_BYTES_MAX)
        self.peer = self._door.peer_of(transport, self.number)
        self._server.link_opened(self)

    def admitted(self, dispatch: Dispatch) -> Dispatch:
        """Return what answers this connection: ``dispatch``, or who lets clients in before it."""
        admit = self._door.admit
        return dispatch if admit is None else admit(self, self._connection, dispatch)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where the next bytes go: few but for a frame's rest, where enough is here."""
        connection, received = self._connection, self._received
        buffer = connection.next_buffer()
        self._is_late = self._rounds.is_over()
        if self._is_late or received.held_bytes >= received.limit_bytes:
            return buffer[: max(connection.missing_bytes, TIGHT_READ_BYTES)]
        return buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take the next bytes, and pause where enough is here."""
        connection, queue = self._connection, self._queue
        self._queued_bytes += nbytes
        self._received_bytes += nbytes
        if self._held_request is not None:
            self._held_request.received_more(nbytes)
        requests = connection.received(nbytes)
        is_tight = self._held.receive(nbytes, len(requests))
        if not self._takes_requests:
            return  # It was read only so that closing does not reset the connection.
        queue += requests
        if (
            len(queue) >= QUEUED_REQUESTS_MAX
            or (queue and (self._queued_bytes >= QUEUED_BYTES_MAX or is_tight))
            or (self._is_late and len(queue) >= LATE_REQUESTS_MAX)
            or connection.malformed is not None
        ):
            self._is_reading_paused = True
            self.transport.pause_reading()
        if connection.wanted_bytes and not self._held.waits:
            self._claim_frame()
        if queue or connection.malformed is not None:
            wake_up(self._readable)

    def _claim_frame(self) -> None:
        """Have memory for a large frame, and read no further before it is there."""
        connection = self._connection
        client_id, size_bytes = connection.wanting_client_id, connection.wanted_bytes
        if self._held.claim_frame(client_id, size_bytes, self._frame_granted):
            connection.admit()
        else:
            self.transport.pause_reading()

    def _frame_granted(self) -> None:
        if self.transport.is_closing():
            return  # What was granted goes with the rest.
        self._connection.admit()
        if not self._is_reading_paused:
            self.transport.resume_reading()

    def eof_received(self) -> bool:
        """Close."""
        return False  # as in Kafka, a client that stops sending gets no more answers

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of what nobody will send or read any more."""
        self.closed.set_result(None)
        self._queue.clear()
        self._begun.abandon()
        self._server.link_answered()
        if self._held_request is not None and not self._held_request.admitted.done():
            self._held_request.admitted.set_exception(CloseConnection("it left"))
        self._unwritten.clear()
        self._unwritten_bytes = 0
        self._connection.drop()  # What refers to each other would keep it for a while.
        self._held.stop_waiting()
        self._held.sent()
        if self._current and self._server.ends_with_peer(self._current) and self.worker:
            self.worker.cancel()
        wake_up(self._readable)
        wake_up(self._writable)
        self._forget_if_over()

    def pause_writing(self) -> None:
        """Begin no further request: the transport is full, or a slow one before it."""
        self._pauses += 1
        self._writable = self._writable or self.closed.get_loop().create_future()

    def resume_writing(self) -> None:
        """Go on once it was called for each pause: what was answered is nearly sent."""
        self._pauses -= 1
        if self._pauses:
            return
        if not self._unwritten:
            self._held.sent()
        wake_up(self._writable)
        self._writable = None

    @property
    def bytes_moved(self) -> int:
        """Received so far, less what is not sent."""
        return self._received_bytes - self._unsent_bytes()

    @property
    def is_in_the_way(self) -> bool:
        """Whether a slow peer keeps memory that others wait for."""
        is_reading_slow = self._writable is not None and self._held.is_unread_wanted
        is_sending_slow = self._connection.is_filling_admitted and self._held.is_newest_wanted
        return is_reading_slow or is_sending_slow

    @property
    def is_quiet(self) -> bool:
        """Whether no request, answer or part of one is here."""
        return self._current is None and not self._queue and not self._begun.count

    def close_because(self, reason: str) -> None:
        """Abort the connection, and log why."""
        logger.warning("%s: closed: %s", self.peer, reason)
        self.abort()

    async def serve(self, dispatch: Dispatch) -> None:
        """Answer one request after the other until the connection is closed."""
        try:
            try:
                await self._answer_all(dispatch)
            except Exception as error:  # noqa: BLE001 -- one connection's bug must not end the others
                tell_end(self.peer, error)
            await self._begun.until_empty()
        finally:
            self._begun.abandon()
            self._server.link_answered()
            self._flush_to_end()
            self.transport.close()
            self._is_over = True
            self._forget_if_over()

    async def _answer_all(self, dispatch: Dispatch) -> None:
        begun, queue, held = self._begun, self._queue, self._held
        left_of_turn = TURN_COST_MAX
        while queue or await self._has_request():
            self._current = request = queue.popleft()
            answer = await dispatch(request, self.peer)
            if isinstance(answer, HeldRequest):
                answer = await self._begin_when_admitted(answer)
            self._current = None
            if begun.count and not isinstance(answer, LaterAnswer | None) and len(answer) > 1:
                await self._send_begun_before(request, answer)
            if begun.count or isinstance(answer, LaterAnswer):
                self._begin(request, answer)
                if begun.is_full:
                    await begun.until_room()
            else:
                left_of_turn -= self._answer(request, answer)
                if self._unwritten:
                    await self._write_rest(request)
                if held.claims:
                    held.answered(request)
            del request, answer  # A connection that is idle, or is not read, keeps neither.
            if self._writable is not None:
                await self._writable
            left_of_turn -= 1
            if left_of_turn <= 0:
                left_of_turn = TURN_COST_MAX
                await self._rounds.next_turn()

    def _answer(self, request: RequestReceived, body: Body) -> int:
        """Send an answer, if there is one, and return what it cost beside its request."""
        # Answers are collected while requests wait, so that one system call carries many.
        if self.closed.done():
            return 0  # Answers before this one were given up with the connection.
        if body is None:
            self._connection.skip_response(request)
            return 0
        response = self._connection.send_response(request, body)
        if len(response) > 1 and (size_bytes := sum(map(len, response))) > WRITTEN_AT_ONCE_BYTES:
            self._flush()
            response, *rest = cut(response, WRITTEN_AT_ONCE_BYTES)
            self._unwritten.extend(rest)
            self._unwritten_bytes = size_bytes - sum(map(len, response))
        self._unsent += response
        if not self._queue or len(self._unsent) >= COLLECTED_BUFFERS_MAX or len(response) > 1:
            self._flush()
            if self._writable is not None:
                self._held.unsent(request.client_id, self._unsent_bytes())
        elif len(self._unsent) == 1:
            # Runs as soon as the worker waits for anything: no answer waits for another.
            self.closed.get_loop().call_soon(self._flush)
        return len(response[0]) // _BYTES_PER_COST

    async def _write_rest(self, request: RequestReceived) -> None:
        """Write what is left of a long answer part by part; others have their turns."""
        while self._unwritten:
            await (asyncio.sleep(0) if self._writable is None else self._writable)
            if not self._unwritten:
                return  # The connection was lost.
            part = self._unwritten.popleft()
            self._unwritten_bytes -= sum(map(len, part))
            self._unsent += part
            self._flush()
            if self._unwritten or self._writable is not None:
                self._held.unsent(request.client_id, self._unsent_bytes())
            else:
                self._held.sent()

    def _unsent_bytes(self) -> int:
        return self._unwritten_bytes + self.transport.get_write_buffer_size()

    async def _begin_when_admitted(self, held: HeldRequest) -> LaterAnswer | Body:
        """Begin a request later; reading goes on meanwhile, or nobody would notice a loss."""
        self._held_request = held
        try:
            await held.admitted
        finally:
            self._held_request = None
            held.release()
        return await held.begin()

    async def _send_begun_before(self, request: RequestReceived, answer: Sequence[Buffer]) -> None:
        """Let a large answer wait for those before it where its bytes count."""
        self._held.unsent(request.client_id, sum(map(len, answer)))
        await self._begun.until_empty()
        self._held.sent()

    def _begin(self, request: RequestReceived, answer: LaterAnswer | Body) -> None:
        if not self.closed.done():
            self._begun.add(request, answer)
            if self._server.is_stopping:
                self.take_no_more()
        elif isinstance(answer, LaterAnswer):
            answer.abandon()

    def _send_all(self, answers: list[tuple[RequestReceived, Body]]) -> None:
        for request, body in answers:
            if body is None:
                self._connection.skip_response(request)
            else:
                self._unsent += self._connection.send_response(request, body)
            self._held.answered(request)
        self._flush()
        if not self._begun.count:
            self._server.link_answered()
        if not self._queue and not self.closed.done():
            self._held.settle(self._begun.size_bytes)

    def _fail(self, error: Exception) -> None:
        """Close because an answer that was begun could not be finished."""
        tell_end(self.peer, error)
        self._flush()
        self.transport.close()

    @property
    def has_begun(self) -> bool:
        """Whether an answer is begun and not sent."""
        return self._begun.count > 0

    def take_no_more(self) -> None:
        """Begin no further request; those that wait are dropped."""
        self._takes_requests = False
        self._queue.clear()
        is_open = not self.transport.is_closing() and self._connection.malformed is None
        if self._is_reading_paused and is_open:
            self._is_reading_paused = False
            self.transport.resume_reading()

    def end(self) -> None:
        """End the request under way, and the connection once what was answered is sent."""
        if self._is_over:
            return  # It was lost meanwhile.
        self.take_no_more()
        if self.worker is not None:
            self.worker.cancel()
        self._begun.abandon()
        self._flush_to_end()
        self.transport.close()

    def abort(self) -> None:
        """End the connection at once."""
        abort(self.transport)

    def _forget_if_over(self) -> None:
        if self._is_over and self.closed.done():
            self._held.release()
            self._server.link_closed(self)
            del self._begun  # They refer to this link: all of it would wait to be collected.
            self.worker = None

    async def _has_request(self) -> bool:
        """Read on, now that the queue is empty; False when no request will come."""
        self._queued_bytes = 0
        self._held.settle(self._begun.size_bytes)
        if self._begun.count and self._held.is_tight:
            await self._begun.until_empty()
        while not self._queue:
            if self._connection.malformed is not None:
                raise self._connection.malformed
            if self.closed.done():
                return False
            if self._is_reading_paused:
                self._is_reading_paused = False
                if not self._held.waits and not self.transport.is_closing():
                    self.transport.resume_reading()
            self._readable = self.closed.get_loop().create_future()
            await self._readable
            self._readable = None
            if self._rounds.holds_up(self._queue):
                await self._rounds.next_turn()
        return True

    def _flush_to_end(self) -> None:
        """Give the transport all that was answered: the connection ends once it is sent."""
        while self._unwritten:
            self._unsent += self._unwritten.popleft()
        self._unwritten_bytes = 0
        self._flush()

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if not unsent or self.closed.done():
            return
        if len(unsent) == 1:
            self.transport.write(unsent[0])
        else:
            write_all(self.transport, unsent)
