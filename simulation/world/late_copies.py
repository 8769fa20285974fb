"""Lets what leaders asked of the controller arrive once more, late.

A leader that has waited for too long gives a connection up and asks by another one. What it wrote
on the first may arrive behind that, when the Isr is another one by now. Only what was done comes
again: it is of an earlier partition epoch wherever anything changed by it, and must do nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Final, TypeAlias

from protocol.errors import ErrorCode
from protocol.messages.control import AlterPartitionRequest, AlterPartitionResponse
from simulation.core.dice import skewed

_SHARE: Final = 0.3
_LATE_MS_MAX: Final = 4_000
_VERSION: Final = 3
# Any: whatever is asked of the controller, and its answer.
Ask: TypeAlias = Callable[[Any, int], Coroutine[Any, Any, Any]]
"""(request, version) -> the answer."""


class LateCopies:
    """Those of one process of the controller, in whose context all calls are made."""

    def __init__(self, ask: Ask, chance: Random) -> None:
        """``ask`` has the controller answer."""
        self._ask = ask
        self._chance = chance
        self._copies: list[AlterPartitionRequest] = []
        self._asking: dict[asyncio.Task[Any], None] = {}

    # Any: as for ``Ask``.
    def answered(self, request: Any, response: Any) -> None:
        """Draw whether a request that was answered comes again; a copy does not."""
        if not isinstance(request, AlterPartitionRequest) or not _is_done(response):
            return
        if any(each is request for each in self._copies) or self._chance.random() >= _SHARE:
            return
        self._copies.append(request)
        late_s = skewed(self._chance, 10, _LATE_MS_MAX) / 1000
        asyncio.get_running_loop().call_later(late_s, self._ask_again, request)

    def _ask_again(self, request: AlterPartitionRequest) -> None:
        asking = self._ask(request, _VERSION)
        task = asyncio.get_running_loop().create_task(asking, name="late-copy")
        self._asking[task] = None
        task.add_done_callback(lambda ended: self._asking.pop(ended, None))


def _is_done(response: AlterPartitionResponse) -> bool:
    codes = [entry.error_code for topic in response.topics for entry in topic.partitions]
    return all(code == ErrorCode.NONE for code in (response.error_code, *codes))
