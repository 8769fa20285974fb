"""A log dir that hangs stalls its own partitions and nobody else's, in virtual time."""

from __future__ import annotations

import asyncio

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.crash.matrix import run_virtually
from tests.crash.world import World, new_world

PARTITIONS = [TopicPartition("orders", index) for index in range(3)]
ROUNDS = 100
DEADLINE_S = 10.0


async def hang_one_of_three(world: World) -> tuple[float, float, ErrorCode]:
    """Return how long the others' records took in all, and what became of the hanging one."""
    loop = asyncio.get_running_loop()
    await world.start()
    for tp in PARTITIONS:
        await world.create(tp)
    hung, *others = PARTITIONS
    node = world.node
    assert len({world.path_of(tp) for tp in PARTITIONS}) == 3
    node.workers[world.path_of(hung)].hangs = True
    began_s = loop.time()
    waiting = world.lab.begin(node.produce("stuck", tp=hung, timeout_ms=60_000))
    for _ in range(ROUNDS):
        for tp in others:
            answer = await node.produce("v", tp=tp)
            assert answer.error_code == ErrorCode.NONE
    took_s = loop.time() - began_s
    answer = await waiting
    return took_s, loop.time() - began_s, ErrorCode(answer.error_code)


def test_a_hanging_log_dir_costs_the_others_no_time_and_ends_at_its_deadline() -> None:
    async def story() -> tuple[float, float, ErrorCode]:
        async with new_world(is_watched=False) as world:
            return await hang_one_of_three(world)

    took_s, ended_s, code = run_virtually(story)
    assert took_s < 0.001
    assert DEADLINE_S <= ended_s <= DEADLINE_S * 1.3
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
