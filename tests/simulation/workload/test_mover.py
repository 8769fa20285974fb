from __future__ import annotations

import asyncio
from random import Random

from simulation.core.history import Function, Kind, Order
from simulation.workload import questions
from simulation.workload.admin import Admin
from simulation.workload.mover import MoverSettings, MoverWorkload
from tests.simulation.workload.lab import TP, Lab


def _mover(lab: Lab) -> MoverWorkload:
    client = lab.new_client("mover")
    settings = MoverSettings(topic="orders", interval_ms=1_000)
    return MoverWorkload(client, Admin(client, lab.history), Random(5), settings)


async def _run(mover: MoverWorkload, seconds: float) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(mover.run())
        await asyncio.sleep(seconds)
        mover.stop()


async def test_replicas_are_moved_again_and_again(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    mover = _mover(lab)

    await _run(mover, 10.5)

    orders = [each.value for each in lab.ended(Function.MOVE)]
    assert len(orders) == mover.progress.acknowledged == 10
    last = {each.broker: each.log_dir for each in orders if isinstance(each, Order)}
    await asyncio.sleep(2)
    for broker, path in last.items():
        dirs = await questions.log_dirs(lab.client, broker)
        assert [each.path for each in dirs for log in each.replicas if log.tp == TP] == [path]


async def test_one_chance_gives_the_same_moves(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    first = _mover(lab)
    assert isinstance(first, MoverWorkload)
    await _run(first, 3.5)

    assert [each.kind for each in lab.history if each.function is Function.MOVE] == [
        Kind.INVOKE,
        Kind.OK,
    ] * 3


async def test_it_goes_on_when_brokers_do_not_answer(lab: Lab) -> None:
    await lab.create(replication_factor=3)
    for broker in lab.cluster.brokers.values():
        broker.kill()
    mover = _mover(lab)

    await _run(mover, 3.5)

    assert mover.progress.errors == {"NETWORK_EXCEPTION": 3}
    assert lab.ended(Function.MOVE) == []


async def test_nothing_is_moved_of_other_topics(lab: Lab) -> None:
    await lab.create("others")
    mover = _mover(lab)

    await _run(mover, 5)

    assert mover.progress.acknowledged == 0
