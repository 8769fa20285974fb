"""What is written down of the controller's state."""

from __future__ import annotations

import asyncio

from simulation.core.samples import PartitionSample, Samples, TopicSample
from simulation.world.controller_sampler import ControllerSampler
from tests.simulation.workload.lab import TP, Lab
from tests.simulation.world.worlds import sim_loop


class Watched:
    """A controller that is looked at by hand."""

    def __init__(self, lab: Lab) -> None:
        self.samples = Samples()
        self._watch = ControllerSampler(lab.cluster.controller, self.samples)

    def look(self) -> list[PartitionSample]:
        """Look once and return what was written of partitions."""
        before = len(self.samples.partitions)
        self._watch.look(sim_loop().now_us)
        return self.samples.partitions[before:]


async def test_partitions_are_written_down_when_something_changed() -> None:
    lab = await Lab.running()
    watched = Watched(lab)
    assert watched.look() == []
    await lab.admin.create_topic("orders", assignment=[(1, 2)], configs={"retention.ms": "5"})

    (made,) = watched.look()
    assert watched.look() == []

    assert (made.tp, made.replicas, made.isr, made.leader) == (TP, (1, 2), (1, 2), 1)
    assert (made.leader_epoch, made.offline, made.is_deleted) == (0, (), False)
    assert watched.samples.topics == [TopicSample(made.at_us, "orders", {"retention.ms": "5"})]
    assert [each.name for each in watched.samples.gauges] == ["requests queued for brokers"]


async def test_offline_replicas_and_elections_are_written_down() -> None:
    lab = await Lab.running()
    watched = Watched(lab)
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    watched.look()
    lab.cluster.brokers[1].kill()
    await asyncio.sleep(5)

    (elected,) = watched.look()

    assert (elected.leader, elected.isr, elected.offline) == (2, (2,), (1,))
    assert elected.leader_epoch > 0


async def test_a_broker_that_comes_back_is_a_change_of_its_partitions() -> None:
    lab = await Lab.running()
    watched = Watched(lab)
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    lab.cluster.brokers[2].kill()
    await asyncio.sleep(5)
    watched.look()
    lab.cluster.brokers[2].start()
    await lab.cluster.until(lab.cluster.is_up, 60_000)
    await asyncio.sleep(1)

    assert [each.offline for each in watched.look()] == [()]


async def test_a_deleted_topic_is_written_down_once_more() -> None:
    lab = await Lab.running()
    watched = Watched(lab)
    await lab.admin.create_topic("orders", assignment=[(1,)])
    watched.look()
    await lab.admin.delete_topic("orders")
    await asyncio.sleep(1)

    assert [each.is_deleted for each in watched.look()] == [True]
    assert watched.look() == []


async def test_what_a_compacted_journal_would_forget_is_written_down() -> None:
    lab = await Lab.running()
    watched = Watched(lab)
    await lab.admin.create_topic("orders", assignment=[(1,)])
    watched.look()
    assert watched.samples.journals == []
    controller = lab.cluster.controller.controller
    assert controller is not None
    controller.state.topic_names[b"g" * 16] = "of no topic, so that no record says it"
    await lab.admin.delete_topic("orders")
    watched.look()

    (sample,) = watched.samples.journals

    (forgotten,) = set(sample.decided) - set(sample.replayed)
    assert "of no topic" in forgotten


async def test_a_controller_that_is_down_changes_nothing() -> None:
    lab = await Lab.running()
    watched = Watched(lab)
    await lab.admin.create_topic("orders", assignment=[(1,)])
    watched.look()
    lab.cluster.controller.kill()

    assert watched.look() == []
