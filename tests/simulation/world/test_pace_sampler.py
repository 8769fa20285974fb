"""How much processes run in a second."""

from __future__ import annotations

import asyncio

from simulation.core.checkers.bounds import check_bounds
from simulation.core.checkers.evidence import Evidence
from simulation.core.samples import Samples
from simulation.world.pace_sampler import STEPS_PER_S_MAX, WINDOW_US, PaceSampler
from tests.simulation.workload.lab import Lab
from tests.simulation.world.worlds import sim_loop


async def test_a_process_that_spins_is_beyond_the_bound() -> None:
    lab = await Lab.running()
    node = lab.cluster.brokers[1]
    samples = Samples()
    watch = PaceSampler(node, samples)
    watch.look(sim_loop().now_us)
    await asyncio.sleep(1)
    watch.look(sim_loop().now_us)
    (usual,) = samples.gauges
    assert (usual.node, usual.bound) == ("broker-1", STEPS_PER_S_MAX)
    assert 0 < usual.value < STEPS_PER_S_MAX / 8
    assert not check_bounds(Evidence(history=[], samples=samples))

    async def spin() -> None:
        for _ in range(STEPS_PER_S_MAX):
            await asyncio.sleep(0)

    assert node.process is not None
    spinning = sim_loop().create_task(spin(), context=node.process.context())
    await asyncio.sleep(1)
    assert spinning.done()
    watch.look(sim_loop().now_us)
    (found,) = check_bounds(Evidence(history=[], samples=samples))
    assert "broker-1: steps in a second was " in found.text


async def test_a_process_that_began_within_the_second_is_counted_from_its_begin() -> None:
    lab = await Lab.running()
    node = lab.cluster.brokers[1]
    samples = Samples()
    watch = PaceSampler(node, samples)
    watch.look(0)
    node.kill()
    node.start()
    assert node.process is not None
    node.process.steps = STEPS_PER_S_MAX * 2
    watch.look(WINDOW_US)
    assert samples.gauges == []
    watch.look(2 * WINDOW_US)
    assert [gauge.value for gauge in samples.gauges] == [0]
