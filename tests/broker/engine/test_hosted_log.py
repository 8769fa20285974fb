"""The owner of one log: who waited finds out what changed, and nobody waits for what is over."""

from __future__ import annotations

import asyncio

import pytest

from broker.core.log_dirs import LogDirFailed
from broker.core.producers import ProducerStates
from broker.engine.hosted_log import Hold, HostedLog, Place
from broker.engine.replica import Replica
from broker.storage.checkpoints import parse_leader_epochs
from protocol.ids import ZERO_UUID, TopicPartition
from protocol.ports import Buffer
from protocol.records.batch import read_batch_header
from protocol.records.build import BatchOptions, NewRecord, build_batch
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.engine.moved import begin, filled, until_moved

OTHER = TopicPartition("other", 0)
NOW_MS = 1_700_000_000_000


async def led(lab: Lab, count: int = 3) -> Replica:
    """Return a replica with ``count`` records, each in a batch of its own."""
    await lab.create(replicas=[1])
    for number in range(count):
        await lab[1].produce(str(number))
    return lab[1].replica()


def batch(offset: int, epoch: int = 0) -> Buffer:
    return build_batch([NewRecord(b"v")], BatchOptions(base_offset=offset, leader_epoch=epoch))


def ignore(_counts: object) -> None:
    """Take what nobody wants to know."""


async def test_a_hold_is_over_before_those_who_wait_go_on() -> None:
    hold = Hold()
    hold.begin()
    waited = hold.ended
    assert waited is not None
    hold.begin()
    assert hold.ended is waited, "it goes on"
    waited.add_done_callback(lambda _: hold.begin())
    hold.end()
    assert hold.ended is None
    assert waited.done()
    await asyncio.sleep(0)
    assert hold.ended not in {None, waited}
    hold.end()
    hold.end()
    assert hold.ended is None


async def test_what_was_appended_counts_once_it_is_written(alone: Lab) -> None:
    log = (await led(alone)).log
    told: list[bool] = []
    written = log.append(
        (batch(3, 7),), 4, told.append, batches=[read_batch_header(batch(3, 7))], now_ms=NOW_MS
    )
    assert (log.positions.next_offset, log.positions.epochs.latest, told) == (4, 7, [])
    assert await written == 4
    assert told == [True]


async def test_what_was_on_its_way_when_the_log_was_cut_does_not_count(alone: Lab) -> None:
    log = (await led(alone)).log
    told: list[bool] = []
    token = log.token
    written = log.append((batch(3),), 4, told.append, now_ms=NOW_MS)
    await log.cut(1, on_producers=ignore)
    assert (written.done(), told) == (True, [False])
    assert not log.is_still(token)
    assert log.is_still(log.token)


@pytest.mark.parametrize("change", ["cut", "restart_at", "end"])
async def test_a_token_is_one_of_the_log_as_it_was(alone: Lab, change: str) -> None:
    log = (await led(alone)).log
    token = log.token
    if change == "cut":
        log.cut(1, on_producers=ignore)
    elif change == "restart_at":
        log.restart_at(9, now_ms=NOW_MS)
    else:
        log.end()
    assert not log.is_still(token)


async def test_a_log_in_another_log_dir_is_not_the_one_it_was(alone: Lab) -> None:
    node = await filled(alone)
    log = node.replica().log
    token, files = log.token, log.files
    await begin(node, node.paths[1])
    await until_moved(node, node.paths[1])
    assert node.replica().log is log
    assert (log.log_dir, log.place, log.queue) == (node.paths[1], Place.CURRENT, log.dir.queue)
    assert log.files is not files
    assert not log.is_still(token)


async def test_a_log_that_goes_on_with_other_files_has_the_topic_id_of_their_directory(
    alone: Lab,
) -> None:
    log = (await led(alone, count=0)).log
    await alone.create(OTHER, replicas=[1])
    other = alone[1].replica(OTHER).log
    assert other.topic_id != log.topic_id
    token = log.token
    log.become(other)
    assert (log.files, log.dir, log.topic_id) == (other.files, other.dir, other.topic_id)
    assert not log.is_still(token)


async def test_a_cut_log_is_writable_once_its_producers_are_known(alone: Lab) -> None:
    log = (await led(alone)).log
    found: list[ProducerStates] = []
    cut = log.cut(2, on_producers=found.append)
    unwritable = log.unwritable
    assert unwritable is not None
    await asyncio.shield(unwritable)
    assert (cut.done(), len(found), log.unwritable) == (True, 1, None)


async def test_of_two_cuts_the_last_one_says_which_producers_there_are(alone: Lab) -> None:
    log = (await led(alone)).log
    first: list[ProducerStates] = []
    second: list[ProducerStates] = []
    log.cut(2, on_producers=first.append)
    log.cut(1, on_producers=second.append)
    unwritable = log.unwritable
    assert unwritable is not None
    await asyncio.shield(unwritable)
    assert (len(first), len(second), log.unwritable) == (0, 1, None)


async def test_a_cut_that_takes_nothing_away_changes_no_producers(alone: Lab) -> None:
    log = (await led(alone)).log
    found: list[ProducerStates] = []
    assert not await log.cut(3, on_producers=found.append)
    assert (found, log.unwritable) == ([], None)


async def test_who_gives_up_waiting_for_a_cut_leaves_the_log_writable(alone: Lab) -> None:
    log = (await led(alone)).log
    alone[1].workers[log.log_dir].delay_s = 1
    log.cut(1, on_producers=ignore).cancel()
    await asyncio.sleep(5)
    assert (log.unwritable, log.files.log_end_offset) == (None, 1)


async def test_an_emptied_log_has_no_producers_to_wait_for(alone: Lab) -> None:
    log = (await led(alone)).log
    found: list[ProducerStates] = []
    log.cut(2, on_producers=found.append)
    emptied = log.restart_at(40, now_ms=NOW_MS)
    assert log.unwritable is None
    await emptied
    assert found == []
    assert (log.positions.log_start_offset, log.files.log_end_offset) == (40, 40)


async def test_a_cut_below_the_recovery_point_has_it_written_at_once(alone: Lab) -> None:
    replica = await led(alone)
    told: list[str] = []
    log = HostedLog(
        replica.log.files,
        replica.log.dir,
        replica.partition,
        place=Place.CURRENT,
        checkpoint=lambda log_dir: told.append(log_dir.path),
    )
    assert not await log.cut(2, on_producers=ignore)
    assert told == []
    await log.queue.submit("flush", log.files.flush)
    assert await log.cut(1, on_producers=ignore)
    assert told == [log.log_dir]


async def test_nobody_waits_for_ever_for_a_log_whose_disk_fails(alone: Lab) -> None:
    log = (await led(alone)).log
    told: list[bool] = []
    written = log.append((batch(3),), 4, told.append, now_ms=NOW_MS)
    log.cut(1, on_producers=ignore)
    unwritable = log.unwritable
    assert unwritable is not None
    log.dir.fail("truncate", OSError("gone"))
    await asyncio.shield(unwritable)
    assert (log.unwritable, told) == (None, [])
    assert isinstance(written.exception(), LogDirFailed)
    with pytest.raises(LogDirFailed):
        log.append((batch(3),), 4, ignore, now_ms=NOW_MS)


async def test_an_append_that_fails_by_itself_fails_its_log_dir(alone: Lab) -> None:
    """The next one would leave a gap."""
    log = (await led(alone)).log
    written = log.append((bytes(10),), 4, ignore, now_ms=NOW_MS)
    await asyncio.sleep(0.1)
    assert written.exception() is not None
    assert not log.dir.is_online


async def test_who_gives_up_waiting_for_an_append_fails_nothing(alone: Lab) -> None:
    log = (await led(alone)).log
    log.append((batch(3),), 4, ignore, now_ms=NOW_MS).cancel()
    await asyncio.sleep(0.1)
    assert log.dir.is_online


async def test_a_future_logs_jobs_go_beside_until_it_is_promoted(alone: Lab) -> None:
    node = await filled(alone)
    await begin(node, node.paths[1])
    future = node.replica().future
    assert future is not None
    log = future.log
    assert log is not None
    assert (log.place, log.queue) == (Place.FUTURE, log.dir.background_queue)
    log.place = Place.PROMOTING
    assert (log.is_future, log.is_promoting, log.queue) == (True, True, log.dir.queue)
    log.place = Place.FUTURE


async def test_a_topic_id_is_written_once_and_not_while_the_log_is_promoted(alone: Lab) -> None:
    log = (await led(alone)).log
    topic_id = bytes(range(16))
    jobs_count = log.dir.queue.jobs_count
    log.write_topic_id(ZERO_UUID)
    log.place = Place.PROMOTING
    log.write_topic_id(topic_id)
    log.place = Place.CURRENT
    assert log.dir.queue.jobs_count == jobs_count
    log.write_topic_id(topic_id)
    log.write_topic_id(topic_id)
    assert (log.topic_id, log.dir.queue.jobs_count) == (topic_id, jobs_count + 1)


async def test_a_log_start_that_rises_is_noted_with_its_epochs(alone: Lab) -> None:
    log = (await led(alone)).log
    assert log.raise_log_start(0) is None
    raised = log.raise_log_start(2)
    assert raised is not None
    await raised
    assert log.files.log_start_offset == 2


async def test_while_a_log_is_promoted_its_epochs_are_not_written_with_its_log_start(
    alone: Lab,
) -> None:
    log = (await led(alone)).log
    disk = alone[1].memory[log.log_dir]
    before = disk.read_file("orders-0/leader-epoch-checkpoint")
    log.place = Place.PROMOTING
    raised = log.raise_log_start(2)
    assert raised is not None
    await raised
    assert disk.read_file("orders-0/leader-epoch-checkpoint") == before
    assert log.files.log_start_offset == 2
    log.place = Place.CURRENT


async def test_leader_epochs_that_a_change_takes_away_are_not_in_its_directory_either(
    alone: Lab,
) -> None:
    """A crash right after it would bring them back."""
    log = (await led(alone)).log
    disk = alone[1].memory[log.log_dir]

    def written() -> list[tuple[int, int]]:
        return parse_leader_epochs(disk.read_file("orders-0/leader-epoch-checkpoint"))

    await alone.elect(ORDERS, 1, [1])
    await alone[1].produce("d")
    raised = log.raise_log_start(2)
    assert raised is not None
    await raised
    assert written() == [(0, 2), (1, 3)]
    await log.cut(3, on_producers=ignore)
    assert written() == [(0, 2)]
    await log.restart_at(9, now_ms=NOW_MS)
    assert written() == []
