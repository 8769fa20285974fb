"""Draws what brokers do to clients' requests while their disks, too, break.

An answer is only one that Kafka gives: a code that says that nothing was done is given before the
work, one that leaves it open, or says that it was done, may come after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from protocol.faults.model import broker_node
from protocol.faults.requests import RequestFault, RequestMode, Way, When
from simulation.core.actions import Clear, Fault
from simulation.core.dice import Dice, chosen, skewed
from simulation.core.draw_faults import FaultScope, TimedAction

NAME: Final = "request"
"""What the names of these faults begin with."""
_APIS: Final[Mapping[str, int]] = {"Produce": 4, "Fetch": 3, "ListOffsets": 1, "Metadata": 1}
"""Those that any client asks, and that a fault can be made to meet in the end."""
_REFUSED: Final[Mapping[str, tuple[str, ...]]] = {
    "Produce": ("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "KAFKA_STORAGE_ERROR"),
    "Fetch": ("NOT_LEADER_OR_FOLLOWER", "KAFKA_STORAGE_ERROR", "OFFSET_NOT_AVAILABLE"),
    "ListOffsets": ("NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"),
    "Metadata": ("LEADER_NOT_AVAILABLE",),
}
"""API -> codes with which a broker tells that it did nothing, for now."""
_DONE: Final = ("REQUEST_TIMED_OUT", "NOT_ENOUGH_REPLICAS_AFTER_APPEND")
"""Codes of a Produce whose records may stay, or do."""


def draw_requests(dice: Dice, scope: FaultScope, _rate: int) -> list[list[TimedAction]]:
    """Draw one to four faults of requests, each in a lane of its own."""
    return [_lane(dice, scope, number) for number in range(1, dice.randint(1, 4) + 1)]


def _lane(dice: Dice, scope: FaultScope, number: int) -> list[TimedAction]:
    begin_ms = dice.randint(100, max(100, scope.length_ms * 3 // 4))
    end_ms = begin_ms + skewed(dice, 100, 6_000)
    name = f"{NAME}-{number}"
    return [
        TimedAction(begin_ms, Fault(name=name, rule=_rule(dice, scope))),
        TimedAction(end_ms, Clear(name, once_met=True)),
    ]


def _rule(dice: Dice, scope: FaultScope) -> RequestFault:
    api = chosen(dice, dict(_APIS))
    fault = RequestFault(
        mode=dice.choice(tuple(_DRAWN)),
        node=broker_node(dice.choice(scope.cluster.broker_ids)),
        apis=(api,),
        from_nth=skewed(dice, 1, 20) if dice.random() < 0.3 else 1,
        times=dice.randint(1, 5) if dice.random() < 0.5 else None,
        probability=dice.choice((1.0, 0.5, 0.2)),
    )
    return _DRAWN[fault.mode](dice, fault, api)


def _error(dice: Dice, fault: RequestFault, api: str) -> RequestFault:
    if api == "Produce" and dice.random() < 0.4:
        return replace(fault, error_code=dice.choice(_DONE), when=When.AFTER)
    return replace(fault, error_code=dice.choice(_REFUSED[api]))


def _delay(dice: Dice, fault: RequestFault, api: str) -> RequestFault:
    late = replace(fault, delay_ms=skewed(dice, 1, 2_000), jitter_ms=skewed(dice, 0, 500))
    return _either_side(dice, late, api)


def _either_side(dice: Dice, fault: RequestFault, _api: str) -> RequestFault:
    return replace(fault, when=dice.choice(tuple(When)))


def _throttle(dice: Dice, fault: RequestFault, _api: str) -> RequestFault:
    return replace(fault, throttle_time_ms=skewed(dice, 1, 2_000))


def _trickle(dice: Dice, fault: RequestFault, _api: str) -> RequestFault:
    if dice.random() < 0.5:
        return replace(
            fault, bytes_per_second=skewed(dice, 500, 50_000), way=dice.choice(tuple(Way))
        )
    return replace(
        fault, slice_bytes=skewed(dice, 10, 500), slice_jitter_bytes=5, delay_ms=skewed(dice, 1, 20)
    )


def _truncate(dice: Dice, fault: RequestFault, _api: str) -> RequestFault:
    return replace(fault, capacity_bytes=skewed(dice, 0, 1_000))


_DRAWN: Final[Mapping[RequestMode, Callable[[Dice, RequestFault, str], RequestFault]]] = {
    RequestMode.ERROR: _error,
    RequestMode.DELAY: _delay,
    RequestMode.DROP: _either_side,
    RequestMode.CLOSE: _either_side,
    RequestMode.RESET: _either_side,
    RequestMode.THROTTLE: _throttle,
    RequestMode.TRICKLE: _trickle,
    RequestMode.TRUNCATE: _truncate,
    RequestMode.HOLD: _either_side,
}
"""All modes but the one that does nothing."""
