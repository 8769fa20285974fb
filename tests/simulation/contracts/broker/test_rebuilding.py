"""What the contracts of rate limits of rebuilt replicas say of wrong rules."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from broker.core.rebuild_throttle import RebuildThrottle, _Rebuild
from broker.core.replication_quota import ReplicationQuota
from protocol.ids import TopicPartition
from tests.simulation.contracts.wrong_rules import answers, told_of

Wrong = Callable[..., Any]
TP = TopicPartition("orders", 0)


def rebuild() -> RebuildThrottle:
    throttle = RebuildThrottle()
    throttle.begin("/d1", [TP, TopicPartition("orders", 1)], 100)
    return throttle


def keeps_what_was_limited_before(
    throttle: RebuildThrottle, path: str, tps: list[TopicPartition], limit_bytes_per_second: int
) -> None:
    one = _Rebuild(ReplicationQuota(limit_bytes_per_second), dict.fromkeys(tps))
    throttle._by_path[path] = one
    throttle._by_replica.update(dict.fromkeys(tps, path))


def rebuild_others() -> None:
    rebuild().begin("/d1", [TopicPartition("orders", 2)], 100)


WRONG_RULES: Final[list[tuple[str, Wrong, Callable[[], object]]]] = [
    ("RebuildThrottle.begin", answers(None), rebuild),
    ("RebuildThrottle.begin", keeps_what_was_limited_before, rebuild_others),
    ("RebuildThrottle.done", answers(None), lambda: rebuild().done(TP)),
    ("RebuildThrottle.end", answers(None), lambda: rebuild().end("/d1")),
]


@pytest.mark.parametrize(("rule", "wrong", "use"), WRONG_RULES)
def test_a_wrong_rule_is_told_and_the_right_one_is_not(
    rule: str, wrong: Wrong, use: Callable[[], object]
) -> None:
    assert told_of(None, rule, use) == []
    assert told_of(wrong, rule, use)
