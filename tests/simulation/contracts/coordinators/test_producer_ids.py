"""What the contract of producer ids says where one is given twice."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest

from broker.core.transaction_state.shard import Initialized
from broker.handlers import init_producer_id
from broker.lifecycle.journal_knowledge import JournalKnowledge
from broker.lifecycle.producer_ids import ProducerIds
from broker.storage.journal_checkpoint import JournalCheckpoint
from protocol.errors import ErrorCode
from protocol.messages.producer_ids import InitProducerIdRequest
from tests.simulation.contracts.wrong_rules import told_of

RULE: Final = "ProducerIds.next_producer_id"


class _Blocks(ProducerIds):
    """Has a block already, as had another broker."""

    def __init__(self, first: int) -> None:
        self._turn = asyncio.Lock()
        self._next, self._left_count = first, 2


def given(*firsts: int) -> Callable[[], object]:
    async def give() -> None:
        for ids in map(_Blocks, firsts):
            await ids.next_producer_id()
            await ids.next_producer_id()

    return lambda: asyncio.run(give())


async def the_same(_ids: object) -> int:
    return 7


async def none(_ids: object) -> int:
    return -1


@pytest.mark.parametrize("wrong", [the_same, none])
def test_a_wrong_rule_is_told_and_the_right_one_is_not(wrong: Any) -> None:
    assert told_of(None, RULE, given(0)) == []
    assert told_of(wrong, RULE, given(0))


def test_a_block_that_two_brokers_have_is_told() -> None:
    assert told_of(None, RULE, given(0, 2)) == []
    assert told_of(None, RULE, given(0, 1))
    assert told_of(None, RULE, given(0)) == []


@pytest.mark.parametrize(("told_end", "is_told"), [(6, True), (7, False), (0, True)])
def test_a_block_is_told_of_before_its_ids_are_given(told_end: int, *, is_told: bool) -> None:
    knowledge = JournalKnowledge(tuple, tuple)
    knowledge.load([JournalCheckpoint(producer_ids_end=told_end)])
    ids = _Blocks(5)
    vars(ids)["_keep"] = knowledge.take_block

    async def gets(_ids: object) -> None:
        """Have the block already."""

    told = told_of(gets, "ProducerIds._allocate", lambda: asyncio.run(ids._allocate()))
    assert bool(told) is is_told


def initialized(has: tuple[int, int], *told: int) -> Callable[[], object]:
    """Have a producer that says what it has be told another id and epoch."""

    async def begin(_asked: object) -> Initialized:
        return Initialized(ErrorCode.NONE, *told)

    context: Any = SimpleNamespace(transactions=SimpleNamespace(begin=begin))
    producer_id, epoch = has
    request = InitProducerIdRequest(
        transactional_id="pay",
        transaction_timeout_ms=1,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
    return lambda: asyncio.run(init_producer_id._begin(context, request, "pay", 5))


@pytest.mark.parametrize(
    ("has", "told", "is_so"),
    [
        ((7, 3), (7, 4), True),
        ((7, 3), (7, 6), False),
        ((7, 3), (7, 3), False),
        ((7, 3), (8, 0), True),
        ((7, 3), (8, 2), False),
        ((-1, -1), (8, 2), True),
    ],
)
def test_who_says_what_it_has_is_told_the_epoch_behind_that(
    has: tuple[int, int], told: tuple[int, int], *, is_so: bool
) -> None:
    assert (told_of(None, "init_producer_id._begin", initialized(has, *told)) == []) is is_so
