"""What a process does to its own traffic with other nodes: held back, late, lost, half-open.

It stands where requests and answers leave and arrive, and knows no socket: a request or an answer
is one piece. A cut at one end is a cut for both, so nothing is asked of the other process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from random import Random
from typing import Final, assert_never

from protocol.connection import CloseConnection, Peer, RequestReceived
from protocol.faults.model import ANY_NODE, CLIENT_NODE, NetworkFault, NetworkMode
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.held_request import HeldRequest
from protocol.transport.link_owner import Dispatch

_ORDER_S: Final = 1e-6
"""Between two arrivals, so that timers keep their order."""


class NetworkRule:
    """A fault in force, with what it met."""

    __slots__ = ("ended", "fault", "first_live", "hits", "lost_peers", "matches")

    def __init__(self, fault: NetworkFault, first_live: int, lost_peers: frozenset[int]) -> None:
        self.fault = fault
        self.matches = 0
        """Requests, answers and attempts to connect on the way."""
        self.hits = 0
        """Those of them that were held back."""
        self.ended = asyncio.Event()
        self.first_live = first_live
        """HALF_OPEN: connections with smaller numbers, which this process made, are dead."""
        self.lost_peers = lost_peers
        """HALF_OPEN: the numbers of dead connections that this process accepted."""

    def is_about(self, source: str, target: str) -> bool:
        """Tell whether it is about what ``source`` sends to ``target``."""
        fault = self.fault
        ways = [(fault.source, fault.target)]
        if fault.both_ways:
            ways.append((fault.target, fault.source))
        return any(
            a in (source, ANY_NODE) and b in (target, ANY_NODE) for a, b in ways if source != target
        )


class NetworkFaults:
    """The network faults of one process."""

    def __init__(self, own: str, *, chance: Random, nodes: Mapping[str, str]) -> None:
        """Prepare; nothing is broken.

        Args:
            own: the name of this node.
            chance: draws losses and jitter.
            nodes: the names of other nodes, by the client ids that they send.
        """
        self.own = own
        self.rules: tuple[NetworkRule, ...] = ()
        self.open_peers: Callable[[], Iterable[Peer]] = tuple
        """The other ends of the connections that this process has accepted."""
        self.looks_at_requests = False
        """Whether requests go through faults: of the network, or by ``look_behind`` others."""
        self._looks_behind = False
        self.chance = chance
        """Draws what rules leave open."""
        self._nodes = nodes
        self._arrivals_s: dict[tuple[str, str], float] = {}
        self._connections_made = 0

    def way(self, node: str) -> FaultyWay:
        """Return the way to another node, for the clients that ask it."""
        return FaultyWay(self, node)

    def add_rule(self, fault: NetworkFault) -> NetworkRule:
        """Put one more fault in force.

        Raises:
            ValueError: it is not about this node.
        """
        ends = (fault.source, fault.target)
        if self.own not in ends:
            raise ValueError(f"from, to: one must be {self.own}, they are {' and '.join(ends)}")
        lost = frozenset(peer.number for peer in self.open_peers())
        rule = NetworkRule(fault, self._connections_made + 1, lost)
        self.rules = (*self.rules, rule)
        self.looks_at_requests = True
        return rule

    def drop_rule(self, rule: NetworkRule) -> None:
        """Take a fault out of force; what it holds back arrives."""
        self.rules = tuple(each for each in self.rules if each is not rule)
        rule.ended.set()
        self.look_behind(looks=self._looks_behind)

    def look_behind(self, *, looks: bool) -> None:
        """Have requests go to what is behind these faults, or straight to the dispatcher."""
        self._looks_behind = looks
        self.looks_at_requests = looks or bool(self.rules)

    def guarded(self, dispatch: Dispatch, behind: Dispatch | None = None) -> Dispatch:
        """Return ``dispatch`` behind the faults: what a server is to call.

        Args:
            dispatch: asked while nothing is broken.
            behind: asked in its place while ``looks_at_requests``.
        """
        asked = dispatch if behind is None else behind

        def call(
            request: RequestReceived, peer: Peer
        ) -> Awaitable[LaterAnswer | HeldRequest | Body]:
            if self.looks_at_requests:
                through = self._serve if self.rules else _past_network
                return through(asked, request, peer)
            return dispatch(request, peer)

        return call

    async def carry(self, source: str, target: str) -> None:
        """Wait as long as a piece takes longer on its way."""
        late_ms = 0.0
        for rule in self.rules:
            if rule.is_about(source, target):
                rule.matches += 1
                late_ms += await self._held_ms(rule)
        if late_ms:
            await self._arrive(source, target, late_ms)

    async def connect(self, node: str) -> None:
        """Wait until a connection to ``node`` can be made: both ways must be open."""
        for rule in self.rules:
            is_about = rule.is_about(self.own, node) or rule.is_about(node, self.own)
            if rule.fault.mode is NetworkMode.CUT and is_about:
                rule.matches += 1
                rule.hits += 1
                await rule.ended.wait()

    def number_connection(self) -> int:
        """Return the number of a connection that this process makes now."""
        self._connections_made += 1
        return self._connections_made

    async def check_made(self, node: str, number: int) -> None:
        """Wait, when a connection that this process made is dead, until nobody says so any more.

        Raises:
            ConnectionResetError: then.
        """
        for rule in self.rules:
            if self._is_half_open(rule, node) and number < rule.first_live:
                await self._die(rule)
                raise ConnectionResetError(f"connection to {node} was half-open")

    async def _check_accepted(self, node: str, peer: Peer) -> None:
        for rule in self.rules:
            if self._is_half_open(rule, node) and peer.number in rule.lost_peers:
                await self._die(rule)
                raise CloseConnection(f"connection of {node} was half-open")

    def _is_half_open(self, rule: NetworkRule, node: str) -> bool:
        return rule.fault.mode is NetworkMode.HALF_OPEN and rule.is_about(self.own, node)

    @staticmethod
    async def _die(rule: NetworkRule) -> None:
        rule.matches += 1
        rule.hits += 1
        await rule.ended.wait()

    async def _serve(
        self, dispatch: Dispatch, request: RequestReceived, peer: Peer
    ) -> LaterAnswer | HeldRequest | Body:
        node = self._nodes.get(request.client_id, CLIENT_NODE)
        await self._check_accepted(node, peer)
        await self.carry(node, self.own)
        answer = await dispatch(request, peer)
        if not isinstance(answer, HeldRequest):
            return await self._carry_answer(node, answer)
        begin = answer.begin

        async def begin_and_carry() -> LaterAnswer | Body:
            return await self._carry_answer(node, await begin())

        return answer._replace(begin=begin_and_carry)

    async def _carry_answer(self, node: str, answer: LaterAnswer | Body) -> LaterAnswer | Body:
        try:
            if isinstance(answer, LaterAnswer):
                await asyncio.shield(answer.ready)
            await self.carry(self.own, node)
        except BaseException:
            if isinstance(answer, LaterAnswer):
                answer.abandon()
            raise
        return answer

    async def _held_ms(self, rule: NetworkRule) -> float:
        """Hold a piece back for as long as a rule does, or return by how much it is late."""
        fault = rule.fault
        match fault.mode:
            case NetworkMode.CUT:
                rule.hits += 1
                await rule.ended.wait()
                return 0
            case NetworkMode.LATENCY:
                rule.hits += 1
                return fault.latency_ms + self.chance.random() * fault.jitter_ms
            case NetworkMode.LOSS:
                is_lost = self.chance.random() < fault.probability
                rule.hits += is_lost
                return fault.retransmit_ms if is_lost else 0
            case NetworkMode.HALF_OPEN:
                return 0
            case _:
                assert_never(fault.mode)

    async def _arrive(self, source: str, target: str, late_ms: float) -> None:
        """Wait for ``late_ms``, but behind what was sent before."""
        loop = asyncio.get_running_loop()
        earliest_s = self._arrivals_s.get((source, target), 0.0) + _ORDER_S
        at_s = self._arrivals_s[source, target] = max(earliest_s, loop.time() + late_ms / 1000)
        arrived: asyncio.Future[None] = loop.create_future()
        timer = loop.call_at(at_s, _settle, arrived)
        try:
            await arrived
        finally:
            timer.cancel()


class FaultyWay:
    """The way from this process to one other node, and back: a ``Way``."""

    __slots__ = ("_faults", "_node")

    def __init__(self, faults: NetworkFaults, node: str) -> None:
        self._faults = faults
        self._node = node

    @property
    def is_troubled(self) -> bool:
        """Whether any rule is in force, for any node."""
        return bool(self._faults.rules)

    def number_connection(self) -> int:
        """Return the number of a connection that is made now."""
        return self._faults.number_connection()

    async def connect(self) -> None:
        """Return when a connection can be made."""
        await self._faults.connect(self._node)

    async def send(self, number: int) -> None:
        """Return when a request by connection ``number`` has been held back for long enough.

        Raises:
            ConnectionResetError: the connection was dead, and may now be seen to be.
        """
        await self._faults.check_made(self._node, number)
        await self._faults.carry(self._faults.own, self._node)

    async def receive(self, number: int) -> None:
        """Return when an answer by connection ``number`` has been held back for long enough.

        Raises:
            ConnectionResetError: as ``send``.
        """
        await self._faults.check_made(self._node, number)
        await self._faults.carry(self._node, self._faults.own)


def _past_network(
    dispatch: Dispatch, request: RequestReceived, peer: Peer
) -> Awaitable[LaterAnswer | HeldRequest | Body]:
    return dispatch(request, peer)


def _settle(arrived: asyncio.Future[None]) -> None:
    if not arrived.done():
        arrived.set_result(None)
