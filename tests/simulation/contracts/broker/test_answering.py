"""What the contracts of answers to producers, and about offsets, say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.delayed import DelayedProduce
from broker.engine.serve.fetch import Fetches
from broker.engine.serve.offsets import Offsets
from broker.engine.serve.produce import BegunProduce, Produces
from broker.engine.types import EpochAnswer, FetchParams, ListedOffset, ProducePart, ProduceResult
from broker.handlers import list_offsets, offset_for_leader_epoch
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from tests.broker.engine.lab import Lab
from tests.broker.engine.messages import ORDERS
from tests.broker.storage.builders import batch
from tests.simulation.contracts.broker.lab_story import Story, told
from tests.simulation.contracts.wrong_rules import answers, told_of

TP: Final = TopicPartition("orders", 0)


def state_of(**positions: int) -> Any:
    """The state of an engine that leads one partition in epoch 4."""
    partition = SimpleNamespace(leader_epoch=4, log_start_offset=0, **positions)
    replica = SimpleNamespace(tp=TP, leader_epoch=4, partition=partition, is_ended=False)
    return SimpleNamespace(hosted=SimpleNamespace(online_replica=answers(replica)))


def settles(_: object, __: object, index: int, ___: int, delayed: DelayedProduce) -> ProduceResult:
    delayed.complete(index, ErrorCode.NONE)
    return ProduceResult(base_offset=5)


def told_appended(acks: int, *, end: int, committed: int) -> list[str]:
    """Return what is told when one record at offset 5 is answered at once."""
    produces: Any = object.__new__(Produces)
    produces._state = state_of(log_end_offset=end, high_watermark=committed)
    part = ProducePart(TP, memoryview(batch(0)))
    delayed = DelayedProduce(1, lambda: None)
    return told_of(settles, "Produces._append", lambda: produces._append(part, 0, acks, delayed))


def test_what_is_answered_at_once_is_where_acks_wants_it() -> None:
    assert not told_appended(-1, end=6, committed=6)
    assert told_appended(-1, end=6, committed=5)
    assert not told_appended(1, end=6, committed=5)
    assert told_appended(1, end=5, committed=5)
    assert not told_appended(0, end=5, committed=5)


async def lists(*_: object, **__: object) -> ListedOffset:
    return ListedOffset(ErrorCode.NONE, offset=8)


def told_listed(epoch: int, isolation_level: int = 0, replica_id: int = -1) -> list[str]:
    """Return what is told when offset 8 is listed; 9 are committed, 7 stable."""
    offsets: Any = object.__new__(Offsets)
    offsets.state = state_of(high_watermark=9, last_stable_offset=7)

    def use() -> None:
        asyncio.run(
            offsets.list_offsets(
                TP,
                5,
                current_leader_epoch=epoch,
                isolation_level=isolation_level,
                replica_id=replica_id,
            )
        )

    return told_of(lists, "Offsets.list_offsets", use)


def test_offsets_are_told_as_far_as_who_asks_may_read_and_in_its_epoch() -> None:
    assert not told_listed(4)
    assert not told_listed(-1)
    assert told_listed(3)
    assert told_listed(4, isolation_level=1)
    assert not told_listed(4, isolation_level=1, replica_id=2)


def context() -> Any:
    offsets: Any = object.__new__(Offsets)
    offsets.state = state_of()
    return SimpleNamespace(offsets=offsets)


def told_asked(epoch: int) -> list[str]:
    asked: Any = SimpleNamespace(current_leader_epoch=epoch)
    request: Any = SimpleNamespace(replica_id=2)

    def use() -> None:
        asyncio.run(list_offsets._ask(context(), request, TP, asked))

    return told_of(lists, "list_offsets._ask", use)


def test_who_asks_for_offsets_in_another_epoch_is_not_answered() -> None:
    assert not told_asked(4)
    assert not told_asked(-1)
    assert told_asked(3)


def told_of_an_end(epoch: int) -> list[str]:
    asked: Any = SimpleNamespace(partition=0, current_leader_epoch=epoch)

    def use() -> None:
        offset_for_leader_epoch._answer(context(), 2, "orders", asked)

    told = answers(EpochAnswer(ErrorCode.NONE, 3, 8))
    return told_of(told, "offset_for_leader_epoch._answer", use)


def test_who_asks_for_the_end_of_an_epoch_in_another_one_is_not_answered() -> None:
    assert not told_of_an_end(4)
    assert told_of_an_end(3)


@pytest.mark.parametrize(
    ("replica_id", "leader_only", "is_told"),
    [(2, True, False), (2, False, True), (-1, False, False)],
)
def test_who_replicates_fetches_from_the_leader(
    replica_id: int, *, leader_only: bool, is_told: bool
) -> None:
    async def nothing(*_: object) -> list[object]:
        return []

    fetches: Any = object.__new__(Fetches)
    params = FetchParams(replica_id, 0, 1, 1, leader_only=leader_only)
    told = told_of(nothing, "Fetches.fetch", lambda: asyncio.run(fetches.fetch(params, [])))
    assert bool(told) is is_told


APPEND: Final = Produces._append
RESULTS: Final = BegunProduce.results


async def waits_for_its_disk(lab: Lab) -> None:
    lab[1].workers[await lab[1].dir_of() or ""].hangs = True
    lab.begin(lab[1].produce("b", acks=1))
    await asyncio.sleep(1)


async def finds_no_room(lab: Lab) -> None:
    lab[1].replica().log.swapping.begin()
    produce = lab.begin(lab[1].produce("b", acks=1))
    await asyncio.sleep(1)
    lab[1].replica().log.swapping.end()
    await produce


async def is_given_up(lab: Lab) -> None:
    """A partition that nobody replicates is written to with acks=all."""
    lab.led[ORDERS].replicas, lab.led[ORDERS].isr = [1, 9], [1, 9]
    lab.led[ORDERS].leader_epoch += 1
    await lab.tell(ORDERS, to=[1])
    await lab[1].produce("b", timeout_ms=100)


def forgets_to_wait(produces: Any, part: ProducePart, *asked: Any) -> ProduceResult:
    result = APPEND(produces, part, *asked)
    produces._state.hosted.online_replica(part.tp).written.discard(asked[2])
    return result


def keeps_waiting(begun: Any) -> list[ProduceResult]:
    told_now = RESULTS(begun)
    begun._state.hosted.online_replica(ORDERS).replicated.add(99, begun.delayed, 0)
    return told_now


async def is_ready_at_once(*_: object) -> None:
    return None


WRONG_PRODUCES: Final[list[tuple[str, Callable[..., object], Story]]] = [
    ("Produces._append", forgets_to_wait, waits_for_its_disk),
    ("Produces._until_ready", is_ready_at_once, finds_no_room),
    ("BegunProduce.results", answers([ProduceResult()]), is_given_up),
    ("BegunProduce.results", keeps_waiting, is_given_up),
]


@pytest.mark.parametrize(("rule", "wrong", "story"), WRONG_PRODUCES)
def test_a_wrong_rule_of_produces_is_told_and_the_right_one_is_not(
    rule: str, wrong: Callable[..., object], story: Story
) -> None:
    assert not told(None, rule, story)
    assert told(wrong, rule, story)[0].startswith(f"{rule} breaks its promise")
