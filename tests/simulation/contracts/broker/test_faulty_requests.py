"""What the contracts of faults on requests say of wrong rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core import request_parts
from broker.core.request_parts import Part
from broker.core.request_rules import RequestRule, RequestSeen
from protocol.errors import ErrorCode
from protocol.faults.requests import RequestFault, RequestMode
from protocol.messages.groups import HeartbeatRequest
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
SEEN = RequestSeen(
    "Produce", 9, "mine", [Part("orders", 0)], names_all=False, has_throttle_time=True
)
REQUEST = ProduceRequest(
    topic_data=[
        TopicProduceData(
            name="orders", partition_data=[PartitionProduceData(index=each) for each in range(2)]
        )
    ]
)


def meet(*, mode: RequestMode = RequestMode.DROP, **keys: Any) -> Callable[[], object]:
    def use() -> list[bool]:
        rule = RequestRule(RequestFault(mode=mode, node="broker-1", **keys))
        return [rule.meets(SEEN, lambda: 0.5) for _ in range(3)]

    return use


def meets_all(rule: RequestRule, *_: object) -> bool:
    rule.matches += 1
    rule.hits += 1
    return True


def meets_none(rule: RequestRule, *_: object) -> bool:
    rule.matches += 1
    return False


def divided(request: Any = REQUEST) -> tuple[Any, Any]:
    return request_parts.divide(request, lambda part: part.partition == 1, lambda _: None)


def names() -> list[str]:
    rows = [PartitionProduceResponse(index=0, error_code=ErrorCode.KAFKA_STORAGE_ERROR)]
    topic = TopicProduceResponse(name="orders", partition_responses=rows)
    return request_parts.error_names(ProduceResponse(responses=[topic]))


MEETS: Final = "RequestRule.meets"
WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    (MEETS, answers(True), meet()),
    (MEETS, meets_none, meet()),
    (MEETS, meets_all, meet(times=1)),
    (MEETS, meets_all, meet(nth=2)),
    (MEETS, meets_all, meet(from_nth=2)),
    (MEETS, meets_none, meet(from_nth=3)),
    (MEETS, meets_all, meet(apis=("Fetch",))),
    (MEETS, meets_all, meet(version_min=10)),
    (MEETS, meets_all, meet(version_max=8)),
    (MEETS, meets_all, meet(client_id="yours")),
    (MEETS, meets_all, meet(topic="payments")),
    (MEETS, meets_all, meet(topic="orders", partition=1)),
    (MEETS, meets_none, meet(topic="orders", partition=0, probability=1.0)),
    (MEETS, meets_all, meet(apis=("Fetch",), probability=0.9)),
    ("request_parts.divide", answers((REQUEST, None)), divided),
    ("request_parts.divide", answers((None, None)), lambda: divided(HeartbeatRequest())),
    ("request_parts.error_names", answers([]), names),
    ("request_parts.error_names", answers(["NONE"]), names),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)


def test_chance_may_spare_a_request() -> None:
    assert told_of(None, MEETS, meet(probability=0.4)) == []
