"""Who waits to join a group, and who hears of it, by the bytes of the library's own requests."""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import pytest
from aiokafka.protocol.group import HeartbeatRequest_v1, JoinGroupRequest_v5

from protocol.connection import ClientConnection
from protocol.messages.groups import HeartbeatRequest, HeartbeatResponse, JoinGroupRequest
from protocol.wire.fast import codec
from simulation.core.exchanges import Exchange
from simulation.core.rebalances import (
    HEARTBEAT,
    JOIN_GROUP,
    Rebalances,
    UnheardRebalance,
    group_of,
    is_nothing_new,
)

SECOND_US = 1_000_000
REBALANCE_IN_PROGRESS = 27
MEMBER, NEWCOMER = "member to broker-1", "newcomer to broker-1"
HEARTBEAT_BYTES = HeartbeatRequest_v1("readers", 3, "m").encode()
JOIN_BYTES = JoinGroupRequest_v5("readers", 10_000, 10_000, "", "", "consumer", []).encode()


class Wire:
    """Two members at one broker."""

    def __init__(self) -> None:
        self.found: list[UnheardRebalance] = []
        self.muted: list[str] = []
        rebalances = Rebalances(lambda name: name not in self.muted, self.found)
        names = (MEMBER, NEWCOMER)
        self.exchanges = {name: Exchange(name, rebalances) for name in names}
        self._clients = {name: ClientConnection(name) for name in names}
        self._open: dict[str, list[int]] = {name: [] for name in names}

    def ask(self, name: str, at_s: float, *, body: bytes = HEARTBEAT_BYTES) -> None:
        """Send a heartbeat, or what ``body`` is."""
        api_key, version = (HEARTBEAT, 1) if body is HEARTBEAT_BYTES else (JOIN_GROUP, 5)
        frame = b"".join(self._clients[name].send_request(api_key, version, [body]))
        self._open[name].append(int.from_bytes(frame[8:12], "big"))
        self.exchanges[name].asked(frame, round(at_s * SECOND_US))

    def answer(self, name: str, at_s: float, error_code: int = 0) -> None:
        """Answer the first open request."""
        correlation_id = self._open[name].pop(0)
        head = correlation_id.to_bytes(4, "big") + bytes(4) + error_code.to_bytes(2, "big")
        frame = len(head).to_bytes(4, "big") + head
        assert self.exchanges[name].answered(frame, round(at_s * SECOND_US))[0] == []

    def beat(self, at_s: float, error_code: int = 0) -> None:
        """Let the member send a heartbeat, which is answered at once."""
        self.ask(MEMBER, at_s)
        self.answer(MEMBER, at_s + 0.01, error_code)


@pytest.fixture
def wire() -> Wire:
    return Wire()


def test_a_member_that_hears_nothing_of_who_waits_to_join_is_told(wire: Wire) -> None:
    wire.beat(0)
    wire.ask(NEWCOMER, 0.5, body=JOIN_BYTES)
    wire.beat(1)
    assert wire.found == []
    wire.beat(2)
    (found,) = wire.found
    assert found == (2_010_000, 500_000, MEMBER, NEWCOMER, "readers")


def test_a_member_that_hears_of_it_is_fine(wire: Wire) -> None:
    wire.ask(NEWCOMER, 0.5, body=JOIN_BYTES)
    wire.beat(1)  # On its way at the same time.
    wire.beat(2, REBALANCE_IN_PROGRESS)
    wire.answer(NEWCOMER, 2.5)
    wire.beat(3)
    wire.beat(4)
    assert wire.found == []


def test_one_that_waits_behind_another_request_of_its_own_waits_for_nobody(wire: Wire) -> None:
    wire.ask(NEWCOMER, 0.4)
    wire.ask(NEWCOMER, 0.5, body=JOIN_BYTES)
    for second in (1, 2, 3):
        wire.beat(second)
    assert wire.found == []
    wire.answer(NEWCOMER, 3.5)
    wire.beat(4)
    wire.beat(5)
    assert len(wire.found) == 1


def test_what_is_sent_over_a_dead_connection_makes_nobody_wait(wire: Wire) -> None:
    wire.muted.append(NEWCOMER)
    wire.ask(NEWCOMER, 0.5, body=JOIN_BYTES)
    for second in (1, 2, 3):
        wire.beat(second)
    assert wire.found == []


def test_two_heartbeats_in_one_moment_are_one(wire: Wire) -> None:
    """A broker that goes on after a pause may take them before who waits."""
    wire.ask(NEWCOMER, 0.5, body=JOIN_BYTES)
    wire.beat(1)
    wire.beat(1.1)
    assert wire.found == []


def test_a_member_of_another_group_hears_nothing(wire: Wire) -> None:
    other = JoinGroupRequest_v5("others", 10_000, 10_000, "", "", "consumer", []).encode()
    wire.ask(NEWCOMER, 0.5, body=other)
    for second in (1, 2, 3):
        wire.beat(second)
    assert wire.found == []


@pytest.mark.parametrize(
    ("message", "api_key", "version", "group"),
    [
        (HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), HEARTBEAT, 3, "g"),
        (HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), HEARTBEAT, 4, ""),
        (JoinGroupRequest(group_id="gr"), JOIN_GROUP, 5, "gr"),
        (JoinGroupRequest(group_id="gr"), JOIN_GROUP, 9, ""),
    ],
)
def test_groups_are_read_as_the_wire_has_them(
    message: object, api_key: int, version: int, group: str
) -> None:
    body = codec(type(message), version).encode_parts(message)
    frame = b"".join(ClientConnection("c").send_request(api_key, version, body))
    assert group_of(frame[4:], api_key, version) == group


@pytest.mark.parametrize("version", [0, 1, 3])
def test_errors_of_heartbeats_are_read_as_the_wire_has_them(version: int) -> None:
    for error_code in (0, REBALANCE_IN_PROGRESS):
        body = codec(HeartbeatResponse, version).encode_parts(
            HeartbeatResponse(throttle_time_ms=0, error_code=error_code)
        )
        assert is_nothing_new(bytes(4) + b"".join(body), version) is (error_code == 0)
