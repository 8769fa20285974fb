"""Which requests a fault meets, and how it counts them."""

from __future__ import annotations

from typing import Any

import pytest

from broker.core.request_parts import Part
from broker.core.request_rules import RequestRule, RequestSeen
from protocol.faults.requests import RequestFault, RequestMode

SEEN = RequestSeen(
    "Produce",
    9,
    "mine-1",
    [Part("orders", 0), Part("orders", 1)],
    names_all=False,
    has_throttle_time=True,
)


def rule(mode: RequestMode = RequestMode.HOLD, **keys: Any) -> RequestRule:
    return RequestRule(RequestFault(mode=mode, node="broker-1", **keys))


def met(one: RequestRule, *seen: RequestSeen, draws: float = 0.0) -> list[bool]:
    return [one.meets(each, lambda: draws) for each in seen]


@pytest.mark.parametrize(
    ("keys", "is_met"),
    [
        ({}, True),
        ({"apis": ("Fetch", "Produce")}, True),
        ({"apis": ("Fetch",)}, False),
        ({"version_min": 9, "version_max": 9}, True),
        ({"version_min": 10}, False),
        ({"version_max": 8}, False),
        ({"client_id": "mine-*"}, True),
        ({"client_id": "yours"}, False),
        ({"topic": "ord*"}, True),
        ({"topic": "payments"}, False),
        ({"topic": "orders", "partition": 1}, True),
        ({"topic": "orders", "partition": 2}, False),
    ],
)
def test_what_a_rule_names_must_be_so(keys: dict[str, Any], *, is_met: bool) -> None:
    one = rule(**keys)
    assert met(one, SEEN) == [is_met]
    assert (one.matches, one.hits) == (is_met, is_met)


@pytest.mark.parametrize(
    ("keys", "hits"),
    [
        ({"nth": 2}, [False, True, False, False]),
        ({"from_nth": 2}, [False, True, True, True]),
        ({"from_nth": 2, "times": 2}, [False, True, True, False]),
        ({"times": 1}, [True, False, False, False]),
    ],
)
def test_matches_are_counted_and_hits_bounded(keys: dict[str, Any], hits: list[bool]) -> None:
    one = rule(**keys)
    assert met(one, SEEN, SEEN, SEEN, SEEN) == hits
    assert (one.matches, one.hits) == (4, sum(hits))


def test_chance_decides_between_0_and_the_probability() -> None:
    one = rule(probability=0.5)
    assert met(one, SEEN, draws=0.49) == [True]
    assert met(one, SEEN, draws=0.5) == [False]


def test_a_request_that_means_every_topic_is_met_by_any() -> None:
    everything = SEEN._replace(parts=[], names_all=True)
    assert met(rule(topic="orders"), everything) == [True]
    assert met(rule(topic="orders"), SEEN._replace(parts=[])) == [False]


def test_an_answer_that_cannot_tell_of_a_throttle_is_not_met_by_one() -> None:
    one = rule(RequestMode.THROTTLE, throttle_time_ms=5)
    assert met(one, SEEN._replace(has_throttle_time=False), SEEN) == [False, True]


def test_the_parts_of_a_rule_are_its_topic_and_partition() -> None:
    one = rule(topic="orders", partition=1)
    parts = [Part("orders", 1), Part("orders"), Part("orders", 0), Part("payments", 1)]
    assert list(map(one.is_part, parts)) == [True, True, False, False]
