"""What all connections do in one turn of the loop ends, whoever else still wants his."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import pairwise

from protocol.connection import RequestReceived
from protocol.transport.rounds import LINKS_MIN, ROUND_S, TURNS_MAX, Rounds

MANY = range(LINKS_MIN)
NODE = "broker-2"


def request_of(client_id: str) -> RequestReceived:
    return RequestReceived(18, 0, 1, client_id, memoryview(b""))


class Turns:
    """Connections that stand in line, and how long each turn of theirs lasts."""

    def __init__(self, rounds: Rounds, turn_s: float) -> None:
        self.rounds = rounds
        self.order: list[int] = []
        self.ends_s: list[float] = []
        self._turn_s = turn_s

    async def take_a_round(self) -> None:
        """Work for so long that whoever asks in the same turn of the loop stands in line."""
        self.rounds.is_over()
        work(2 * ROUND_S)

    async def have(self, number: int) -> None:
        await self.rounds.next_turn()
        self.order.append(number)
        work(self._turn_s)
        self.ends_s.append(asyncio.get_running_loop().time())


class WorkingLoop(asyncio.SelectorEventLoop):
    """A loop whose time goes on with the work that is done, and not by itself."""

    now_s = 0.0

    def time(self) -> float:
        return self.now_s


def work(seconds: float) -> None:
    """Keep the loop busy: nobody else has a turn meanwhile."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WorkingLoop)
    loop.now_s += seconds


def run(story: Coroutine[object, object, None]) -> None:
    with asyncio.Runner(loop_factory=WorkingLoop) as runner:
        runner.run(story)


def rounds_of_many() -> Rounds:
    return Rounds(MANY, lambda client_id: client_id == NODE)


def test_a_round_is_over_when_it_has_lasted_and_the_next_one_begins_anew() -> None:
    async def story() -> None:
        rounds = rounds_of_many()
        assert not rounds.is_over()
        work(ROUND_S)
        assert not rounds.is_over()
        work(0.001)
        assert rounds.is_over()
        await asyncio.sleep(0)
        assert not rounds.is_over()

    run(story())


def test_few_connections_have_turns_as_they_come() -> None:
    async def story() -> None:
        rounds = Rounds(MANY[1:])
        assert not rounds.is_over()
        work(1)
        assert not rounds.is_over()
        assert not rounds.holds_up([])

    run(story())


def test_who_stands_in_line_has_turns_in_order_a_round_s_worth_at_a_time() -> None:
    async def story() -> None:
        rounds = rounds_of_many()
        turns = Turns(rounds, turn_s=ROUND_S / 4)
        looked_s: list[float] = []

        async def look() -> None:
            while len(turns.order) < 100:
                looked_s.append(asyncio.get_running_loop().time())
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as group:
            group.create_task(turns.take_a_round())
            for number in range(100):
                group.create_task(turns.have(number))
            group.create_task(look())

        assert turns.order == list(range(100))
        waits = [after - before for before, after in pairwise(looked_s)]
        assert max(waits) <= 2.5 * ROUND_S

    run(story())


def test_short_turns_are_granted_together() -> None:
    async def story() -> None:
        rounds = rounds_of_many()
        turns = Turns(rounds, turn_s=0)
        looks = 0
        async with asyncio.TaskGroup() as group:
            group.create_task(turns.take_a_round())
            for number in range(2 * TURNS_MAX):
                group.create_task(turns.have(number))
            while len(turns.order) < 2 * TURNS_MAX:
                looks += 1
                await asyncio.sleep(0)

        assert looks < 20

    run(story())


def test_who_comes_later_stands_behind_those_in_line() -> None:
    async def story() -> None:
        rounds = rounds_of_many()
        turns = Turns(rounds, turn_s=0)
        async with asyncio.TaskGroup() as group:
            group.create_task(turns.take_a_round())
            for number in range(3):
                group.create_task(turns.have(number))
            await asyncio.sleep(0)
            assert rounds.holds_up([request_of("client")])
            assert not rounds.holds_up([request_of(NODE)])
            group.create_task(turns.have(3))

        assert turns.order == [0, 1, 2, 3]
        assert not rounds.holds_up([request_of("client")])

    run(story())


def test_a_connection_that_ends_in_line_takes_nobody_s_turn() -> None:
    async def story() -> None:
        rounds = rounds_of_many()
        turns = Turns(rounds, turn_s=0)
        async with asyncio.TaskGroup() as group:
            group.create_task(turns.take_a_round())
            gone = group.create_task(turns.have(0))
            group.create_task(turns.have(1))
            await asyncio.sleep(0)
            gone.cancel()

        assert turns.order == [1]

    run(story())
