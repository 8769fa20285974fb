"""What a broker heard of the journal is kept in its log dirs and reported."""

from __future__ import annotations

import asyncio

import uvloop

from broker.lifecycle.journal_knowledge import JournalKnowledge
from broker.storage.journal_checkpoint import (
    JOURNAL_CHECKPOINT,
    JournalCheckpoint,
    parse_journal_checkpoint,
)
from broker.storage.log_dir import LogDir
from broker.storage.memory_disk import MemoryDisk
from protocol.errors import ErrorCode
from protocol.messages.journal import JournalStamp, put_stamp
from protocol.messages.lifecycle import BrokerHeartbeatResponse, BrokerRegistrationResponse
from tests.broker.storage.builders import inline_log_dir

ID, OTHER = bytes([7]) * 16, bytes([8]) * 16


class Lab:
    def __init__(self, count: int = 2) -> None:
        self.disks = [MemoryDisk(f"/d{number}") for number in range(count)]
        self.log_dirs: list[LogDir] = [inline_log_dir(disk) for disk in self.disks]
        self.knowledge = JournalKnowledge(lambda: self.log_dirs, list)

    def kept(self, number: int = 0) -> JournalCheckpoint:
        return parse_journal_checkpoint(self.disks[number].read_file(JOURNAL_CHECKPOINT))


def stamped(number: int, *, epoch: int = 3, journal: bytes = ID) -> BrokerHeartbeatResponse:
    answer = BrokerHeartbeatResponse()
    put_stamp(
        answer, JournalStamp(journal_id=journal, controller_epoch=epoch, journal_number=number)
    )
    return answer


def accepted(journal: bytes, error: ErrorCode = ErrorCode.NONE) -> BrokerRegistrationResponse:
    answer = BrokerRegistrationResponse(error_code=error)
    put_stamp(answer, JournalStamp(journal_id=journal, controller_epoch=1, journal_number=1))
    return answer


async def test_the_highest_number_of_the_newest_epoch_is_reported():
    lab = Lab()
    for answer in (stamped(41), stamped(40), stamped(7, epoch=4), stamped(99, epoch=3)):
        lab.knowledge.heard(answer)
    lab.knowledge.heard(BrokerHeartbeatResponse())
    report = lab.knowledge.report(with_replicas=False)
    assert (report.controller_epoch, report.journal_number, report.topics) == (4, 7, None)
    assert lab.knowledge.report(with_replicas=True).topics == []
    lab.knowledge.write_now()


async def test_a_new_epoch_counts_once_its_controller_has_not_refused_this_broker():
    """One over a restored journal refuses who registered since, and has not heard it yet."""
    lab = Lab()
    lab.knowledge.heard(stamped(44, epoch=1))
    refusal = stamped(46, epoch=2)
    refusal.error_code = ErrorCode.STALE_BROKER_EPOCH
    lab.knowledge.heard(refusal)
    report = lab.knowledge.report(with_replicas=False)
    assert (report.controller_epoch, report.journal_number) == (1, 44)

    lab.knowledge.heard(stamped(48, epoch=2))
    report = lab.knowledge.report(with_replicas=False)
    assert (report.controller_epoch, report.journal_number) == (2, 48)
    lab.knowledge.write_now()


async def test_a_block_is_in_every_log_dir_before_it_is_used():
    lab = Lab(3)
    await lab.knowledge.take_block(2000)
    assert [lab.kept(number).producer_ids_end for number in range(3)] == [2000] * 3


async def test_a_block_is_used_with_one_log_dir_left_and_with_none():
    lab = Lab(2)
    lab.log_dirs[0].fail("test", OSError("broken"))
    await lab.knowledge.take_block(2000)
    assert lab.kept(1).producer_ids_end == 2000
    lab.log_dirs[1].fail("test", OSError("broken"))
    await lab.knowledge.take_block(3000)
    assert lab.knowledge.report(with_replicas=False).producer_ids_end == 3000


async def test_a_new_journal_counts_once_it_has_taken_this_broker_in():
    lab = Lab()
    lab.knowledge.load(
        [JournalCheckpoint(generation=1, journal_id=ID, controller_epoch=5, journal_number=90)]
    )
    lab.knowledge.heard(stamped(3, journal=OTHER))
    lab.knowledge.heard(accepted(OTHER, ErrorCode.NOT_CONTROLLER))
    assert lab.knowledge.report(with_replicas=False).journal_id == ID
    lab.knowledge.heard(accepted(OTHER))
    report = lab.knowledge.report(with_replicas=False)
    assert (report.journal_id, report.controller_epoch, report.journal_number) == (OTHER, 1, 1)
    lab.knowledge.write_now()


async def test_what_was_heard_is_on_disk_when_the_broker_ends():
    lab = Lab()
    lab.knowledge.heard(stamped(41))
    lab.knowledge.heard(stamped(42))
    lab.knowledge.write_now()
    await lab.log_dirs[0].queue.submit("behind the write", lambda: None)
    assert lab.kept().journal_number == 42


def test_two_new_epochs_in_one_turn_of_the_loop_are_written_on_every_loop():
    async def main() -> None:
        lab = Lab()
        for answer in (stamped(1, epoch=3), stamped(1, epoch=4), stamped(1, epoch=5)):
            lab.knowledge.heard(answer)
        lab.knowledge.write_now()
        await lab.log_dirs[0].queue.submit("behind the write", lambda: None)
        assert lab.kept().controller_epoch == 5

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
