"""Broken networks between a client and a server: what is late, lost or never there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from random import Random

import pytest

from protocol.connection import Peer, RequestReceived
from protocol.faults.model import NetworkFault, NetworkMode
from protocol.ports import Buffer
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.network_faults import NetworkFaults, NetworkRule
from protocol.transport.rpc_client import RpcClient
from protocol.transport.rpc_server import RpcServer
from tests.deadlines import DEADLINE_S

HOST = "127.0.0.1"
METADATA = 3
ASKING, ANSWERING = "broker-1", "broker-2"


def fault(mode: NetworkMode, source: str = ASKING, target: str = ANSWERING) -> NetworkFault:
    return NetworkFault(mode=mode, source=source, target=target)


class Ends:
    """A client of broker 1 and the server of broker 2, both with faults of their own."""

    def __init__(self) -> None:
        self.asking = NetworkFaults(ASKING, chance=Random(1), nodes={})
        self.answering = NetworkFaults(ANSWERING, chance=Random(1), nodes={"b1": ASKING})
        self.seen: list[bytes] = []
        self.later: asyncio.Future[None] | None = None
        self.abandoned = 0
        self.client: RpcClient
        self.server: RpcServer

    async def dispatch(self, request: RequestReceived, _peer: Peer) -> LaterAnswer | Body:
        self.seen.append(bytes(request.body))
        if self.later is not None:
            return LaterAnswer(self.later, lambda: [request.body], self._abandon)
        return [request.body]

    def _abandon(self) -> None:
        self.abandoned += 1

    async def ask(self, body: bytes = b"a", timeout_ms: int | None = None) -> bytes:
        return bytes(await self.client.request_raw(METADATA, 1, [body], timeout_ms=timeout_ms))

    async def lose(self, body: bytes) -> None:
        """Ask, and lose the connection over it."""
        with pytest.raises(ConnectionError):
            await self.ask(body)


@asynccontextmanager
async def ends() -> AsyncGenerator[Ends]:
    made = Ends()
    made.server = RpcServer(made.answering.guarded(made.dispatch))
    made.answering.open_peers = lambda: made.server.peers
    port = await made.server.start(HOST, 0)
    way = made.asking.way(ANSWERING)
    made.client = RpcClient(host=HOST, port=port, client_id="b1", way=way)
    try:
        async with asyncio.timeout(DEADLINE_S):
            yield made
    finally:
        made.client.close()
        await made.server.stop()


async def until(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 -- what a socket brings has no event here
        await asyncio.sleep(0)


async def until_hit(rule: NetworkRule) -> None:
    await until(lambda: rule.hits)


async def test_without_rules_nothing_is_held_back() -> None:
    async with ends() as each:
        assert await each.ask() == b"a"
        assert not each.asking.way(ANSWERING).is_troubled


@pytest.mark.parametrize("is_at_server", [True, False], ids=["at the server", "at the client"])
@pytest.mark.parametrize("connected", [True, False])
async def test_a_cut_holds_requests_until_it_ends(*, is_at_server: bool, connected: bool) -> None:
    async with ends() as each, asyncio.TaskGroup() as group:
        if connected:
            await each.ask(b"before")
        faults = each.answering if is_at_server else each.asking
        rule = faults.add_rule(fault(NetworkMode.CUT))
        asked = group.create_task(each.ask(b"held"))
        await until_hit(rule)
        assert b"held" not in each.seen
        assert not asked.done()
        faults.drop_rule(rule)
        assert await asked == b"held"


async def test_one_way_may_be_cut_and_the_other_not() -> None:
    """Broker 2 gets the request; its answer does not arrive."""
    async with ends() as each, asyncio.TaskGroup() as group:
        await each.ask(b"before")
        one_way = NetworkFault(
            mode=NetworkMode.CUT, source=ANSWERING, target=ASKING, both_ways=False
        )
        rule = each.answering.add_rule(one_way)
        asked = group.create_task(each.ask(b"heard"))
        await until_hit(rule)
        assert each.seen == [b"before", b"heard"]
        assert not asked.done()
        each.answering.drop_rule(rule)
        assert await asked == b"heard"


async def test_who_waits_behind_a_cut_gives_up_by_its_own_timeout() -> None:
    async with ends() as each:
        each.asking.add_rule(fault(NetworkMode.CUT, ASKING, "*"))
        with pytest.raises(TimeoutError):
            await each.ask(timeout_ms=20)
        assert each.seen == []


async def test_an_answer_that_comes_later_is_held_too_and_abandoned_with_its_connection() -> None:
    async with ends() as each:
        await each.ask(b"before")
        each.later = asyncio.get_running_loop().create_future()
        rule = each.answering.add_rule(
            NetworkFault(mode=NetworkMode.CUT, source=ANSWERING, target="*", both_ways=False)
        )
        async with asyncio.TaskGroup() as group:
            lost = group.create_task(each.lose(b"later"))
            await until(lambda: b"later" in each.seen)
            assert rule.hits == 0
            each.later.set_result(None)
            await until_hit(rule)
            await each.server.stop()
            await lost
        assert each.abandoned == 1


async def test_latency_adds_up_both_ways_and_keeps_the_order() -> None:
    async with ends() as each, asyncio.TaskGroup() as group:
        await each.ask(b"before")
        loop = asyncio.get_running_loop()
        rule = each.asking.add_rule(
            NetworkFault(
                mode=NetworkMode.LATENCY, source=ASKING, target="*", latency_ms=5, jitter_ms=10
            )
        )
        began_s = loop.time()
        bodies = [str(number).encode() for number in range(20)]
        tasks = [group.create_task(each.ask(body)) for body in bodies]
        assert [await task for task in tasks] == bodies
        assert loop.time() - began_s >= 0.010
        assert each.seen == [b"before", *bodies]
        assert rule.hits == rule.matches == 40


async def test_what_is_lost_is_sent_again_later() -> None:
    async with ends() as each:
        loop = asyncio.get_running_loop()
        rule = each.answering.add_rule(
            NetworkFault(
                mode=NetworkMode.LOSS,
                source=ASKING,
                target=ANSWERING,
                both_ways=False,
                probability=0.5,
                retransmit_ms=1,
            )
        )
        began_s = loop.time()
        for _ in range(40):
            await each.ask()
        assert rule.matches == 40
        assert 0 < rule.hits < 40
        assert loop.time() - began_s >= rule.hits / 1000


@pytest.mark.parametrize("is_at_server", [True, False], ids=["at the server", "at the client"])
async def test_a_half_open_connection_is_dead_and_a_new_one_works(*, is_at_server: bool) -> None:
    async with ends() as each:
        await each.ask(b"before")
        faults = each.answering if is_at_server else each.asking
        rule = faults.add_rule(fault(NetworkMode.HALF_OPEN))
        with pytest.raises(TimeoutError):
            await each.ask(b"into the dark", timeout_ms=50)
        assert rule.hits == 1
        assert await each.ask(b"anew") == b"anew"
        assert each.seen == [b"before", b"anew"]


@pytest.mark.parametrize("is_at_server", [True, False], ids=["at the server", "at the client"])
async def test_a_half_open_connection_is_reset_when_that_ends(*, is_at_server: bool) -> None:
    async with ends() as each, asyncio.TaskGroup() as group:
        await each.ask(b"before")
        faults = each.answering if is_at_server else each.asking
        rule = faults.add_rule(fault(NetworkMode.HALF_OPEN))
        lost = group.create_task(each.lose(b"into the dark"))
        await until_hit(rule)
        faults.drop_rule(rule)
        await lost
        assert await each.ask(b"anew") == b"anew"


async def test_others_do_not_notice() -> None:
    async with ends() as each:
        rules = [
            each.asking.add_rule(fault(NetworkMode.CUT, ASKING, "controller")),
            each.answering.add_rule(fault(NetworkMode.CUT, "client", ANSWERING)),
            each.answering.add_rule(fault(NetworkMode.HALF_OPEN, ANSWERING, "broker-3")),
        ]
        assert await each.ask() == b"a"
        assert [rule.matches for rule in rules] == [0, 0, 0]


def test_a_fault_between_others_is_refused() -> None:
    faults = NetworkFaults(ASKING, chance=Random(1), nodes={})
    with pytest.raises(ValueError, match=r"one must be broker-1, they are broker-2 and \*"):
        faults.add_rule(fault(NetworkMode.CUT, ANSWERING, "*"))


async def test_a_notice_is_held_back_too() -> None:
    """Produce with acks=0 has no answer, but it has a way."""
    parts: Sequence[Buffer] = [b"x"]
    async with ends() as each, asyncio.TaskGroup() as group:
        await each.ask(b"before")
        rule = each.asking.add_rule(fault(NetworkMode.CUT))
        asked = group.create_task(each.client.request_raw(METADATA, 1, parts))
        await until_hit(rule)
        each.asking.drop_rule(rule)
        assert bytes(await asked) == b"x"
