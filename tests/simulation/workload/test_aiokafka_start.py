"""How clients of aiokafka begin: a client whose start failed is never started again."""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
from itertools import repeat

import pytest
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaTimeoutError,
    NotLeaderForPartitionError,
    UnknownError,
)

from simulation.workload.aiokafka_start import ended, error_name, started
from simulation.workload.progress import Progress


class Client:
    """Starts once only, as the library's consumer, and remembers what was asked of it."""

    def __init__(self, error: BaseException | None) -> None:
        self.calls: list[str] = []
        self._error = error

    async def start(self) -> None:
        assert "start" not in self.calls, "Did you call `start` twice?"
        self.calls.append("start")
        if self._error is not None:
            raise self._error

    async def stop(self) -> None:
        self.calls.append("stop")
        if self._error is not None:
            raise KafkaTimeoutError


class Clients:
    """Makes clients, each of which fails with the next error."""

    def __init__(self, *errors: BaseException | None) -> None:
        self.made: list[Client] = []
        self._errors = iter(errors)

    def make(self) -> Client:
        self.made.append(Client(next(self._errors)))
        return self.made[-1]


async def test_after_a_start_that_failed_another_client_is_started_and_the_first_is_stopped() -> (
    None
):
    clients, progress = Clients(KafkaConnectionError(), None), Progress()
    client = await started(clients.make, progress, asyncio.Event())

    assert client is clients.made[1]
    assert [each.calls for each in clients.made] == [["start", "stop"], ["start"]]
    assert progress.errors == {"KafkaConnectionError": 1}


async def test_who_is_to_stop_gets_no_client_and_each_that_was_made_is_stopped() -> None:
    clients, stopping = Clients(*repeat(KafkaConnectionError(), 10)), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        starting = group.create_task(started(clients.make, Progress(), stopping))
        await asyncio.sleep(1.2)
        stopping.set()

    assert starting.result() is None
    assert [each.calls for each in clients.made] == [["start", "stop"]] * 3
    assert await started(clients.make, Progress(), stopping) is None
    assert len(clients.made) == 3


async def test_an_error_that_is_not_the_library_s_is_raised_and_the_client_is_stopped() -> None:
    clients = Clients(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        await started(clients.make, Progress(), asyncio.Event())

    assert [each.calls for each in clients.made] == [["start", "stop"]]


def test_errors_have_kafka_s_names_where_they_have_one() -> None:
    assert error_name(NotLeaderForPartitionError()) == "NOT_LEADER_OR_FOLLOWER"
    assert error_name(KafkaTimeoutError()) == "KafkaTimeoutError"
    assert error_name(ValueError()) == "ValueError"
    assert error_name(UnknownError()) == "UnknownError"  # Of any code that it does not know.


class Unending(Client):
    """Waits for what never began, as one of the library whose start failed half-way may."""

    async def stop(self) -> None:
        self.calls.append("stop")
        await asyncio.Event().wait()


async def test_a_client_whose_stop_never_ends_is_given_up() -> None:
    client = Unending(None)
    async with asyncio.timeout(60):
        await ended(client)

    assert client.calls == ["stop"]


class Unstarted(Client):
    """Waits for a group coordinator that never answers."""

    async def start(self) -> None:
        self.calls.append("start")
        await asyncio.Event().wait()


async def test_who_is_to_stop_waits_for_no_start() -> None:
    client, stopping = Unstarted(None), asyncio.Event()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        starting = group.create_task(started(lambda: client, Progress(), stopping))
        await asyncio.sleep(1)
        stopping.set()

    assert starting.result() is None
    assert client.calls == ["start", "stop"]


class Connections:
    """What a consumer closes last."""

    def __init__(self) -> None:
        self.is_closed = False

    async def close(self) -> None:
        self.is_closed = True


class SelfCancelled(Client):
    """Lets the end of a fetch that it ended itself out of its stop, as the library's consumer."""

    def __init__(self) -> None:
        super().__init__(None)
        self._client = Connections()

    @property
    def connections(self) -> Connections:
        return self._client

    async def stop(self) -> None:
        raise asyncio.CancelledError


async def test_a_consumer_that_ends_its_own_fetches_ends_nobody_else() -> None:
    client = SelfCancelled()

    await ended(client)

    assert client.connections.is_closed


async def test_who_is_cancelled_while_a_client_stops_is_cancelled() -> None:
    client = Unending(None)
    async with asyncio.TaskGroup() as group:
        ending = group.create_task(ended(client))
        await asyncio.sleep(0)
        assert client.calls == ["stop"]
        ending.cancel()

    assert ending.cancelled()
