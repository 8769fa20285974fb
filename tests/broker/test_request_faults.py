"""Who waits in the faults of requests, and what passed by them."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from broker.core.request_rules import RequestSeen
from broker.request_faults import PASSED_MAX, RequestFaults
from protocol.connection import CloseConnection
from protocol.faults.requests import RequestFault, RequestMode
from protocol.transport.network_faults import NetworkFaults
from tests.deadlines import DEADLINE_S

SEEN = RequestSeen("Produce", 9, "mine", [], names_all=False, has_throttle_time=True)


@pytest.fixture
def network() -> NetworkFaults:
    return NetworkFaults("broker-1", chance=Random(1), nodes={})


@pytest.fixture
def faults(network: NetworkFaults) -> RequestFaults:
    return RequestFaults(network)


def fault(mode: RequestMode, **keys: Any) -> RequestFault:
    return RequestFault(mode=mode, node="broker-1", **keys)


def test_requests_are_looked_at_only_while_there_are_rules(
    network: NetworkFaults, faults: RequestFaults
) -> None:
    assert not network.looks_at_requests
    rules = [faults.add_rule(fault(RequestMode.HOLD)) for _ in range(2)]
    faults.drop_rule(rules[0])
    assert network.looks_at_requests
    faults.drop_rule(rules[1])
    faults.drop_rule(rules[1])
    assert not network.looks_at_requests


def test_a_request_meets_all_rules_but_one_that_ends_it(faults: RequestFaults) -> None:
    observer = faults.add_rule(fault(RequestMode.OBSERVE))
    error = faults.add_rule(fault(RequestMode.ERROR, error_code="NETWORK_EXCEPTION"))
    drop = faults.add_rule(fault(RequestMode.DROP))
    delay = faults.add_rule(fault(RequestMode.DELAY, delay_ms=1))
    assert faults.met(SEEN) == [observer, error, delay]
    assert (drop.matches, drop.hits) == (0, 0)


async def test_those_who_are_held_go_on_one_by_one_or_when_the_fault_ends(
    faults: RequestFaults,
) -> None:
    rule = faults.add_rule(fault(RequestMode.HOLD))
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        waits = [
            group.create_task(faults.wait(rule, {"correlation_id": number}, None))
            for number in range(3)
        ]
        await asyncio.sleep(0)
        assert [each["correlation_id"] for each in faults.held(rule)] == [0, 1, 2]
        assert faults.release(rule, 1) == 1
        await waits[0]
        assert [each["correlation_id"] for each in faults.held(rule)] == [1, 2]
        faults.drop_rule(rule)
    assert faults.release(rule) == 0
    assert faults.held(rule) == []
    await faults.wait(rule, {}, None)  # Of a rule that was taken off nobody waits.


async def test_a_wait_ends_with_its_time(faults: RequestFaults) -> None:
    rule = faults.add_rule(fault(RequestMode.DELAY, delay_ms=1))
    async with asyncio.timeout(DEADLINE_S):
        await faults.wait(rule, {}, 1)
    assert faults.held(rule) == []


async def test_what_is_dropped_ends_with_its_connection(faults: RequestFaults) -> None:
    rule = faults.add_rule(fault(RequestMode.DROP))
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        dropped = group.create_task(_closed_by(faults.drop(rule, {})))
        await asyncio.sleep(0)
        assert not dropped.done()
        faults.drop_rule(rule)
        await dropped


async def _closed_by(waiting: Any) -> None:
    with pytest.raises(CloseConnection):
        await waiting


def test_an_observer_keeps_the_newest_also_when_it_is_over(faults: RequestFaults) -> None:
    rule = faults.add_rule(fault(RequestMode.OBSERVE))
    for number in range(PASSED_MAX + 1):
        faults.note(rule, {"number": number})
    faults.drop_rule(rule)
    assert [faults.passed(rule)[at]["number"] for at in (0, -1)] == [1, PASSED_MAX]
    faults.forget(rule)
    assert faults.passed(rule) == []


def test_the_pace_of_an_answer_is_over_with_its_fault(faults: RequestFaults) -> None:
    rule = faults.add_rule(fault(RequestMode.TRICKLE, slice_bytes=3, delay_ms=7))
    pace = faults.pace(rule)
    assert (pace.slice_bytes, pace.pause_ms, pace.is_over) == (3, 7, False)
    faults.drop_rule(rule)
    assert pace.is_over
    assert faults.pace(rule).is_over


def test_what_comes_late_for_a_forgotten_observer_is_let_go(faults: RequestFaults) -> None:
    rule = faults.add_rule(fault(RequestMode.OBSERVE))
    faults.drop_rule(rule)
    faults.forget(rule)
    faults.note(rule, {"api": "Produce"})
    assert faults.passed(rule) == []


def test_2500_slow_answers_end_with_one_fault(faults: RequestFaults) -> None:
    rule = faults.add_rule(fault(RequestMode.TRICKLE, slice_bytes=3))
    paces = [faults.pace(rule) for _ in range(2500)]
    faults.drop_rule(rule)
    assert all(pace.is_over for pace in paces)
