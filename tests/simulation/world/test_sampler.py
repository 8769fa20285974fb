"""The observer of a whole cluster."""

from __future__ import annotations

import asyncio

from simulation.core.checkers.evidence import Evidence
from simulation.core.checkers.liveness import lacks
from simulation.core.checkers.table import check_all
from simulation.core.samples import FaultSample, NodeSample, Role, Samples
from simulation.workload.producer import ProducerSettings, ProducerWorkload
from simulation.world.disk_speed import DiskSpeed
from simulation.world.links import LinkRule
from simulation.world.node import BrokerNode
from simulation.world.sampler import Sampler
from tests.simulation.workload.lab import TP, Lab
from tests.simulation.world.worlds import sim_loop


async def _watched(configs: str = "{}") -> tuple[Lab, Sampler]:
    lab = Lab(configs)
    observer = Sampler(lab.cluster)
    observer.start()
    await lab.cluster.start()
    return lab, observer


async def _work(lab: Lab) -> None:
    await lab.create(partitions=2, replication_factor=3)
    settings = ProducerSettings(topic="orders", records_max=50, is_idempotent=True)
    producer = ProducerWorkload(0, lab.new_client("writer"), lab.history, settings, lab.clock)
    async with asyncio.TaskGroup() as group:
        group.create_task(producer.run())
        await asyncio.sleep(1)
        lab.cluster.brokers[1].kill()
        await asyncio.sleep(5)
        lab.cluster.brokers[1].start()
    await lab.cluster.until(lab.cluster.is_up, 60_000)
    await asyncio.sleep(15)


async def test_a_run_is_written_down_and_violates_nothing() -> None:
    lab, observer = await _watched()
    await _work(lab)
    observer.samples.healed_us = sim_loop().now_us

    samples = await observer.finish()

    assert check_all(Evidence(history=lab.history.operations, samples=samples)) == []
    assert len(samples.logs) == 6
    assert len(samples.journals) == 1
    assert len(samples.journals[0].decided) > 5
    assert {each.role for each in samples.replicas} >= {Role.LEADER, Role.FOLLOWER, Role.GONE}
    assert samples.partitions
    assert samples.log_dirs
    assert samples.gauges
    assert samples.ended_us == sim_loop().now_us
    for track in (samples.replicas, samples.partitions, samples.log_dirs, samples.nodes):
        times = [each.at_us for each in track]
        assert times == sorted(times)


async def test_nodes_are_up_while_they_run_and_are_not_paused() -> None:
    lab, observer = await _watched()
    node = lab.cluster.brokers[2]
    for change in (node.pause, node.resume, node.kill, node.start):
        change()
        await asyncio.sleep(0.1)

    samples = await observer.finish()

    seen = [each.is_up for each in samples.nodes if each.node == "broker-2"]
    assert seen in ([True, False] * 2 + [True], [False, True] * 3)
    assert isinstance(samples.nodes[0], NodeSample)


async def test_faults_are_written_down_from_their_begin_to_their_end() -> None:
    _, observer = await _watched()
    began_us = sim_loop().now_us
    observer.fault_began("late", [("broker-1", "/b1/d1"), ("broker-1", "/b1/d2")], "eio")
    await asyncio.sleep(1)
    observer.fault_began("early", [("", "")], "cut")
    observer.fault_ended("early")
    observer.fault_ended("early")

    samples = await observer.finish()

    ended_us = samples.faults[-1].begin_us
    assert ended_us >= began_us + 1_000_000
    assert samples.faults == [
        FaultSample(began_us, ended_us, "broker-1", "/b1/d1", "eio"),
        FaultSample(began_us, ended_us, "broker-1", "/b1/d2", "eio"),
        FaultSample(ended_us, ended_us, "", "", "cut"),
    ]


async def test_a_controller_that_is_down_has_no_journal_to_compare() -> None:
    lab, observer = await _watched()
    lab.cluster.controller.kill()

    samples: Samples = await observer.finish()

    assert samples.journals == []


async def test_it_looks_rarely_while_nothing_changes_and_soon_when_something_may() -> None:
    lab, observer = await _watched()
    await asyncio.sleep(10)
    looks_before = observer.looks_count
    await asyncio.sleep(10)
    idle_looks = observer.looks_count - looks_before

    looks_before = observer.looks_count
    await lab.create()
    await asyncio.sleep(0.05)

    assert idle_looks < 60
    assert observer.looks_count - looks_before >= 2
    (made,) = observer.samples.partitions
    assert sim_loop().now_us - made.at_us < 500_000


async def test_it_goes_on_when_the_process_dies_that_made_it_hurry() -> None:
    lab, observer = await _watched()
    await asyncio.sleep(10)
    await lab.create(replication_factor=3)
    for node in lab.cluster.nodes.values():
        node.kill()

    await asyncio.sleep(2)

    last = {each.node: each.is_up for each in observer.samples.nodes}
    assert last == dict.fromkeys(lab.cluster.nodes, False)


async def test_the_end_comes_when_a_replica_that_a_past_cut_takes_out_of_the_isr_is_back() -> None:
    lab, observer = await _watched("{replica.lag.time.max.ms: 8000}")
    await lab.create(replication_factor=3)
    observer.look()
    led = observer.samples.partitions[-1]
    links = sim_loop().network.links
    follower_id = led.isr[-1]
    rule = links.add_rule(
        LinkRule(source=f"broker-{follower_id}", target=f"broker-{led.leader}", is_cut=True)
    )
    settings = ProducerSettings(topic="orders", records_max=1, acks=1)
    await ProducerWorkload(0, lab.new_client("writer"), lab.history, settings, lab.clock).run()
    await asyncio.sleep(7)  # Before the Isr shrinks. TCP tries again 12.6 s after the cut.
    links.remove_rule(rule)

    samples = await observer.finish()

    assert any(follower_id not in each.isr for each in samples.partitions)
    assert lacks(samples) == []


async def test_logs_are_not_read_while_a_broker_removes_segments_and_does_not_yet_say_so() -> None:
    lab, observer = await _watched("{log.retention.check.interval.ms: 1000}")
    configs = {"retention.ms": "20000", "segment.bytes": "1024"}
    await lab.admin.create_topic("orders", configs=configs)
    await lab.until_led("orders")
    settings = ProducerSettings(topic="orders", records_max=30, acks=1)
    await ProducerWorkload(0, lab.new_client("writer"), lab.history, settings, lab.clock).run()
    observer.look()
    node = lab.cluster.brokers[observer.samples.partitions[-1].leader]
    for drive in node.drives.values():
        drive.speed = DiskSpeed(operation_us=10_000)
    await lab.cluster.until(lambda: _begins(node)[1] > 0, timeout_ms=120_000)
    assert _begins(node)[0] == 0

    samples = await observer.finish()

    (log,) = samples.logs
    assert log.log_start_offset == _begins(node)[1] > 0
    assert not samples.contradictions


def _begins(node: BrokerNode) -> tuple[int, int]:
    """Return where the log of orders-0 begins: what its broker says, and what its files do."""
    assert node.broker is not None
    assert node.broker.broker_control.engine is not None
    replica = node.broker.broker_control.engine.state.hosted.online_replica(TP)
    assert replica is not None
    return replica.partition.log_start_offset, replica.log.files.log_start_offset
