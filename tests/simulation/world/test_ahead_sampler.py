"""What is written down of a broker whose checkpoints are ahead of it."""

from __future__ import annotations

from simulation.core.samples import AheadSample, Samples
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.world.ahead_sampler import AheadSampler
from tests.simulation.workload.lab import TP, Lab
from tests.simulation.world.worlds import sim_loop


async def _write(lab: Lab) -> None:
    """Have five records committed."""
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    await lab.until_led("orders")
    settings = ProducerSettings(topic="orders", records_max=5)
    await ProducerWorkload(0, lab.new_client("writer"), lab.history, settings, lab.clock).run()


async def test_compaction_beyond_what_is_stable_is_noted_once() -> None:
    lab = await Lab.running()
    await _write(lab)
    node, samples = lab.cluster.brokers[1], Samples()
    watch = AheadSampler(node, samples)
    assert node.broker is not None
    engine = node.broker.broker_control.engine
    assert engine is not None
    replica = engine.state.hosted.online_replica(TP)
    assert replica is not None

    engine.state.cleaner_offsets.put(replica.log_dir, TP, 5)
    watch.look(sim_loop().now_us)
    assert samples.ahead == []

    engine.state.cleaner_offsets.put(replica.log_dir, TP, 7)
    watch.look(sim_loop().now_us)
    watch.look(sim_loop().now_us)
    assert samples.ahead == [AheadSample(sim_loop().now_us, 1, TP, "compacted", 7, 5, 5)]
