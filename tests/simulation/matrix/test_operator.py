"""An operator's wishes are served by living brokers, and given up where they make no sense."""

from __future__ import annotations

from broker.lifecycle.log_dir_returns import Wish
from simulation.matrix.operator import Operator
from simulation.matrix.scene import PATHS, Scene


async def test_a_log_dir_is_asked_of_the_broker_that_has_it(scene: Scene) -> None:
    operator = Operator(scene.cluster, scene.patience)
    assert operator.host("/b2/d3") is scene.cluster.brokers[2]
    assert operator.is_online("/b2/d3")
    await scene.fail("/b2/d3")
    assert not operator.is_online("/b2/d3")
    scene.cluster.faults("broker-2", "/b2/d3").clear()
    await operator.ask(Wish("/b2/d3"))
    assert operator.is_online("/b2/d3")


async def test_a_wish_that_makes_no_sense_is_given_up_at_once(scene: Scene) -> None:
    operator = Operator(scene.cluster, scene.patience)
    before_us = scene.loop.now_us
    await operator.ask(Wish(PATHS[0]))
    assert scene.loop.now_us == before_us


async def test_nothing_works_on_a_broker_that_is_down(scene: Scene) -> None:
    operator = Operator(scene.cluster, scene.patience)
    scene.subject.kill()
    assert not operator.is_online(PATHS[0])
    await operator.ask(Wish(PATHS[0]))
    scene.subject.start()
