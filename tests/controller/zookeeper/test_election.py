"""Who becomes the controller, and in which epoch."""

from __future__ import annotations

import asyncio

from controller.zookeeper.election import Election
from controller.zookeeper.term import Term
from protocol.zookeeper import paths
from tests.controller.zookeeper.lab import (
    FixedClock,
    broker_znode,
    connected,
    server_with_brokers,
)


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_the_first_one_writes_what_kafka_writes_and_others_wait_until_it_is_gone() -> None:
    server = server_with_brokers(b1=1, b4=4)
    first, second = connected(server), connected(server)
    elected = await Election(first, 4, FixedClock()).win()

    assert elected == Term(controller_epoch=1, epoch_version=1, session=first.session or 0)
    assert server.znodes[paths.CONTROLLER] == (
        b'{"version":2,"brokerid":4,"timestamp":"1700000000000","kraftControllerEpoch":-1}'
    )
    assert server.znodes[paths.CONTROLLER_EPOCH] == b"1"

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(Election(second, 1, FixedClock()).win())
        await settle()
        assert not waiting.done()
        first.expire()
    assert waiting.result() == Term(2, 2, second.session or 0)
    assert server.znodes[paths.CONTROLLER_EPOCH] == b"2"


async def test_a_broker_that_is_not_registered_is_not_elected() -> None:
    server = server_with_brokers(b1=1)
    zookeeper = connected(server)

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(Election(zookeeper, 4, FixedClock()).win())
        await settle()
        assert not waiting.done()
        assert paths.CONTROLLER not in server.znodes
        server.put(paths.broker_path(4), broker_znode(4), owner=1000)
    assert waiting.result() is not None


async def test_it_stands_again_once_zookeeper_answers() -> None:
    server = server_with_brokers(b4=4)
    zookeeper = connected(server)
    zookeeper.lose()

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(Election(zookeeper, 4, FixedClock()).win())
        await settle()
        zookeeper.connect()
    assert waiting.result() is not None


async def test_who_resigns_lets_others_stand_and_takes_nobody_elses_znode() -> None:
    server = server_with_brokers(b1=1, b4=4)
    first, second = connected(server), connected(server)
    election = Election(first, 4, FixedClock())
    term = await election.win()
    assert term is not None
    await election.resign(term)
    assert paths.CONTROLLER not in server.znodes

    await Election(second, 1, FixedClock()).win()
    await election.resign(term)
    assert paths.CONTROLLER in server.znodes


async def test_it_can_be_stopped_while_it_waits() -> None:
    server = server_with_brokers(b4=4)
    server.put(paths.CONTROLLER, b"{}", owner=1000)
    election = Election(connected(server), 4, FixedClock())

    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(election.win())
        await settle()
        election.stop()
    assert waiting.result() is None
