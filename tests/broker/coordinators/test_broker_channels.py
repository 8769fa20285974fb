"""One queue and one request at a time for each broker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from broker.coordinators.broker_channels import BrokerChannels, ChannelPorts, ChannelWork
from broker.engine.types import RpcPort
from tests.broker.coordinators.asking import until
from tests.broker.coordinators.marked_cluster import A0, Cluster, Link


class Asker:
    """Remembers what was asked, of a broker that is there or not; answers when it may."""

    def __init__(self, cluster: Cluster) -> None:
        self.asked: list[tuple[bool, list[str]]] = []
        self.links: list[Link] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._cluster = cluster
        ports = ChannelPorts(
            metadata=cluster.metadata, connect=self._connect, request_timeout_ms=lambda: 1_000
        )
        work: ChannelWork[list[str], str] = ChannelWork(
            name="questions", new_queue=list[str], take=self._take, ask=self._ask
        )
        self.channels = BrokerChannels(ports, work)

    def _connect(self, host: str, port: int) -> RpcPort:
        link = self._cluster.connect(host, port)
        self.links.append(link)
        return link

    def _take(self, queue: list[str]) -> list[str]:
        taken = list(queue)
        queue.clear()
        return taken

    async def _ask(self, client: RpcPort | None, items: Sequence[str]) -> None:
        self.asked.append((client is not None, list(items)))
        await self.may_answer.wait()


@pytest.fixture
async def cluster() -> Cluster:
    cluster = Cluster()
    cluster.tell({A0: 1})
    return cluster


async def work(asker: Asker) -> None:
    async with asyncio.TaskGroup() as tasks:
        asker.channels.run(tasks)
        await asyncio.Event().wait()


async def test_what_comes_while_a_request_is_under_way_goes_into_the_next(cluster: Cluster) -> None:
    asker = Asker(cluster)
    asker.may_answer.clear()
    working = asyncio.get_running_loop().create_task(work(asker))
    await until(lambda: asker.channels.is_running)
    asker.channels.wake(1).append("a")
    await until(lambda: len(asker.asked) == 1)
    asker.channels.wake(1).append("b")
    asker.channels.wake(1).append("c")
    asker.may_answer.set()
    await until(lambda: len(asker.asked) == 2)
    assert asker.asked == [(True, ["a"]), (True, ["b", "c"])]
    assert len(asker.links) == 1
    working.cancel()


async def test_one_broker_that_does_not_answer_holds_up_no_other(cluster: Cluster) -> None:
    asker = Asker(cluster)
    asker.may_answer.clear()
    working = asyncio.get_running_loop().create_task(work(asker))
    await until(lambda: asker.channels.is_running)
    asker.channels.wake(1).append("a")
    asker.channels.wake(2).append("b")
    await until(lambda: len(asker.asked) == 2)
    working.cancel()


async def test_a_broker_that_is_not_there_is_asked_without_a_client(cluster: Cluster) -> None:
    asker = Asker(cluster)
    working = asyncio.get_running_loop().create_task(work(asker))
    await until(lambda: asker.channels.is_running)
    asker.channels.wake(9).append("a")
    await until(lambda: len(asker.asked) == 1)
    assert asker.asked == [(False, ["a"])]
    asker.channels.stop()
    assert not asker.channels.is_running
    working.cancel()


async def test_a_broker_that_moved_is_asked_where_it_is_and_one_that_stays_by_the_same_link(
    cluster: Cluster,
) -> None:
    asker = Asker(cluster)
    working = asyncio.get_running_loop().create_task(work(asker))
    await until(lambda: asker.channels.is_running)
    for number, port in enumerate([1, 1, 7, 7], start=1):
        cluster.port_of_broker_1 = port
        cluster.tell({A0: 1})
        asker.channels.wake(1).append("a")
        await until(lambda number=number: len(asker.asked) == number)
    assert [(link.broker, link.is_closed) for link in asker.links] == [(1, True), (7, False)]
    working.cancel()


async def test_all_that_waits_for_a_broker_is_asked_though_it_was_not_there_for_a_while(
    cluster: Cluster,
) -> None:
    asker = Asker(cluster)
    working = asyncio.get_running_loop().create_task(work(asker))
    await until(lambda: asker.channels.is_running)
    for number, live in enumerate([(1, 2), (2,), (1, 2)], start=1):
        cluster.live = live
        cluster.tell({A0: 1})
        asker.channels.wake(1).append("a")
        await until(lambda number=number: len(asker.asked) == number)
    assert asker.asked == [(True, ["a"]), (False, ["a"]), (True, ["a"])]
    working.cancel()
