"""Answers a large request in pieces, so that nobody else waits for more than a step of it.

It is decoded in steps, handled piece by piece, and its answer is encoded in steps. Between two of
them whatever else came in has its turn, and state may change: each piece decides on its own. An API
without pieces looks after its steps itself, as Fetch does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from protocol.errors import KafkaError
from protocol.messages.fetch import FetchRequest
from protocol.pieces import (
    CUTS,
    check_values,
    check_whole,
    pieces_of,
    put_together,
    shorten,
)
from protocol.ports import Buffer
from protocol.transport.turns import Turns, arrays_of_structs
from protocol.wire.fast import Codec
from protocol.wire.table import arrays_of

CUT_OF_A_STEP: Final = 8
"""Pieces; each has some hundred entries to be looked at."""
Answer = Callable[[Any], Awaitable[Any]]
"""Answers one piece, errors included: a response, a ``Begun`` or None."""
Refuse = Callable[[Any, KafkaError], Any]
"""Returns the response that tells of a piece why it is refused."""


class Begun(NamedTuple):
    """A response that takes a while: the connection's next request may be begun meanwhile."""

    ready: asyncio.Future[None]
    finish: Callable[[], Any]
    """Returns the response, once ``ready`` is done."""
    abandon: Callable[[], None]
    """Called instead when nobody will read the response."""


async def answer_in_pieces(
    request: Any, answer: Answer, refuse: Refuse, turns: Turns, *, at_once: int
) -> Any:
    """Return the whole answer, None when no piece has one.

    Args:
        request: its arrays are empty afterwards, so that what was worked off is let go of.
        answer: called for each piece, in order.
        refuse: called instead for what no piece may hold.
        turns: asked between two pieces.
        at_once: so many pieces are under way together; 1 where each is answered at once.
    """
    refusal = whole_refusal(request)
    refused: list[list[Any]] = []

    async def answer_or_refuse(piece: Any) -> Any:
        if (error := refusal or await piece_refusal(piece, turns, refused)) is None:
            return await answer(piece)
        refused.append([piece])
        return refuse(piece, error)

    try:
        return await _answer_each(request, answer_or_refuse, turns, at_once)
    finally:
        for messages in refused:  # Not before: pieces share what is not cut.
            turns.discard(messages)


async def _answer_each(request: Any, answer: Answer, turns: Turns, at_once: int) -> Any:
    if isinstance(request, FetchRequest):
        try:
            return await answer(request)
        finally:
            turns.discard([request])  # One that is refused is still whole.
    pieces = pieces_of(request)
    whole: Any = None
    begun: list[Begun] = []
    try:
        while some := await _next_pieces(pieces, at_once, turns):
            for response in await _all_of(some, answer, turns):
                if isinstance(response, Begun):
                    begun.append(response)
                else:
                    whole = _joined(whole, response)
            await turns.next()
    except BaseException:
        for one in begun:
            one.abandon()
        raise
    return _joined(whole, await _finished(begun, turns)) if begun else whole


async def _next_pieces(pieces: Iterator[Any], count: int, turns: Turns) -> list[Any]:
    some: list[Any] = []
    for piece in islice(pieces, count):
        some.append(piece)
        if len(some) % CUT_OF_A_STEP == 0:
            await turns.next()
    return some


async def decode_in_turns(message: Codec, body: Buffer, turns: Turns) -> tuple[Any, bool]:
    """Return the request in ``body`` and whether it took more than a step.

    What was made of one that is refused is freed in steps, too.

    Raises:
        Malformed: no such request is there.
    """
    made: list[Any] = []
    steps = message.decode_in_steps(body, made)
    try:
        next(steps)
    except StopIteration as end:
        return end.value, False
    try:
        with turns:
            await turns.next()
            return await turns.run(steps), True
    except BaseException:
        turns.discard(made)
        raise


def is_cut(request: Any) -> bool:
    """Tell whether a request that was decoded in one step is to be answered in pieces."""
    cut = CUTS.get(request.__class__.__name__)
    if cut is not None:
        for levels in cut.levels:
            if len(getattr(request, levels[0]) or ()) > cut.entries:
                return True
    return False


async def drop(message: Any, turns: Turns, *, is_shared: bool) -> None:
    """Let go of a message that was worked off; of one that is shared only its outermost arrays."""
    arrays = None if is_shared else arrays_of_structs
    for name in arrays_of(message.__class__):
        items: Any = getattr(message, name)
        if items.__class__ is list:
            await turns.drop(items, arrays)


async def _all_of(pieces: list[Any], answer: Answer, turns: Turns) -> list[Any]:
    if len(pieces) == 1:
        return [await answer(pieces.pop())]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_in_turn(piece, answer, turns)) for piece in pieces]
        pieces.clear()
    return [task.result() for task in tasks]


async def _in_turn(piece: Any, answer: Answer, turns: Turns) -> Any:
    await turns.next()
    return await answer(piece)


async def _finished(begun: list[Begun], turns: Turns) -> Any:
    """Wait for all that was begun; nobody reads any of it when this is cancelled."""
    whole: Any = None
    left = list(reversed(begun))
    try:
        while left:
            await left[-1].ready
            whole = _joined(whole, left.pop().finish())
            await turns.next()
    finally:
        for one in left:
            one.abandon()
    return whole


def _joined(whole: Any, response: Any) -> Any:
    if whole is None:
        return response
    if response is not None:
        put_together(whole, response)
    return whole


def whole_refusal(request: Any) -> KafkaError | None:
    """Return why a request is refused in all its pieces, None to go on."""
    try:
        check_whole(request)
    except KafkaError as error:
        return error.with_traceback(None)  # Its frames hold the request, in a cycle.
    return None


async def piece_refusal(piece: Any, turns: Turns, too_long: list[list[Any]]) -> KafkaError | None:
    """Return why a piece is refused that could not be handled in one step, None to go on.

    One that is refused is as short as what may be handled afterwards: so is its answer. Its arrays
    that were longer are added to ``too_long``.
    """
    if isinstance(piece, FetchRequest):
        return None
    try:
        await turns.run(check_values(piece))
    except KafkaError as error:
        await turns.run(shorten(piece, too_long))
        return error.with_traceback(None)  # Its frames hold what is to be freed, in a cycle.
    return None
