"""Waiting requests are woken once, by what they wait for, and by nothing else."""

from itertools import permutations

from broker.core.delayed import DelayedFetch, DelayedProduce, FetchWaiters, ProduceWaiters
from protocol.errors import ErrorCode

NONE = ErrorCode.NONE


class Calls:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def test_a_produce_is_done_when_its_last_part_is() -> None:
    done = Calls()
    delayed = DelayedProduce(2, done)
    waiters = ProduceWaiters()
    waiters.add(10, delayed, 0)
    waiters.add(20, delayed, 1)
    waiters.reached(10, NONE)
    assert (delayed.done, done.count, len(waiters)) == (False, 0, 1)
    waiters.reached(25, NONE)
    assert (delayed.done, done.count, len(waiters)) == (True, 1, 0)
    assert delayed.codes == [NONE, NONE]


def test_an_offset_one_below_wakes_nobody() -> None:
    delayed = DelayedProduce(1, Calls())
    waiters = ProduceWaiters()
    waiters.add(10, delayed, 0)
    waiters.reached(9, NONE)
    assert not delayed.done


def test_a_duplicate_of_an_older_batch_waits_in_its_place() -> None:
    late, early = DelayedProduce(1, Calls()), DelayedProduce(1, Calls())
    waiters = ProduceWaiters()
    waiters.add(20, late, 0)
    waiters.add(10, early, 0)
    waiters.reached(10, NONE)
    assert (early.done, late.done) == (True, False)


def test_an_expired_part_keeps_its_code_when_the_offset_comes_late() -> None:
    done = Calls()
    delayed = DelayedProduce(2, done)
    waiters = ProduceWaiters()
    delayed.complete(0, NONE)
    waiters.add(10, delayed, 1)
    assert delayed.expire() == [1]
    waiters.reached(10, NONE)
    assert delayed.codes == [NONE, ErrorCode.REQUEST_TIMED_OUT]
    assert done.count == 1


def test_a_failed_partition_answers_all_its_waiters_at_once() -> None:
    delayed = DelayedProduce(2, Calls())
    waiters = ProduceWaiters()
    waiters.add(10, delayed, 0)
    waiters.add(11, delayed, 1)
    waiters.fail(ErrorCode.KAFKA_STORAGE_ERROR)
    assert delayed.codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert len(waiters) == 0


def test_a_discarded_produce_leaves_the_others_waiting() -> None:
    gone, stays = DelayedProduce(1, Calls()), DelayedProduce(1, Calls())
    waiters = ProduceWaiters()
    waiters.add(10, gone, 0)
    waiters.add(10, stays, 0)
    waiters.discard(gone)
    waiters.reached(10, NONE)
    assert (gone.done, stays.done) == (False, True)


def test_a_fetch_learns_which_parts_changed() -> None:
    woken = Calls()
    delayed = DelayedFetch(woken)
    first, second = FetchWaiters(), FetchWaiters()
    first.add(delayed, 0)
    second.add(delayed, 7)
    second.wake()
    first.wake()
    second.wake()
    assert delayed.take_changed() == [7, 0]
    assert delayed.take_changed() == []
    assert woken.count == 3


def test_a_discarded_fetch_is_not_woken() -> None:
    woken = Calls()
    delayed = DelayedFetch(woken)
    waiters = FetchWaiters()
    waiters.add(delayed, 0)
    waiters.discard(delayed)
    waiters.wake()
    assert woken.count == 0


def test_a_knock_ends_the_wait_with_nothing_changed() -> None:
    woken = Calls()
    delayed = DelayedFetch(woken)
    delayed.force_complete()
    assert woken.count == 1
    assert delayed.take_changed() == []


def test_in_whatever_order_produces_come_those_are_answered_whose_offset_is_reached() -> None:
    for order in permutations((10, 20, 20, 25, 30)):
        waiters, waiting = ProduceWaiters(), [DelayedProduce(1, Calls()) for _ in order]
        for offset, delayed in zip(order, waiting, strict=True):
            waiters.add(offset, delayed, 0)
        for reached in (9, 10, 24, 25, 29, 30):
            waiters.reached(reached, NONE)
            done = [each.done for each in waiting]
            assert done == [offset <= reached for offset in order]
            assert len(waiters) == done.count(False)


def test_a_part_that_is_settled_twice_is_settled_once() -> None:
    done = Calls()
    delayed = DelayedProduce(2, done)
    for code in (NONE, ErrorCode.KAFKA_STORAGE_ERROR):
        delayed.complete(0, code)
    assert (delayed.codes, delayed.done, done.count) == ([NONE, None], False, 0)
    assert delayed.expire() == [1]
    assert delayed.expire() == []
    assert (delayed.done, done.count) == (True, 1)


def test_a_fetch_that_is_woken_was_not_forced() -> None:
    delayed = DelayedFetch(Calls())
    waiters = FetchWaiters()
    waiters.add(delayed, 3)
    waiters.discard(DelayedFetch(Calls()))
    waiters.wake()
    assert (delayed.is_force_completed, delayed.take_changed(), len(waiters)) == (False, [3], 1)
    delayed.force_complete()
    assert delayed.is_force_completed
