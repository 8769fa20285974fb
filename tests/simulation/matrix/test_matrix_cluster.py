"""The words of stories do what they say, on a cluster that nothing happens to."""

from __future__ import annotations

from protocol.configs.names import MOVE_RATE
from simulation.matrix.matrix_cluster import ORDERS, PATHS, SECOND, MatrixCluster
from simulation.world.journal_disk import JOURNAL_FILE


async def test_records_are_remembered_as_they_are_acknowledged(cluster: MatrixCluster) -> None:
    assert await cluster.create()
    await cluster.produce(3)
    model = cluster.models[ORDERS]
    assert list(model.acknowledged) == [0, 1, 2]
    assert list(model.sent) == list(model.acknowledged.values())


async def test_a_move_ends_in_the_other_log_dir(cluster: MatrixCluster) -> None:
    await cluster.create()
    await cluster.produce(4)
    target = cluster.other_path()
    await cluster.move(target)
    await cluster.moves_end()
    assert cluster.path_of() == target
    assert cluster.future_logs() == []


async def test_a_slow_move_stays_under_way(cluster: MatrixCluster) -> None:
    await cluster.create()
    await cluster.produce(14)
    await cluster.slow_moves()
    before = cluster.path_of()
    await cluster.move(cluster.other_path())
    await cluster.rest(1500)
    assert cluster.path_of() == before
    assert len(cluster.future_logs()) == 1


async def test_deleted_records_and_topics_are_promised_no_more(cluster: MatrixCluster) -> None:
    await cluster.create()
    await cluster.create(SECOND)
    await cluster.produce(3)
    await cluster.delete_records(-1)
    assert cluster.models[ORDERS].kept_from == 3
    assert await cluster.delete()
    assert cluster.models[ORDERS].is_deleted
    assert not cluster.models[ORDERS].sent


async def test_a_reassignment_brings_a_replica_to_the_log_dir_that_was_ordered(
    cluster: MatrixCluster,
) -> None:
    await cluster.create(replicas=(2, 3))
    await cluster.move(PATHS[2])
    await cluster.reassign((1, 2))
    await cluster.reassigned((1, 2))
    assert cluster.path_of() == PATHS[2]


async def test_a_log_dir_is_replaced_by_an_empty_one(cluster: MatrixCluster) -> None:
    await cluster.create()
    await cluster.produce(2)
    path = cluster.path_of()
    before = cluster.victim.drives[path].disk
    await cluster.replace(path)
    await cluster.reassigned((1, 2, 3))
    assert cluster.victim.drives[path].disk is not before
    assert cluster.path_of() == path


async def test_the_broker_starts_again(cluster: MatrixCluster) -> None:
    await cluster.restart()
    assert cluster.victim.starts_count == 2
    assert cluster.sim.is_up()


async def test_a_log_dir_fails_and_comes_back_while_its_broker_lives(
    cluster: MatrixCluster,
) -> None:
    await cluster.create()
    path = cluster.path_of()
    await cluster.fail(path)
    await cluster.produce(1)
    await cluster.bring_back(path)
    await cluster.reassigned((1, 2, 3))
    assert cluster.failed == {}
    assert cluster.has_returned
    assert cluster.subject.starts_count == 1


async def test_new_replicas_keep_away_from_a_cordoned_log_dir(cluster: MatrixCluster) -> None:
    await cluster.cordon(PATHS[0])
    assert await cluster.create()
    assert cluster.models[ORDERS].shuns == PATHS[0] != cluster.path_of()
    await cluster.cordon("")
    await cluster.create(SECOND)
    assert cluster.models[SECOND].shuns == ""


async def test_a_controller_starts_over_half_a_line(cluster: MatrixCluster) -> None:
    await cluster.create()
    cluster.tear_journal()
    assert not cluster.sim.controller.is_running
    await cluster.start_controller()
    assert await cluster.create(SECOND)
    assert cluster.sim.controller.starts_count == 2


async def test_the_journal_is_compacted_in_the_middle_of_stories(cluster: MatrixCluster) -> None:
    for _ in range(4):
        await cluster.create()
        await cluster.delete()
    (drive,) = cluster.sim.controller.drives.values()
    first_line = drive.disk.memory.read_file(JOURNAL_FILE).partition(b"\n")[0]
    assert b'"TopicDeleted"' not in first_line
    assert first_line.count(b"BrokerRegistered") == 3, "a snapshot"


async def test_what_a_story_left_broken_is_repaired(cluster: MatrixCluster) -> None:
    await cluster.create()
    await cluster.slow_moves()
    path = cluster.path_of()
    await cluster.fail(path)
    cluster.sim.brokers[3].kill()
    await cluster.repair()
    await cluster.reassigned((1, 2, 3))
    assert cluster.sim.is_up()
    assert cluster.settings == {MOVE_RATE: None}
    assert cluster.failed == {}


async def test_a_move_from_a_failed_disk_is_not_waited_for(cluster: MatrixCluster) -> None:
    await cluster.create()
    await cluster.produce(14)
    await cluster.slow_moves()
    await cluster.move(cluster.other_path())
    await cluster.rest(500)
    assert len(cluster.future_logs()) == 1
    await cluster.fail(cluster.path_of())
    assert cluster.future_logs() == []
