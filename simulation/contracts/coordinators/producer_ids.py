"""What is promised of producer ids: no two producers of a cluster ever have the same.

Source: RPCProducerIdManager, ProducerIdControlManager; KIP-730.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Final

from broker.context import Context
from broker.handlers import init_producer_id
from broker.lifecycle.journal_knowledge import JournalKnowledge
from broker.lifecycle.producer_ids import ProducerIds
from protocol.errors import ErrorCode
from protocol.ids import NO_PRODUCER_ID
from protocol.messages.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from simulation.contracts.contract import Broken, OfRun, of_function, of_method

_given: Final[OfRun[asyncio.AbstractEventLoop, dict[int, None]]] = OfRun()
"""All that were given in a world, by whichever broker and in whichever life of it."""


@of_method(ProducerIds, "next_producer_id")
def next_producer_id(ids: ProducerIds) -> Generator[None, int, Broken]:
    """A producer id is given once, whatever became of the broker, or of the controller's journal.

    Of two producers with one id each would have what it writes taken for the other's.
    """
    del ids
    producer_id = yield
    given = _given.setdefault(asyncio.get_running_loop(), {})
    if producer_id in given or producer_id < 0:
        return f"{producer_id} is given again, of {len(given)}"
    given[producer_id] = None
    return None


@of_method(ProducerIds, "_allocate")
def allocate(ids: ProducerIds) -> Generator[None, None, Broken]:
    """A broker tells of a block, whatever becomes of the journal, before it gives an id of it."""
    yield
    end = ids._next + ids._left_count  # noqa: SLF001 -- nothing public has it
    keeper = getattr(ids._keep, "__self__", None)  # noqa: SLF001 -- as above
    if not isinstance(keeper, JournalKnowledge):
        return None
    told = keeper.report(with_replicas=False).producer_ids_end
    return f"ids up to {end} are given, and {told} is told" if told < end else None


@of_function(init_producer_id._begin)  # noqa: SLF001 -- the handler itself asks for ids without names
def begin(
    context: Context, request: InitProducerIdRequest, transactional_id: str, version: int
) -> Generator[None, InitProducerIdResponse, Broken]:
    """Who says what it has is told the epoch behind that, and nobody else goes on with that id.

    It has another id only where its own is not known any more, or has no epochs left.
    """
    del context, transactional_id, version
    answer = yield
    if answer.error_code != ErrorCode.NONE or request.producer_id == NO_PRODUCER_ID:
        return None
    told, has = answer.producer_id, request.producer_id
    epochs = answer.producer_epoch, request.producer_epoch
    is_next = epochs[0] == epochs[1] + 1 if told == has else epochs[0] == 0
    return None if is_next else f"{told} epoch {epochs[0]} is told to {has} epoch {epochs[1]}"
