"""Every checker catches a node that breaks what it checks, and is silent about one that does not.

The same run is made twice: with the mutant, and with the real code in its place.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from broker.core.log_dirs import LogDirFailed
from protocol.faults.model import DiskMode
from protocol.messages.api_versions import ApiVersionsRequest
from simulation.workload.clients import ClusterClient, addresses_of
from simulation.world.links import LinkRule
from tests.mutations import mutants
from tests.mutations.mutants import turn_into
from tests.mutations.trial import TP, Trial

pytestmark = pytest.mark.sampled_among("checkers of clusters, with a mutant and without", kept=10)

broken_or_not = pytest.mark.parametrize("is_broken", [False, True], ids=["real", "mutant"])
_ASK = ApiVersionsRequest(client_software_name="t", client_software_version="1")


def _expected(checker: str, *, is_broken: bool) -> list[str]:
    return [checker] if is_broken else []


@broken_or_not
async def test_records_that_were_acknowledged_too_early_are_lost(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2, configs="{min.insync.replicas: '2'}")
    if is_broken:
        turn_into(mutants.HastyPartition, trial.partition(1))
    links = trial.loop.network.links
    cut = links.add_rule(LinkRule(source="broker-1", target="broker-2", is_cut=True))
    writing = trial.producer(records_max=3, delivery_timeout_ms=1_000)
    async with asyncio.TaskGroup() as group:
        group.create_task(writing.run())
        await asyncio.sleep(1)
        trial.cluster.brokers[1].kill()
        links.remove_rule(cut)
    await trial.until_led(TP, 2)
    trial.cluster.brokers[1].start()

    findings = await trial.findings()

    assert findings == (["durability", "high watermark"] if is_broken else [])


@broken_or_not
async def test_an_answer_that_comes_before_the_isr_has_the_records(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    if is_broken:
        turn_into(mutants.HastyAnswer, trial.partition(1))
    links = trial.loop.network.links
    cut = links.add_rule(LinkRule(source="broker-1", target="broker-2", is_cut=True))
    async with asyncio.TaskGroup() as group:
        group.create_task(trial.producer(records_max=3).run())
        await asyncio.sleep(1)
        links.remove_rule(cut)

    assert await trial.findings() == _expected("acks", is_broken=is_broken)


@broken_or_not
async def test_an_answer_of_an_isr_that_is_too_small(is_broken: bool) -> None:
    trial = await Trial.begin(2, topic="other")
    await trial.create("orders", 1, 2, configs={"min.insync.replicas": "2"})
    if is_broken:
        turn_into(mutants.ContentLeader, trial.partition(1))
    trial.cluster.brokers[2].kill()
    await trial.until_isr(TP, 1)
    await trial.producer(records_max=3, delivery_timeout_ms=1_000).run()

    assert await trial.findings() == _expected("acks", is_broken=is_broken)


@broken_or_not
async def test_a_high_watermark_that_falls(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    await trial.producer().run()
    if is_broken:
        turn_into(mutants.FallingPartition, trial.partition(1))
    async with asyncio.TaskGroup() as group:
        writing = trial.producer(records_max=20, delivery_timeout_ms=1_000)
        group.create_task(writing.run())
        await asyncio.sleep(2)

    assert await trial.findings() == _expected("high watermark", is_broken=is_broken)


@broken_or_not
async def test_a_follower_that_leads(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2, 3)
    await trial.producer().run()
    if is_broken:
        turn_into(mutants.Usurper, trial.partition(3))
    trial.cluster.brokers[1].kill()
    await trial.until_led(TP, 2)

    findings = await trial.findings()

    assert findings == (["one leader per epoch", "states"] if is_broken else [])


@broken_or_not
async def test_a_follower_that_writes_other_bytes(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    if is_broken:
        turn_into(mutants.BitRotLog, trial.log(2))
    await trial.producer().run()

    assert await trial.findings() == _expected("logs agree", is_broken=is_broken)


@broken_or_not
async def test_a_broker_that_does_not_heed_a_failed_log_dir(is_broken: bool) -> None:
    trial = await Trial.begin(1)
    await trial.producer().run()
    log_dir = trial.log_dir(1)
    if is_broken:
        log_dir.on_failed = _ignore
    trial.cluster.faults("broker-1", log_dir.path).set_fault(DiskMode.EIO)
    await trial.producer(records_max=1, delivery_timeout_ms=1_000).run()
    assert not log_dir.is_online
    await trial.read()

    findings = await trial.findings()

    assert ("containment" in findings) == is_broken
    assert is_broken or findings == []


@broken_or_not
async def test_a_log_dir_that_waits_for_another_one(is_broken: bool) -> None:
    trial = await Trial.begin(1)
    await trial.create("beside", 1)
    beside = TP._replace(topic="beside")
    here, there = trial.log_dir(1), trial.log_dir(1, beside)
    assert here is not there
    if is_broken:
        turn_into(mutants.CoupledQueue, there.queue)
        setattr(there.queue, "other", here.queue)  # noqa: B010 -- it is none to the type checker
    async with asyncio.TaskGroup() as group:
        group.create_task(trial.producer("beside", interval_ms=500, records_max=20).run())
        await asyncio.sleep(1)
        trial.observer.fault_began("hang", [("broker-1", here.path)], "hang")
        trial.cluster.faults("broker-1", here.path).set_fault(DiskMode.HANG)
        writing = trial.producer(records_max=1, delivery_timeout_ms=1_000)
        group.create_task(writing.run())
        await asyncio.sleep(15)

    assert await trial.findings() == _expected("containment", is_broken=is_broken)


@broken_or_not
async def test_a_log_that_is_not_set_aside_after_its_move(is_broken: bool) -> None:
    trial = await Trial.begin(1)
    await trial.producer().run()
    path = trial.log_dir(1).path
    drives = trial.cluster.brokers[1].drives
    (other,) = [each for each in drives if each != path]
    if is_broken:
        turn_into(mutants.ClingingDisk, drives[path].disk)
    await trial.admin.move_replicas(1, other, [TP])
    await asyncio.sleep(2)
    assert trial.log_dir(1).path == other

    assert await trial.findings() == _expected("one log per replica", is_broken=is_broken)


@broken_or_not
async def test_a_leader_that_lets_nobody_back_into_the_isr(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    if is_broken:
        turn_into(mutants.Recluse, trial.partition(1))
    trial.cluster.brokers[2].kill()
    await asyncio.sleep(5)
    trial.cluster.brokers[2].start()

    findings = await trial.findings(heals=True, rest_s=30)

    assert findings == _expected("liveness", is_broken=is_broken)


@broken_or_not
async def test_a_leader_that_commits_nothing(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    if is_broken:
        turn_into(mutants.StuckPartition, trial.partition(1))
    await trial.producer(records_max=3, delivery_timeout_ms=1_000).run()

    findings = await trial.findings(heals=True)

    assert findings == _expected("settled", is_broken=is_broken)


@broken_or_not
async def test_a_follower_that_takes_for_committed_what_it_has_not(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    if is_broken:
        turn_into(mutants.CredulousFollower, trial.partition(2))
    await trial.producer(records_max=3).run()

    assert await trial.findings() == _expected("states", is_broken=is_broken)


@broken_or_not
async def test_a_leader_that_takes_every_batch_for_a_new_one(is_broken: bool) -> None:
    """Its answers do not arrive for a while, so that the producer sends again."""
    trial = await Trial.begin(1, 2)
    await trial.producer(records_max=2).run()
    if is_broken:
        turn_into(mutants.GullibleProducers, trial.partition(1).producers.states)
    links = trial.loop.network.links
    async with asyncio.TaskGroup() as group:
        group.create_task(trial.producer(records_max=50).run())
        await asyncio.sleep(0.3)
        cut = links.add_rule(LinkRule(source="broker-1", target="world", is_cut=True))
        await asyncio.sleep(6)
        links.remove_rule(cut)

    assert await trial.findings() == _expected("idempotence", is_broken=is_broken)


@broken_or_not
async def test_a_broker_that_answers_twice(is_broken: bool) -> None:
    trial = await Trial.begin(1)
    await trial.client.ask(1, _ASK, 3)
    if is_broken:
        for end in trial.server_ends(1, "world"):
            turn_into(mutants.StutteringTransport, end)
    await asyncio.gather(trial.client.ask(1, _ASK, 3), return_exceptions=True)

    assert await trial.findings() == _expected("answers", is_broken=is_broken)


@broken_or_not
async def test_a_broker_that_never_answers(is_broken: bool) -> None:
    trial = await Trial.begin(1)
    patient = ClusterClient(addresses_of(trial.cluster.spec), "patient", request_timeout_ms=90_000)
    await patient.ask(1, _ASK, 3)
    if is_broken:
        for end in trial.server_ends(1, "world"):
            turn_into(mutants.MuteTransport, end)
    await patient.begin(1, _ASK, 3)

    assert await trial.findings(rest_s=40) == _expected("answers", is_broken=is_broken)


@broken_or_not
async def test_a_broker_that_answers_from_an_empty_world(is_broken: bool) -> None:
    """The controller stands still while a broker starts: nobody tells it what there is."""
    trial = await Trial.begin(1, 2)
    await asyncio.sleep(1)
    broker = trial.cluster.brokers[2]
    broker.kill()
    if is_broken:
        broker.on_made = lambda made: turn_into(mutants.OpenGate, made.broker_control.client_gate)
    trial.cluster.controller.pause()
    broker.start()
    await asyncio.sleep(2)
    with suppress(OSError):
        await trial.client.view_of(2)
    trial.cluster.controller.resume()

    assert await trial.findings() == _expected("denied topics", is_broken=is_broken)


@broken_or_not
async def test_a_broker_that_forgets_topics_when_another_one_dies(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    await asyncio.sleep(1)
    await trial.client.view_of(2, ["orders"])
    if is_broken:
        turn_into(mutants.SweepingImage, trial.state(2).metadata)
    trial.cluster.brokers[3].kill()
    await asyncio.sleep(5)
    await trial.client.view_of(2, ["orders"])

    findings = await trial.findings()

    assert findings == (["denied topics", "metadata"] if is_broken else [])


@broken_or_not
async def test_a_controller_that_elects_whoever_is_left(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    controller = trial.cluster.controller.controller
    assert controller is not None
    if is_broken:
        turn_into(mutants.RashMachine, getattr(controller, "_machine"))  # noqa: B009 -- its own
    trial.cluster.brokers[2].kill()
    await trial.until_isr(TP, 1)
    trial.cluster.brokers[1].kill()
    await asyncio.sleep(5)
    trial.cluster.brokers[2].start()
    await asyncio.sleep(10)
    trial.cluster.brokers[1].start()

    assert await trial.findings() == _expected("unclean elections", is_broken=is_broken)


@broken_or_not
async def test_a_leader_that_gives_readers_what_is_not_committed(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    if is_broken:
        turn_into(mutants.GenerousFetches, trial.engine(1).fetches)
    links = trial.loop.network.links
    cut = links.add_rule(LinkRule(source="broker-1", target="broker-2", is_cut=True))
    async with asyncio.TaskGroup() as group:
        group.create_task(trial.producer(records_max=3).run())
        await trial.read(seconds=1)
        links.remove_rule(cut)

    assert await trial.findings() == _expected("reads", is_broken=is_broken)


@broken_or_not
async def test_retention_that_takes_what_is_young(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2, configs="{log.retention.check.interval.ms: '2000'}")
    engine = trial.engine(1)
    if is_broken:
        turn_into(mutants.EagerRetention, getattr(engine.periodic, "_retention"))  # noqa: B009
    await trial.producer().run()

    expected = ["durability", "retention"] if is_broken else []
    assert await trial.findings(rest_s=40) == expected  # It looks 30 s after its start first.


@broken_or_not
async def test_a_new_leader_that_has_what_was_deleted(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    await trial.producer().run()
    if is_broken:
        turn_into(mutants.DeafFollower, trial.partition(2))
        turn_into(mutants.ImpatientReplica, trial.replica(1))
    await trial.admin.delete_records(TP, 5)
    trial.cluster.brokers[1].kill()
    await trial.until_led(TP, 2)
    trial.cluster.brokers[1].start()

    # In the end broker 1 leads again, which has on disk what is deleted: the order is kept then.
    assert await trial.findings() == _expected("deleted records", is_broken=is_broken)


@broken_or_not
async def test_a_log_dir_that_takes_more_than_it_has_room_for(is_broken: bool) -> None:
    trial = await Trial.begin(1, configs="{jbodlab.log.dir.queue.depth.max: '8'}")
    log_dir = trial.log_dir(1)
    if is_broken:
        turn_into(mutants.GreedyQueue, log_dir.queue)
    slow = trial.cluster.faults("broker-1", log_dir.path)
    slow.set_fault(DiskMode.SLOW, delay_ms=500)
    async with asyncio.TaskGroup() as group:
        for _ in range(40):
            group.create_task(trial.producer(interval_ms=10, records_max=20).run())
        await asyncio.sleep(3)
        slow.clear()

    assert await trial.findings() == _expected("bounds", is_broken=is_broken)


def _ignore(_failure: LogDirFailed) -> None:
    return None
