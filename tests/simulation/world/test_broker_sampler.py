"""What is written down of a broker's engine."""

from __future__ import annotations

import asyncio

from protocol.faults.model import DiskMode
from simulation.core.samples import ReplicaSample, Role, Samples
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.world.broker_sampler import BrokerSampler
from simulation.world.cluster import SimCluster
from tests.simulation.workload.lab import TP, Lab
from tests.simulation.world.worlds import sim_loop


class Watched:
    """A broker that is looked at by hand."""

    def __init__(self, cluster: SimCluster, broker: int) -> None:
        self.samples = Samples()
        self._watch = BrokerSampler(cluster.brokers[broker], self.samples)

    def look(self) -> list[ReplicaSample]:
        """Look once and return what was written of replicas."""
        before = len(self.samples.replicas)
        self._watch.look(sim_loop().now_us)
        return self.samples.replicas[before:]


async def _write(lab: Lab, count: int) -> None:
    settings = ProducerSettings(topic="orders", records_max=count)
    await ProducerWorkload(0, lab.new_client("writer"), lab.history, settings, lab.clock).run()


async def test_replicas_are_written_down_when_something_changed() -> None:
    lab = await Lab.running()
    watched = Watched(lab.cluster, 1)
    assert watched.look() == []
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    await lab.until_led("orders")

    (first,) = watched.look()
    assert watched.look() == []
    await _write(lab, 5)
    (second,) = watched.look()

    assert (first.broker, first.boot, first.tp, first.role) == (1, 1, TP, Role.LEADER)
    assert (first.isr, first.leader_epoch, first.log_end_offset) == ((1, 2), 0, 0)
    assert first.log_dir in lab.cluster.brokers[1].drives
    assert len(first.topic_id) == 16
    assert (second.log_end_offset, second.high_watermark) == (5, 5)
    assert second.at_us > first.at_us


async def test_a_follower_tells_no_isr() -> None:
    lab = await Lab.running()
    watched = Watched(lab.cluster, 2)
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    await lab.until_led("orders")
    await asyncio.sleep(1)

    (sample,) = watched.look()

    assert (sample.role, sample.isr) == (Role.FOLLOWER, ())


async def test_a_failed_log_dir_and_its_replicas_are_written_down() -> None:
    lab = await Lab.running()
    watched = Watched(lab.cluster, 1)
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    await lab.until_led("orders")
    (online,) = watched.look()
    lab.cluster.faults("broker-1", online.log_dir).set_fault(DiskMode.EIO)
    await _write(lab, 1)

    (offline,) = watched.look()

    assert offline == online._replace(at_us=offline.at_us, role=Role.OFFLINE, isr=())
    assert [(each.path, each.is_online) for each in watched.samples.log_dirs][-1] == (
        online.log_dir,
        False,
    )


async def test_a_killed_broker_hosts_nothing_and_comes_back_as_another_process() -> None:
    lab = await Lab.running()
    watched = Watched(lab.cluster, 1)
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    await lab.until_led("orders")
    watched.look()
    node = lab.cluster.brokers[1]

    node.kill()
    (gone,) = watched.look()
    node.start()
    await lab.cluster.until(lab.cluster.is_up, 60_000)
    await asyncio.sleep(1)
    (back,) = watched.look()

    assert (gone.role, gone.boot) == (Role.GONE, 1)
    assert (back.role, back.boot) == (Role.FOLLOWER, 2)


async def test_a_deleted_topic_is_gone() -> None:
    lab = await Lab.running()
    watched = Watched(lab.cluster, 1)
    await lab.admin.create_topic("orders", assignment=[(1,)])
    await lab.until_led("orders")
    watched.look()
    await lab.admin.delete_topic("orders")
    await asyncio.sleep(1)

    assert [each.role for each in watched.look()] == [Role.GONE]


async def test_queues_are_written_down_with_the_most_they_held() -> None:
    lab = await Lab.running()
    watched = Watched(lab.cluster, 1)
    await lab.admin.create_topic("orders", assignment=[(1,)])
    await lab.until_led("orders")
    for _ in range(40):
        watched.look()
        await _write(lab, 1)

    gauges = {each.name: each for each in watched.samples.gauges}

    assert len(gauges) == len(watched.samples.gauges) == 5
    assert 0 < gauges["bytes of tails"].value <= gauges["bytes of tails"].bound


async def test_a_log_dir_that_is_closed_at_the_end_did_not_fail() -> None:
    lab = await Lab.running()
    watched = Watched(lab.cluster, 1)
    watched.look()
    node = lab.cluster.brokers[1]
    assert node.broker is not None
    log_dirs = node.broker.broker_control.log_dirs.values()
    node.ask_to_end()
    await lab.cluster.until(lambda: any(one.is_closed for one in log_dirs), 10_000)
    watched.look()

    assert [sample.is_online for sample in watched.samples.log_dirs] == [True, True]


async def test_the_controller_that_is_obeyed_is_written_down_with_the_process() -> None:
    lab = await Lab.running()
    watched = Watched(lab.cluster, 1)
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    await lab.until_led("orders")
    watched.look()
    watched.look()

    (obeyed,) = watched.samples.obeyed
    controller = lab.cluster.controller.controller
    assert controller is not None
    assert obeyed[1:] == (1, 1, controller.state.controller_epoch)


async def test_an_append_on_its_way_is_in_the_sample() -> None:
    lab = await Lab.running()
    watched = Watched(lab.cluster, 1)
    await lab.admin.create_topic("orders", assignment=[(1, 2)])
    await lab.until_led("orders")
    await _write(lab, 3)

    (sample,) = watched.look()

    assert sample.next_offset == sample.log_end_offset == 3
