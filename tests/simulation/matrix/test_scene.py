"""The words of stories do what they say, on a cluster that nothing happens to."""

from __future__ import annotations

from simulation.matrix.scene import ORDERS, PATHS, SECOND, Scene


async def test_records_are_remembered_as_they_are_acknowledged(scene: Scene) -> None:
    assert await scene.create()
    await scene.produce(3)
    promise = scene.promises[ORDERS]
    assert list(promise.acknowledged) == [0, 1, 2]
    assert list(promise.sent) == list(promise.acknowledged.values())


async def test_a_move_ends_in_the_other_log_dir(scene: Scene) -> None:
    await scene.create()
    await scene.produce(4)
    target = scene.other_path()
    await scene.move(target)
    await scene.moves_end()
    assert scene.path_of() == target
    assert scene.future_logs() == []


async def test_a_slow_move_stays_under_way(scene: Scene) -> None:
    await scene.create()
    await scene.produce(14)
    await scene.slow_moves()
    before = scene.path_of()
    await scene.move(scene.other_path())
    await scene.rest(1500)
    assert scene.path_of() == before
    assert len(scene.future_logs()) == 1


async def test_deleted_records_and_topics_are_promised_no_more(scene: Scene) -> None:
    await scene.create()
    await scene.create(SECOND)
    await scene.produce(3)
    await scene.delete_records(-1)
    assert scene.promises[ORDERS].kept_from == 3
    assert await scene.delete()
    assert scene.promises[ORDERS].is_deleted
    assert not scene.promises[ORDERS].sent


async def test_a_reassignment_brings_a_replica_to_the_log_dir_that_was_ordered(
    scene: Scene,
) -> None:
    await scene.create(replicas=(2, 3))
    await scene.move(PATHS[2])
    await scene.reassign((1, 2))
    await scene.reassigned((1, 2))
    assert scene.path_of() == PATHS[2]


async def test_a_log_dir_is_replaced_by_an_empty_one(scene: Scene) -> None:
    await scene.create()
    await scene.produce(2)
    path = scene.path_of()
    before = scene.victim.drives[path].disk
    await scene.replace(path)
    await scene.reassigned((1, 2, 3))
    assert scene.victim.drives[path].disk is not before
    assert scene.path_of() == path


async def test_the_broker_starts_again(scene: Scene) -> None:
    await scene.restart()
    assert scene.victim.starts_count == 2
    assert scene.cluster.is_up()
