"""Which replicas and brokers are throttled."""

from __future__ import annotations

import pytest

from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.reassignment_file import ReplicaOn
from jbodlab.kafka_tools.core.reassignment_throttles import (
    Move,
    broker_throttles,
    log_dir_brokers,
    moves_of,
    moving_brokers,
    topic_throttles,
)
from protocol.configs.names import FOLLOWER_REPLICAS, LEADER_REPLICAS
from protocol.ids import TopicPartition
from tests.protocol.admin.views import reassignment

FOO, BAR = TopicPartition("foo", 0), TopicPartition("bar", 0)


def test_sources_are_throttled_as_leaders_and_destinations_as_followers():
    under_way = {FOO: reassignment(FOO, replicas=(1, 2, 3), adding=(3,), removing=(1,))}
    proposed = {FOO: (2, 4), BAR: (5, 6, 10), TopicPartition("bar", 10): (5,)}
    current = {FOO: (1, 2, 3), BAR: (5, 7), TopicPartition("bar", 10): (5,)}
    moves = moves_of(under_way, proposed, current)
    assert moves == {
        # What a reassignment under way adds is no source of the next one.
        FOO: Move((1, 2), (4,)),
        BAR: Move((5, 7), (6, 10)),
        TopicPartition("bar", 10): Move((5,), ()),
    }
    assert topic_throttles(moves) == {
        "bar": {LEADER_REPLICAS: "0:5,0:7,10:5", FOLLOWER_REPLICAS: "0:10,0:6"},
        "foo": {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:4"},
    }
    assert moving_brokers(moves) == [1, 2, 4, 5, 6, 7, 10]


def test_what_is_under_way_elsewhere_is_throttled_too():
    under_way = {BAR: reassignment(BAR, replicas=(7, 8), adding=(8,), removing=())}
    moves = moves_of(under_way, {FOO: (1,)}, {FOO: (1,)})
    assert topic_throttles(moves)["bar"] == {LEADER_REPLICAS: "0:7", FOLLOWER_REPLICAS: "0:8"}


def test_a_partition_without_replicas_cannot_move():
    with pytest.raises(ToolFailure, match="foo-0 with 0 replicas"):
        moves_of({}, {FOO: (1,)}, {})


def test_rates_are_set_on_brokers():
    assert broker_throttles(300000) == {
        "leader.replication.throttled.rate": "300000",
        "follower.replication.throttled.rate": "300000",
    }
    assert log_dir_brokers([ReplicaOn(2, FOO), ReplicaOn(0, BAR), ReplicaOn(2, BAR)]) == [0, 2]
