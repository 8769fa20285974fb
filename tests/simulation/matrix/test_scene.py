"""The words of stories do what they say, on a cluster that nothing happens to."""

from __future__ import annotations

from simulation.matrix.scene import MOVE_RATE, ORDERS, PATHS, SECOND, Scene
from simulation.world.journal_disk import JOURNAL_FILE


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


async def test_a_log_dir_fails_and_comes_back_while_its_broker_lives(scene: Scene) -> None:
    await scene.create()
    path = scene.path_of()
    await scene.fail(path)
    await scene.produce(1)
    await scene.bring_back(path)
    await scene.reassigned((1, 2, 3))
    assert scene.failed == {}
    assert scene.has_returned
    assert scene.subject.starts_count == 1


async def test_new_replicas_keep_away_from_a_cordoned_log_dir(scene: Scene) -> None:
    await scene.cordon(PATHS[0])
    assert await scene.create()
    assert scene.promises[ORDERS].shuns == PATHS[0] != scene.path_of()
    await scene.cordon("")
    await scene.create(SECOND)
    assert scene.promises[SECOND].shuns == ""


async def test_a_controller_starts_over_half_a_line(scene: Scene) -> None:
    await scene.create()
    scene.tear_journal()
    assert not scene.cluster.controller.is_running
    await scene.start_controller()
    assert await scene.create(SECOND)
    assert scene.cluster.controller.starts_count == 2


async def test_the_journal_is_compacted_in_the_middle_of_stories(scene: Scene) -> None:
    for _ in range(4):
        await scene.create()
        await scene.delete()
    (drive,) = scene.cluster.controller.drives.values()
    first_line = drive.disk.memory.read_file(JOURNAL_FILE).partition(b"\n")[0]
    assert b'"TopicDeleted"' not in first_line
    assert first_line.count(b"BrokerRegistered") == 3, "a snapshot"


async def test_what_a_story_left_broken_is_repaired(scene: Scene) -> None:
    await scene.create()
    await scene.slow_moves()
    path = scene.path_of()
    await scene.fail(path)
    scene.cluster.brokers[3].kill()
    await scene.repair()
    await scene.reassigned((1, 2, 3))
    assert scene.cluster.is_up()
    assert scene.settings == {MOVE_RATE: None}
    assert scene.failed == {}


async def test_a_move_from_a_failed_disk_is_not_waited_for(scene: Scene) -> None:
    await scene.create()
    await scene.produce(14)
    await scene.slow_moves()
    await scene.move(scene.other_path())
    await scene.rest(500)
    assert len(scene.future_logs()) == 1
    await scene.fail(scene.path_of())
    assert scene.future_logs() == []
