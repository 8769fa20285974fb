from __future__ import annotations

import pytest

from jbodlab.rebalance.core.plan_file import ANY, Wanted
from jbodlab.rebalance.core.situation import LogDirId
from jbodlab.rebalance.core.steps import DirMove, Host, Orders, Place, Seen
from jbodlab.rebalance.core.throttles import (
    throttles_now,
    throttles_of,
    with_entries,
    without_entries,
)
from protocol.configs.names import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    MOVE_RATE,
)
from protocol.ids import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
U0, U1 = TopicPartition("u", 0), TopicPartition("u", 1)


def test_leaders_are_throttled_for_what_is_there_followers_for_what_comes() -> None:
    plan = [
        Wanted(tp=T0, brokers=(3, 2), log_dirs=("/d1", ANY)),
        Wanted(tp=T1, brokers=(1, 2), log_dirs=("/d2", ANY)),
        Wanted(tp=U0, brokers=(2, 1), log_dirs=(ANY, ANY)),
    ]
    seen = Seen(replicas={T0: (1, 2), T1: (1, 2), U0: (1, 2)}, targets={}, places={})
    throttles = throttles_of(plan, seen)
    assert throttles.lists == {"t": {LEADER_REPLICAS: ("0:1", "0:2"), FOLLOWER_REPLICAS: ("0:3",)}}
    assert throttles.rates == {
        1: (LEADER_RATE, FOLLOWER_RATE, MOVE_RATE),
        2: (LEADER_RATE, FOLLOWER_RATE),
        3: (LEADER_RATE, FOLLOWER_RATE, MOVE_RATE),
    }


def test_only_what_is_ordered_or_under_way_is_throttled_yet() -> None:
    plan = [
        Wanted(tp=T0, brokers=(3, 2), log_dirs=("/d1", ANY)),
        Wanted(tp=T1, brokers=(4, 2), log_dirs=("/d1", ANY)),
        Wanted(tp=U0, brokers=(5, 1), log_dirs=("/d1", "/d2")),
        Wanted(tp=U1, brokers=(6, 2), log_dirs=("/d2", "/d2")),
    ]
    going = Place(path="/d1", size_bytes=9, future_path="/d2")
    seen = Seen(
        replicas={T0: (1, 2), T1: (1, 2), U0: (5, 1), U1: (6, 2)},
        targets={T1: (4, 2)},
        places={Host(U1, 6): going},
    )
    orders = Orders(reassign={T0: (3, 2)}, moves=(DirMove(LogDirId(5, "/d1"), U0),))
    throttles = throttles_now(plan, seen, orders)
    assert throttles.lists == {
        "t": {LEADER_REPLICAS: ("0:1", "0:2", "1:1", "1:2"), FOLLOWER_REPLICAS: ("0:3", "1:4")}
    }
    copied = (LEADER_RATE, FOLLOWER_RATE)
    assert throttles.rates == {
        **dict.fromkeys((1, 2, 3, 4), copied),
        **dict.fromkeys((6, 5), (MOVE_RATE,)),
    }, "an added replica begins in its log dir, nothing is moved for it"


@pytest.mark.parametrize(
    ("text", "added"),
    [("", "0:1,1:2"), ("1:2", "1:2,0:1"), ("5:5", "5:5,0:1,1:2"), ("*", "*")],
)
def test_entries_join_what_somebody_else_listed(text: str, added: str) -> None:
    assert with_entries(text, ["0:1", "1:2"]) == added


@pytest.mark.parametrize(
    ("text", "left"), [("", ""), ("0:1,1:2", ""), ("5:5, 0:1", "5:5"), ("*", "*")]
)
def test_what_somebody_else_listed_stays(text: str, left: str) -> None:
    assert without_entries(text, ["0:1", "1:2"]) == left
