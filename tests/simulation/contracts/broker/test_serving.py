"""What the contracts of a leader's engine say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.isr import IsrState
from broker.engine.move.moves import Moves
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.isr_reporter import IsrReporter
from broker.engine.types import FetchResult
from jbodlab.worlds.scenario_files import load_plan
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from simulation.contracts.broker.serving import read
from tests.simulation.contracts.broker.test_engine import KNOWS_LESS, LEADER_FAILS, is_well, told_by
from tests.simulation.contracts.wrong_rules import answers, told_of

LOOK: Final = Fetches._look  # pyright: ignore[reportPrivateUsage]
END: Final = Moves._end  # pyright: ignore[reportPrivateUsage]
DELETES: Final = "move-keeps-deleted-records-deleted"
CANCELLED: Final = "move-is-cancelled-by-an-order-to-stay"
TP: Final = TopicPartition("orders", 0)


def refuses_and_waits(fetches: Any, reading: Any, index: int, *, is_first: bool) -> FetchResult:
    result = LOOK(fetches, reading, index, is_first=is_first)
    if result.error_code is not ErrorCode.NONE:
        reading.has_news = False
    return result


def tells_an_older_end(fetches: Any, reading: Any, index: int, *, is_first: bool) -> FetchResult:
    result = LOOK(fetches, reading, index, is_first=is_first)
    result.high_watermark -= 1
    return result


def raises_it_in_memory_alone(_: Any, replica: Any, offset: int) -> None:
    replica.log.raise_log_start(offset)


def ends_and_is_not_cleaned(moves: Any, replica: Any) -> Any:
    ended = END(moves, replica)
    if ended is not None:
        moves.state.cleaning_pauses.pause(replica.tp)
    return ended


async def asks_for_nothing(reporter: Any) -> bool:
    reporter._wanted.clear()
    return True


WRONG_RULES: Final[list[tuple[str, Callable[..., object], str]]] = [
    ("Fetches._look", refuses_and_waits, LEADER_FAILS),
    ("Fetches._unregister", answers(None), LEADER_FAILS),
    ("Fetches._look", tells_an_older_end, LEADER_FAILS),
    ("Fetches._look", answers(FetchResult()), KNOWS_LESS),
    ("Produces._count", answers(None), LEADER_FAILS),
    ("IsrReporter.propose", answers(None), LEADER_FAILS),
    ("IsrReporter._report", asks_for_nothing, LEADER_FAILS),
    ("Logs.raise_log_start", raises_it_in_memory_alone, DELETES),
    ("Moves._end", answers(None), CANCELLED),
    ("Moves._end", ends_and_is_not_cleaned, CANCELLED),
]


@pytest.mark.parametrize(("rule", "wrong", "scenario"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], scenario: str
) -> None:
    assert is_well(scenario)
    assert told_by(load_plan(scenario), rule, wrong).startswith(f"{rule} breaks its promise")


class Led(SimpleNamespace):
    """A partition that takes whatever Isr it is told."""

    is_leader = True
    leader_epoch = 4

    def isr_accepted(self, *, isr: list[int], **_: object) -> tuple[object, bool]:
        self.isr = IsrState(tuple(map(BrokerId, isr)), 9)
        return None, False


def taken(asked_in: int, wrong: Callable[..., object] | None) -> list[str]:
    """Return what is told of an answer of leader epoch 4 to what was asked in an epoch."""
    reporter: Any = IsrReporter(SimpleNamespace(now_ms=int, lag_time_max_ms=int))  # pyright: ignore[reportArgumentType]
    partition = Led(isr=IsrState((BrokerId(1),), 3))
    replica = SimpleNamespace(tp=TP, partition=partition)
    sent = SimpleNamespace(replica=replica, leader_epoch=asked_in)
    answer = SimpleNamespace(error_code=0, leader_epoch=4, partition_epoch=9, isr=[1, 2])
    return told_of(wrong, "IsrReporter._take", lambda: reporter._take(sent, answer))


def takes_whatever_comes(_: object, sent: Any, answer: Any) -> bool:
    sent.replica.partition.isr_accepted(isr=answer.isr)
    return True


def test_an_answer_of_an_earlier_epoch_and_one_that_is_not_taken_are_told() -> None:
    assert not taken(4, None)
    assert not taken(3, None)
    assert taken(3, takes_whatever_comes)
    assert taken(4, answers(True))


def propose_by(reporter: IsrReporter, replica: Any) -> None:
    reporter.propose(replica)


def test_what_nobody_proposes_is_not_to_be_told() -> None:
    reporter: Any = IsrReporter(SimpleNamespace())  # pyright: ignore[reportArgumentType]
    isr = IsrState((BrokerId(1),), 3)
    for isr_now, is_told in ((isr, True), (isr.expand(BrokerId(2)), False)):
        partition = SimpleNamespace(isr=isr_now)
        replica = SimpleNamespace(tp=TP, topic_id=bytes(16), partition=partition)
        found = told_of(None, "IsrReporter.propose", partial(propose_by, reporter, replica))
        assert bool(found) is is_told


@pytest.mark.parametrize(
    ("version", "replica_id", "leader_only", "is_told"),
    [(10, -1, False, True), (10, -1, True, False), (11, -1, False, False), (12, 2, False, True)],
)
def test_who_is_old_or_follows_reads_from_leaders(
    version: int, replica_id: int, *, leader_only: bool, is_told: bool
) -> None:
    params = SimpleNamespace(leader_only=leader_only, replica_id=replica_id)
    promise = read.promise(None, params, [], version)
    next(promise)
    with pytest.raises(StopIteration) as ended:
        promise.send([])
    assert bool(ended.value.value) is is_told
