"""What the requests and answers of one server may hold, and what each connection holds of it.

Three kinds of requests never wait for each other: ordinary frames, large ones, and those of the
cluster's own nodes, so that a client with a large frame holds up no heartbeat, no LeaderAndIsr and
no follower. Requests and answers never wait for each other either: an answer that waits holds its
request, and must not wait for room that only another request's answer can make.

Small requests make no claim. What they take counts, and while all is taken a connection is read in
small pieces, and not at all where it has a request here until that is answered.
Source: SocketServer.scala (``queued.max.request.bytes``); Kafka has no bound on answers, which it
sends from files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Sized
from typing import Final, cast

from protocol.byte_budget import ByteBudget, Claim
from protocol.configs.broker import REQUEST_BYTES_MAX, RESPONSE_BYTES_MAX, BrokerConfig
from protocol.connection import RequestReceived
from protocol.framing import HELD_BYTES_MIN, MAPPED_BYTES_MIN

ORDINARY_BYTES_MAX: Final = MAPPED_BYTES_MIN
"""A frame up to this size is an ordinary one."""
REQUEST_OVERHEAD_BYTES: Final = 512
"""What the objects around one request weigh: the smallest has 10 bytes of its own."""


class ServerMemory:
    """The budgets of one server."""

    def __init__(
        self,
        *,
        request_bytes_max: int = REQUEST_BYTES_MAX,
        response_bytes_max: int = RESPONSE_BYTES_MAX,
        node_client_ids: Container[str] = (),
    ) -> None:
        """Hold nothing; a negative bound is none.

        Args:
            request_bytes_max: half of it is for ordinary frames, half for large ones of clients;
                nodes have as much again.
            response_bytes_max: of answers to clients; those to nodes have as much again.
            node_client_ids: how the cluster's own nodes name themselves. They are believed.
        """
        half = request_bytes_max // 2 if request_bytes_max >= 0 else request_bytes_max
        self.on_short: Callable[[], None] | None = None
        """Called when somebody begins to wait for room that others hold."""
        self.ordinary = ByteBudget(half, self._tell_short)
        self.large = ByteBudget(half, self._tell_short)
        self.of_nodes = ByteBudget(request_bytes_max, self._tell_short)
        self.answers = ByteBudget(response_bytes_max, self._tell_short)
        self.answers_to_nodes = ByteBudget(response_bytes_max, self._tell_short)
        self.received = ByteBudget(request_bytes_max)
        """What came in and is not answered, of whatever size; nobody waits at it."""
        self._node_client_ids = node_client_ids

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for room that somebody else holds."""
        return any(
            each.waiting_count
            for each in (
                self.ordinary,
                self.large,
                self.of_nodes,
                self.answers,
                self.answers_to_nodes,
            )
        )

    def _tell_short(self) -> None:
        if self.on_short is not None:
            self.on_short()

    def requests_of(self, client_id: str, size_bytes: int) -> ByteBudget:
        """Return what a frame of more than ``HELD_BYTES_MIN`` is claimed from."""
        if self.is_node(client_id):
            return self.of_nodes
        return self.ordinary if size_bytes <= ORDINARY_BYTES_MAX else self.large

    def is_node(self, client_id: str) -> bool:
        """Tell whether one of the cluster's own nodes names itself so."""
        return client_id in self._node_client_ids

    def answers_of(self, client_id: str) -> ByteBudget:
        """Return what answers to ``client_id`` are taken from."""
        return self.answers_to_nodes if self.is_node(client_id) else self.answers


def server_memory(config: BrokerConfig, node_client_ids: Container[str]) -> ServerMemory:
    """Return the budgets that ``config`` sets."""
    return ServerMemory(
        request_bytes_max=config.queued_max_request_bytes,
        response_bytes_max=config.jbodlab_queued_response_bytes_max,
        node_client_ids=node_client_ids,
    )


class HeldMemory:
    """What one connection holds: frames under way, requests, an answer that nobody reads."""

    __slots__ = ("_memory", "_received", "_received_bytes", "_unsent", "_waiting", "claims")

    def __init__(self, memory: ServerMemory) -> None:
        self._memory = memory
        self._received = memory.received
        self._received_bytes = 0
        self.claims: deque[tuple[ByteBudget, Claim]] = deque()
        """Of frames of more than ``HELD_BYTES_MIN`` that are under way or not answered; while there
        are none, nothing has to be ``answered``."""
        self._waiting: tuple[ByteBudget, Claim] | None = None
        self._unsent: tuple[ByteBudget, int] | None = None

    @property
    def is_tight(self) -> bool:
        """Whether requests hold all that they may, in the whole process."""
        received = self._received
        return received.held_bytes >= received.limit_bytes

    @property
    def waits(self) -> bool:
        """Whether a frame waits for its memory."""
        return self._waiting is not None

    @property
    def is_unread_wanted(self) -> bool:
        """Whether others wait for the room of an answer that its peer does not read."""
        return self._unsent is not None and self._unsent[0].waiting_count > 0

    @property
    def is_newest_wanted(self) -> bool:
        """Whether others wait for the room of the frame that was admitted last."""
        return bool(self.claims) and self.claims[-1][0].waiting_count > 0

    def receive(self, size_bytes: int, requests_count: int) -> bool:
        """Count bytes that have come, and the requests that they made whole; see ``is_tight``."""
        size_bytes += requests_count * REQUEST_OVERHEAD_BYTES
        self._received_bytes += size_bytes
        received = self._received
        received.held_bytes += size_bytes
        return received.held_bytes >= received.limit_bytes

    def settle(self, size_bytes: int) -> None:
        """Count of all that came only ``size_bytes`` from now on: the rest is answered."""
        received = self._received  # Nobody waits at it, so nobody has to be told.
        received.held_bytes -= self._received_bytes - size_bytes
        assert received.held_bytes >= 0, f"{-received.held_bytes} bytes settled that nobody held"
        self._received_bytes = size_bytes

    def claim_frame(self, client_id: str, size_bytes: int, on_granted: Callable[[], None]) -> bool:
        """Tell whether the frame under way may come; if not, ``on_granted`` will be called."""
        budget = self._memory.requests_of(client_id, size_bytes)

        def grant() -> None:
            self.claims.append((budget, claim))
            self._waiting = None
            on_granted()

        claim = Claim(size_bytes, grant)
        if budget.claim(claim):
            self.claims.append((budget, claim))
            return True
        self._waiting = (budget, claim)
        return False

    def answered(self, request: RequestReceived) -> None:
        """Let go of a request; they are answered in the order in which they came."""
        if self.claims and len(cast("Sized", request.body.obj)) > HELD_BYTES_MIN:
            budget, claim = self.claims.popleft()
            budget.give_up(claim)

    def unsent(self, client_id: str, size_bytes: int) -> None:
        """Count an answer whose ``size_bytes`` nobody has read yet, in place of the one before."""
        budget = self._memory.answers_of(client_id)
        budget.take(size_bytes)
        self.sent()  # Not before: whoever waits would be granted what is not free.
        self._unsent = (budget, size_bytes)

    def sent(self) -> None:
        """Let go of the answer: it is sent, or nobody will read it."""
        if self._unsent is not None:
            budget, size_bytes = self._unsent
            self._unsent = None
            budget.give_back(size_bytes)

    def stop_waiting(self) -> None:
        """Take back the claim of a frame whose bytes will not come."""
        if self._waiting is not None:
            budget, claim = self._waiting
            self._waiting = None
            budget.give_up(claim)

    def release(self) -> None:
        """Let go of everything: the connection and its last request are over."""
        self.stop_waiting()
        self.sent()
        self.settle(0)
        while self.claims:
            budget, claim = self.claims.popleft()
            budget.give_up(claim)
