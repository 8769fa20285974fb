"""The judge sees what is wrong: nothing that was broken by hand passes."""

from __future__ import annotations

from simulation.matrix.judge import judge
from simulation.matrix.outcome import Outcome
from simulation.matrix.scene import ORDERS, Scene


async def filled(scene: Scene) -> None:
    await scene.create()
    await scene.produce(3)


async def test_a_record_that_is_nowhere_is_lost(scene: Scene) -> None:
    await filled(scene)
    scene.promises[ORDERS].acknowledged[7] = b"never written"
    verdict = await judge(scene)
    assert verdict.outcome is Outcome.LOST
    assert "7 is missing" in verdict.reason


async def test_a_record_that_nobody_wrote_is_noticed(scene: Scene) -> None:
    await filled(scene)
    scene.promises[ORDERS].sent.pop(scene.promises[ORDERS].acknowledged[1])
    assert "1: nobody wrote" in (await judge(scene)).reason


async def test_a_topic_that_is_gone_is_lost(scene: Scene) -> None:
    await filled(scene)
    await scene.admin.delete_topic(ORDERS.topic)
    await scene.rest(1000)
    scene.promises[ORDERS].is_created = False
    assert (await judge(scene)).outcome is Outcome.RECOVERED
    scene.promises[ORDERS].is_created = True
    assert (await judge(scene)).reason == "orders-0 is gone"


async def test_a_second_current_log_is_noticed(scene: Scene) -> None:
    await filled(scene)
    scene.victim.drives[scene.other_path()].disk.memory.make_dir(str(ORDERS))
    verdict = await judge(scene)
    assert verdict.outcome is Outcome.OFFLINE
    assert "orders-0 is in" in verdict.reason


async def test_a_replica_that_differs_is_noticed(scene: Scene) -> None:
    await filled(scene)
    memory = scene.victim.drives[scene.path_of()].disk.memory
    name = f"{ORDERS}/{0:020}.log"
    memory.write_file(name, memory.read_file(name)[:-1])
    verdict = await judge(scene)
    assert verdict.outcome is Outcome.OFFLINE
    assert "logs end at" in verdict.reason


async def test_a_broker_that_does_not_start_is_refused(scene: Scene) -> None:
    await filled(scene)
    scene.victim.kill()
    for drive in scene.victim.drives.values():
        drive.disk.memory.make_dir("nobody's directory")
    scene.victim.start()
    verdict = await judge(scene)
    assert verdict.outcome is Outcome.REFUSED
    assert "nobody's directory" in verdict.reason
