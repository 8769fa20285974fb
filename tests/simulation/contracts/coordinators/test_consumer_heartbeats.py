"""What the contracts of heartbeats of the consumer protocol say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.groups.consumer.consumer_heartbeats import ConsumerHeartbeats
from broker.core.groups.consumer.consumer_member import ConsumerMember
from protocol.errors import ErrorCode, KafkaError
from tests.broker.core.groups.consumer.lab import Lab
from tests.simulation.contracts.coordinators import consumer_stories as stories
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
BEAT, LEAVE = ConsumerHeartbeats.beat, ConsumerHeartbeats.leave


def refuses(*_: object, **__: object) -> None:
    raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH)


def tells_nothing(heartbeats: ConsumerHeartbeats, *args: Any) -> object:
    answer = BEAT(heartbeats, *args)
    answer.assignment = None
    return answer


def without_a_session(heartbeats: ConsumerHeartbeats, *args: Any) -> object:
    answer = BEAT(heartbeats, *args)
    heartbeats._rebalances.cancel(args[0].group_id, args[1].member_id)
    return answer


def in_an_epoch_before(heartbeats: ConsumerHeartbeats, *args: Any) -> object:
    answer = BEAT(heartbeats, *args)
    answer.member_epoch -= 1
    return answer


def hears_nothing(
    _heartbeats: object, _group: object, member_id: str, *_: object
) -> ConsumerMember:
    return ConsumerMember(member_id=member_id)


def stays(heartbeats: ConsumerHeartbeats, group: Any, heartbeating: Any, decision: Any) -> object:
    before = dict(group.members)
    answer = LEAVE(heartbeats, group, heartbeating, decision)
    for member in before.values():
        group.put(member)
    return answer


def names_no_expression() -> object:
    return Lab().refused("a", subscribed_topic_regex="b(.*")


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("consumer_heartbeats.check_member", answers(None), stories.answer_is_lost),
    ("consumer_heartbeats.check_member", refuses, stories.shared),
    ("consumer_heartbeats.check_member", answers(None), names_no_expression),
    ("ConsumerHeartbeats.beat", tells_nothing, stories.shared),
    ("ConsumerHeartbeats.beat", without_a_session, stories.shared),
    ("ConsumerHeartbeats.beat", in_an_epoch_before, stories.shared),
    ("ConsumerHeartbeats.member_or_new", hears_nothing, stories.shared),
    ("ConsumerHeartbeats.member_or_new", hears_nothing, stories.away_and_back),
    ("ConsumerHeartbeats.leave", stays, stories.away_and_back),
    ("ConsumerHeartbeats.leave", refuses, stories.other_topics),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
