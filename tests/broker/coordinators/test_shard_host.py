"""One shard at run time: what is answered when, and what of it the log has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from broker.coordinators.shard_host import (
    BATCH_BYTES_WANTED,
    BATCHES_IN_FLIGHT_MAX,
)
from broker.core.coordination import (
    Answer,
    Decided,
    TransactionProducer,
    batch_size_bound,
)
from broker.core.groups.group_shard import GroupShard
from protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinators.asking import commit, until_loaded
from tests.broker.coordinators.paced_host import (
    TIMEOUT_MS,
    Ledger,
    PacedHost,
    records_of,
    turns,
)
from tests.broker.engine.lab import Lab

NONE = ErrorCode.NONE
AWAY = ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_what_is_due_is_done_in_time_although_the_request_behind_it_was_refused(
    lab: Lab,
) -> None:
    await until_loaded(lab[1])
    (host,) = lab[1].groups.hosts()
    shard, due_ms = host.shard, lab[1].engine.state.now_ms() + 50
    rung: list[int] = []

    class Due(GroupShard):
        def next_due_ms(self) -> int | None:
            return None if rung else due_ms

        def expire(self, now_ms: int, wall_ms: int) -> Decided:
            del wall_ms
            rung.append(now_ms)
            return Decided()

    def refused() -> Decided:
        shard.__class__ = Due
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
        await host.ask(lambda _shard, _waiter, _now_ms, _wall_ms: refused())
    await asyncio.sleep(0.1)
    assert rung == [due_ms]


async def test_what_is_put_off_wakes_nobody_before_its_time(lab: Lab) -> None:
    await until_loaded(lab[1])
    (host,) = lab[1].groups.hosts()
    now_ms = lab[1].engine.state.now_ms()
    due_ms = [now_ms + 50, now_ms + 100]
    rung: list[int] = []

    class Due(GroupShard):
        def next_due_ms(self) -> int | None:
            return due_ms[0]

        def expire(self, now_ms: int, wall_ms: int) -> Decided:
            del wall_ms
            rung.append(now_ms)
            due_ms[0] = now_ms + 1_000_000
            return Decided()

    host.shard.__class__ = Due
    for _ in range(2):
        await host.ask(lambda _shard, waiter, _now, _wall: Decided((), [Answer(waiter, NONE)]))
        due_ms[0] = now_ms + 100
    await asyncio.sleep(0.2)
    assert rung == [now_ms + 100]


async def test_who_waits_when_the_broker_ends_is_told_to_look_elsewhere(lab: Lab) -> None:
    await until_loaded(lab[1])
    lab[2].is_reachable = lab[3].is_reachable = False
    waiting = lab.begin(commit(lab[1], 6))
    await asyncio.sleep(0.1)
    lab[1].groups.stop()
    assert await waiting is AWAY
    assert await commit(lab[1], 7) is ErrorCode.NOT_COORDINATOR


# What is answered when.


@pytest.fixture
async def paced(lab: Lab) -> AsyncIterator[PacedHost]:
    paced = PacedHost(lab[1])
    paced.host.begin(lab.group, leader_epoch=1)
    await turns()
    yield paced
    paced.host.end()


async def test_answers_come_in_the_order_of_decisions_whichever_batch_is_there_first(
    lab: Lab, paced: PacedHost
) -> None:
    first = lab.begin(paced.ask("first", 60_000))
    second = lab.begin(paced.ask("second", 60_000, effects=["late"]))
    nothing = lab.begin(paced.ask("third"))
    await turns()
    assert paced.log.counts() == [1, 1]
    await paced.log.settle(1)
    assert not any(asked.done() for asked in (first, second, nothing))
    assert paced.effects == []
    await paced.log.settle(0)
    assert [await first, await second, await nothing] == ["first", "second", "third"]
    assert paced.effects == ["late"]


async def test_what_writes_nothing_is_answered_and_done_at_once_where_nothing_waits(
    paced: PacedHost,
) -> None:
    assert await paced.ask("told", effects=["done"]) == "told"
    assert (paced.effects, paced.log.batches) == (["done"], [])


async def test_decisions_of_one_moment_share_a_batch_while_they_fit_into_it(
    lab: Lab, paced: PacedHost
) -> None:
    sizes = [100, 200, 300]
    paced.log.bytes_max = sum(batch_size_bound(records_of(size)) for size in sizes)
    begun = [lab.begin(paced.ask(size, size)) for size in (*sizes, 100)]
    await turns()
    assert paced.log.counts() == [3, 1]
    await paced.log.settle(0)
    assert [asked.done() for asked in begun] == [True, True, True, False]
    await paced.log.settle(1)
    assert [await asked for asked in begun] == [*sizes, 100]


async def test_batches_are_no_larger_than_what_is_wanted_though_the_log_took_more(
    lab: Lab, paced: PacedHost
) -> None:
    begun = [lab.begin(paced.ask(number, BATCH_BYTES_WANTED // 3)) for number in range(4)]
    await turns()
    assert paced.log.counts() == [2, 2]
    for number in range(2):
        await paced.log.settle(number)
    assert [await asked for asked in begun] == list(range(4))


async def test_records_of_a_transaction_are_in_a_batch_of_its_own(
    lab: Lab, paced: PacedHost
) -> None:
    producer = TransactionProducer(7, 0)
    for number, of in enumerate([None, producer, producer, None]):
        lab.begin(paced.ask(number, 10, producer=of))
    await turns()
    written = [(len(records), of) for records, of in paced.log.batches]
    assert written == [(1, None), (2, producer), (1, None)]


async def test_nothing_follows_what_is_refused_though_that_is_not_its_turn_yet(
    lab: Lab, paced: PacedHost
) -> None:
    begun = [lab.begin(paced.ask(number, BATCH_BYTES_WANTED)) for number in range(2)]
    await turns()
    await paced.log.settle(1, ErrorCode.MESSAGE_TOO_LARGE)
    begun.append(lab.begin(paced.ask("decided on it", BATCH_BYTES_WANTED)))
    await turns()
    assert len(paced.log.batches) == 2
    await paced.log.settle(0)
    assert [await asked for asked in begun] == [0, *[ErrorCode.UNKNOWN_SERVER_ERROR] * 2]
    assert len(paced.log.batches) == 2


@pytest.mark.parametrize("code", [NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND])
async def test_what_the_log_has_may_be_followed_though_it_is_not_its_turn_yet(
    lab: Lab, paced: PacedHost, code: ErrorCode
) -> None:
    for number in range(2):
        lab.begin(paced.ask(number, BATCH_BYTES_WANTED))
    await turns()
    await paced.log.settle(1, code)
    lab.begin(paced.ask("follows", BATCH_BYTES_WANTED))
    await turns()
    assert len(paced.log.batches) == 3


async def test_what_may_be_cut_is_answered_when_the_last_batch_is_there(
    lab: Lab, paced: PacedHost
) -> None:
    sizes = [BATCH_BYTES_WANTED // 3] * 3
    asked = lab.begin(paced.ask("all", *sizes, is_atomic=False, effects=["done"]))
    await turns()
    assert paced.log.counts() == [2, 1]
    await paced.log.settle(0)
    assert not asked.done()
    assert paced.effects == []
    await paced.log.settle(1)
    assert await asked == "all"
    assert paced.effects == ["done"]


async def test_one_decision_is_one_batch_however_large(lab: Lab, paced: PacedHost) -> None:
    asked = lab.begin(paced.ask("all", *[BATCH_BYTES_WANTED // 3] * 5))
    await turns()
    assert paced.log.counts() == [5]
    await paced.log.settle(0)
    assert await asked == "all"


async def test_no_more_batches_are_on_their_way_than_may_be(lab: Lab, paced: PacedHost) -> None:
    for number in range(BATCHES_IN_FLIGHT_MAX + 2):
        lab.begin(paced.ask(number, BATCH_BYTES_WANTED))
    await turns()
    assert len(paced.log.batches) == BATCHES_IN_FLIGHT_MAX
    await paced.log.settle(0)
    assert len(paced.log.batches) == BATCHES_IN_FLIGHT_MAX + 1


async def test_who_waits_too_long_is_told_so_and_what_it_asked_for_counts_later(
    lab: Lab,
) -> None:
    paced = PacedHost(lab[1], unavailable=ErrorCode.REQUEST_TIMED_OUT)
    paced.host.begin(lab.group, leader_epoch=1)
    await turns()
    asked = lab.begin(paced.ask("late", 10, effects=["done"]))
    await asyncio.sleep((TIMEOUT_MS - 1) / 1000)
    assert not asked.done()
    await asyncio.sleep(0.002)
    assert await asked is ErrorCode.REQUEST_TIMED_OUT
    await paced.log.settle(0)
    assert paced.effects == ["done"]
    paced.host.end()


async def test_who_asks_no_more_is_answered_nothing_and_others_are(
    lab: Lab, paced: PacedHost
) -> None:
    gone = lab.begin(paced.ask("gone", 10))
    stays = lab.begin(paced.ask("stays", 10))
    await turns()
    gone.cancel()
    await turns()
    await paced.log.settle(0)
    assert await stays == "stays"
    assert await paced.ask("later") == "later"
    assert len(paced.log.loads) == 1


@pytest.mark.parametrize("effects", [[], ["markers"]])
async def test_records_that_lack_replicas_are_there_and_what_was_to_follow_is_not_forgotten(
    lab: Lab, paced: PacedHost, effects: list[str]
) -> None:
    ledger = paced.ledger
    asked = lab.begin(paced.ask("told", 10, effects=effects))
    await turns()
    await paced.log.settle(0, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert await asked is AWAY
    assert paced.effects == []
    assert (paced.ledger is ledger) is not effects
    assert paced.host.is_loaded


async def test_of_a_shard_that_is_dropped_all_that_wait_are_told_why_or_its_last_words(
    lab: Lab, paced: PacedHost
) -> None:
    ledger = paced.ledger

    def waits(_ledger: Ledger, waiter: int, _now_ms: int, _wall_ms: int) -> Decided:
        ledger.last_words = [Answer(waiter, "farewell")]
        return Decided()

    silent = lab.begin(paced.told(waits))
    begun = [lab.begin(paced.ask(number, BATCH_BYTES_WANTED)) for number in range(3)]
    await turns()
    paced.log.may_append.clear()
    begun.append(lab.begin(paced.ask("written just now", BATCH_BYTES_WANTED)))
    begun.append(lab.begin(paced.ask("unwritten", BATCH_BYTES_WANTED)))
    await turns()
    await paced.log.settle(0)
    assert await begun[0] == 0
    await paced.log.settle(1, ErrorCode.KAFKA_STORAGE_ERROR)
    assert {await asked for asked in begun[1:]} == {ErrorCode.NOT_COORDINATOR}
    assert await silent == "farewell"
    assert ledger.unloaded_with is ErrorCode.NOT_COORDINATOR
    assert await paced.ask("early") is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    paced.log.may_append.set()
    await turns()
    assert paced.log.counts() == [1, 1, 1, 1]
    assert paced.ledger is not ledger
    assert (paced.host.holds(paced.ledger), paced.host.holds(ledger)) == (True, False)
    assert await paced.ask("again") == "again"


async def test_after_a_defect_the_shard_is_loaded_anew(lab: Lab, paced: PacedHost) -> None:
    paced.log.defect = RuntimeError("a defect")
    ledger = paced.ledger
    assert await paced.ask("told", 10) is AWAY
    await turns()
    assert await paced.ask("again") == "again"
    assert paced.ledger is not ledger


async def test_a_shard_answers_nothing_before_what_it_loaded_is_replicated(lab: Lab) -> None:
    paced = PacedHost(lab[1])
    paced.log.is_loaded_at_once = False
    paced.host.begin(lab.group, leader_epoch=1)
    assert await paced.ask("early") is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    await turns()
    asked = lab.begin(paced.ask("told"))
    await turns()
    assert not asked.done()
    paced.log.loads[0].delayed.complete(0, NONE)
    assert await asked == "told"
    paced.host.end()


async def test_nothing_is_tried_for_sure_where_the_log_takes_nothing(
    lab: Lab, paced: PacedHost
) -> None:
    paced.log.refused_with = ErrorCode.NOT_ENOUGH_REPLICAS
    assert not paced.host.takes_records
    assert await paced.ask("written", 10, writes=True) is AWAY
    assert await paced.ask("only told") == "only told"
    assert paced.log.batches == []
    paced.log.refused_with = NONE
    assert paced.host.takes_records
    lab.begin(paced.ask("written", 10, writes=True))
    await turns()
    assert paced.log.counts() == [1]


async def test_a_later_leader_epoch_finds_the_shard_as_it_is_and_an_earlier_one_too(
    lab: Lab, paced: PacedHost
) -> None:
    for leader_epoch in (3, 2):
        paced.host.begin(lab.group, leader_epoch)
        await turns()
        assert paced.host.leader_epoch == 3
    assert (len(paced.ledgers), paced.host.is_unreadable) == (1, False)


async def test_a_log_that_cannot_be_read_has_no_coordinator_until_somebody_leads_anew(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    paced = PacedHost(lab[1])
    paced.log.unreadable = KafkaError(ErrorCode.CORRUPT_MESSAGE, "damaged")
    for leader_epoch, is_unreadable in ((3, True), (3, True), (4, False)):
        paced.host.begin(lab.group, leader_epoch)
        await turns()
        assert paced.host.is_unreadable is is_unreadable
        told = await paced.ask("told")
        assert told == (ErrorCode.NOT_COORDINATOR if is_unreadable else "told")
        paced.log.unreadable = None
    assert any("cannot be loaded: CORRUPT" in line for line in caplog.messages)
    paced.host.end()


# Time.


async def test_what_is_due_is_done_and_written(lab: Lab, paced: PacedHost) -> None:
    ledger = paced.ledger
    ledger.due_ms, ledger.expired = paced.now_ms() + 50, Decided(records_of(10), effects=["done"])
    await paced.ask("told")
    await asyncio.sleep(0.049)
    assert ledger.rung == []
    await asyncio.sleep(0.002)
    assert len(ledger.rung) == 1
    await paced.log.settle(0)
    assert paced.effects == ["done"]
    ledger.due_ms = paced.now_ms() - 1
    await paced.ask("told")
    await asyncio.sleep(0.001)
    assert len(ledger.rung) == 2


async def test_what_is_due_no_more_and_what_was_of_a_dropped_shard_wakes_nobody(
    lab: Lab, paced: PacedHost
) -> None:
    first = paced.ledger
    first.due_ms = paced.now_ms() + 50
    await paced.ask("told")
    first.due_ms = None
    await paced.ask("told")
    await asyncio.sleep(0.1)
    first.due_ms = paced.now_ms() + 50
    lab.begin(paced.ask("told", 10))
    await turns()
    await paced.log.settle(0, ErrorCode.KAFKA_STORAGE_ERROR)
    await asyncio.sleep(0.1)
    assert first.rung == paced.ledger.rung == []
