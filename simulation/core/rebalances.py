"""Follows the classic groups of one broker by their bytes: who waits to join, and who hears of it.

A member that asks to join waits for all others of its group, and they hear of it by what their
heartbeats are answered (REBALANCE_IN_PROGRESS). One that does not hear lets everybody wait until
its own rebalance timeout is over. Source: GroupCoordinator.scala handleHeartbeat, prepareRebalance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from struct import Struct
from typing import Final, NamedTuple

from protocol.errors import ErrorCode
from protocol.messages.groups import HeartbeatRequest, JoinGroupRequest
from protocol.wire.table import META

JOIN_GROUP: Final = 11
HEARTBEAT: Final = 12
_GAP_US: Final = 500_000
"""A member's next heartbeat comes so much later at least: what came before it was heard by then."""
HEAD: Final = Struct(">hhi")
"""API, version and correlation id, with which each request begins."""
INT16: Final = Struct(">h")
_ERROR: Final = {0: Struct(">ih"), 1: Struct(">iih")}
"""By version, the beginning of a Heartbeat's answer: correlation id, throttle time, error."""
_FLEXIBLE: Final = {
    JOIN_GROUP: META[JoinGroupRequest].flexible,
    HEARTBEAT: META[HeartbeatRequest].flexible,
}
"""By API, the versions that no client here speaks."""


class UnheardRebalance(NamedTuple):
    """A member was told twice that nothing is new, while another one waited to join its group."""

    at_us: int
    since_us: int
    """When the other one began to wait."""
    member: str
    """Its connection, for people."""
    waits: str
    """That of the other one."""
    group: str


@dataclass(slots=True)
class _Wait:
    since_us: int
    group: str
    answered_us: dict[str, int] = field(default_factory=dict[str, int])
    """Connection of another member -> when its first heartbeat since was answered."""


class Rebalances:
    """What goes on at one broker."""

    def __init__(self, hears: Callable[[str], bool], found: list[UnheardRebalance]) -> None:
        """Begin with no group.

        Args:
            hears: tells whether what was sent over a connection arrives; else nobody joins by it.
            found: where what is wrong is written down.
        """
        self._hears = hears
        self._found = found
        self._waits: dict[str, _Wait] = {}
        """By connection: it is answered in order, so that one request of it at most waits."""

    def waits(self, connection: str, group: str, at_us: int) -> None:
        """Note that a JoinGroup is the first open request of its connection."""
        self._waits[connection] = _Wait(at_us, group)

    def ended(self, connection: str) -> None:
        """Note that it was answered, or that its connection is gone."""
        self._waits.pop(connection, None)

    def nothing_new(self, connection: str, group: str, *, asked_us: int, at_us: int) -> None:
        """Take a Heartbeat that was answered without an error."""
        for waits, wait in self._waits.items():
            if wait.group != group or waits == connection or asked_us < wait.since_us:
                continue
            first_us = wait.answered_us.setdefault(connection, at_us)
            if asked_us - first_us >= _GAP_US and self._hears(waits):
                unheard = UnheardRebalance(at_us, wait.since_us, connection, waits, group)
                self._found.append(unheard)


def group_of(head: bytes, api_key: int, version: int) -> str:
    """Return the group that a JoinGroup or a Heartbeat names; "" for what else there is.

    ``head`` is the beginning of a request, without its size.
    """
    if api_key not in _FLEXIBLE or version in _FLEXIBLE[api_key]:
        return ""
    position = after_client_id(head)
    (length,) = INT16.unpack_from(head, position)
    position += INT16.size
    return head[position : position + length].decode()


def after_client_id(head: bytes) -> int:
    """Return where a request goes on behind the client id of its header."""
    (length,) = INT16.unpack_from(head, HEAD.size)
    return HEAD.size + INT16.size + max(0, length)


def is_nothing_new(head: bytes, version: int) -> bool:
    """Tell whether the answer to a Heartbeat has no error."""
    error_code = _ERROR[min(version, 1)].unpack_from(head)[-1]
    return error_code == ErrorCode.NONE
