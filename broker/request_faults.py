"""The faults on clients' requests that are in force in one broker: who waits in them, what passed.

What a fault does to a request is done by ``broker.faulty_dispatch``, which asks here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final, TypeAlias

from broker.core.request_rules import RequestRule, RequestSeen
from protocol.connection import CloseConnection
from protocol.faults.requests import RequestFault, RequestMode
from protocol.transport.network_faults import NetworkFaults
from protocol.transport.paced_transport import Pace

PASSED_MAX: Final = 1_000
"""So many requests are shown by an observer, the newest."""

Passed: TypeAlias = dict[str, Any]
"""A request as people are told of it: api, version, client_id, parts, and what came of it."""


class _InForce:
    """A rule with those who wait in it."""

    def __init__(self, fault: RequestFault) -> None:
        self.waiting: dict[asyncio.Future[None], Passed] = {}
        """In the order in which they came."""
        self.passed: deque[Passed] = deque(maxlen=PASSED_MAX)
        self.pace = Pace(
            fault.bytes_per_second,
            fault.slice_bytes,
            fault.slice_jitter_bytes,
            fault.delay_ms,
        )
        """TRICKLE: of all answers that it meets."""


class RequestFaults:
    """One broker's. While there are any, requests that pass the network's go through these."""

    def __init__(self, network: NetworkFaults) -> None:
        self.chance = network.chance
        """Draws what rules leave open."""
        self._network = network
        self._in_force: dict[RequestRule, _InForce] = {}
        self._observed: dict[RequestRule, deque[Passed]] = {}

    @property
    def rules(self) -> tuple[RequestRule, ...]:
        """All that are in force, the oldest first."""
        return tuple(self._in_force)

    def add_rule(self, fault: RequestFault) -> RequestRule:
        """Put one more fault in force."""
        rule = RequestRule(fault)
        self.lay(rule)
        return rule

    def lay(self, rule: RequestRule) -> None:
        """Put a rule in force that has counted already, or not."""
        in_force = self._in_force[rule] = _InForce(rule.fault)
        if rule.fault.mode is RequestMode.OBSERVE:
            self._observed[rule] = in_force.passed
        self._network.look_behind(looks=True)

    def drop_rule(self, rule: RequestRule) -> None:
        """Take one out of force, once or again; what waits in it goes on."""
        in_force = self._in_force.pop(rule, None)
        if in_force is None:
            return
        for future in list(in_force.waiting):
            _settle(future)
        in_force.pace.end()
        if not self._in_force:
            self._network.look_behind(looks=False)

    def forget(self, rule: RequestRule) -> None:
        """Forget what passed by an observer that is over."""
        self._observed.pop(rule, None)

    def met(self, seen: RequestSeen) -> list[RequestRule]:
        """Count and return the rules that a request meets; of those that end it one alone."""
        found: list[RequestRule] = []
        is_ended = False
        for rule in self.rules:
            ends = rule.fault.mode in _ENDING
            if (not ends or not is_ended) and rule.meets(seen, self.chance.random):
                found.append(rule)
                is_ended = is_ended or ends
        return found

    async def wait(self, rule: RequestRule, shown: Passed, timeout_ms: float | None) -> None:
        """Wait until the rule ends, the time is over, or ``release`` lets this one go on."""
        in_force = self._in_force.get(rule)
        if in_force is None:
            return  # Taken off meanwhile.
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = None if timeout_ms is None else loop.call_later(timeout_ms / 1000, _settle, future)
        in_force.waiting[future] = shown
        try:
            await future
        finally:
            del in_force.waiting[future]
            if timer is not None:
                timer.cancel()

    async def drop(self, rule: RequestRule, shown: Passed) -> None:
        """Wait until the rule ends; then the connection is of no use any more.

        Raises:
            CloseConnection: then.
        """
        await self.wait(rule, shown, None)
        raise CloseConnection("what it was to be answered was dropped")

    def release(self, rule: RequestRule, count: int | None = None) -> int:
        """Let those go on that a HOLD holds, all or the first ones; return how many."""
        in_force = self._in_force.get(rule)
        held = [] if in_force is None else [each for each in in_force.waiting if not each.done()]
        chosen = held if count is None else held[:count]
        for future in chosen:
            _settle(future)
        return len(chosen)

    def held(self, rule: RequestRule) -> list[Passed]:
        """Return the requests that wait in a rule, the first one first."""
        in_force = self._in_force.get(rule)
        return [] if in_force is None else list(in_force.waiting.values())

    def note(self, rule: RequestRule, shown: Passed) -> None:
        """Remember what an observer saw."""
        passed = self._observed.get(rule)
        if passed is not None:  # Its answer may be late, and the observer forgotten.
            passed.append(shown)

    def passed(self, rule: RequestRule) -> list[Passed]:
        """Return what an observer saw, the newest ``PASSED_MAX``."""
        return list(self._observed.get(rule, ()))

    def pace(self, rule: RequestRule) -> Pace:
        """Return how an answer leaves that meets a TRICKLE; it ends with its rule."""
        in_force = self._in_force.get(rule)
        return Pace(is_over=True) if in_force is None else in_force.pace


_ENDING: Final = frozenset(
    {RequestMode.ERROR, RequestMode.DROP, RequestMode.CLOSE, RequestMode.RESET}
)
"""Modes after which there is nothing left to do to a request."""


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
