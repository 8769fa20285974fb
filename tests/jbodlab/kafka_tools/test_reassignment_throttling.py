"""Throttles as they reach the brokers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.jbodlab.kafka_tools.fake_cluster import FakeCluster
from tests.jbodlab.kafka_tools.running import part, plan_file, run

RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADERS = "leader.replication.throttled.replicas"
FOLLOWERS = "follower.replication.throttled.replicas"


@pytest.mark.scenario(195)
def test_throttles_are_set_where_replicas_and_log_dirs_move(cluster: FakeCluster, tmp_path: Path):
    file = plan_file(tmp_path, part("foo", 0, [3, 1, 2]), part("baz", 1, [0, 2], "/d0", "/d2"))

    def execute(more: str) -> list[str]:
        cluster.config_orders.clear()
        line = f"kafka-reassign-partitions --execute --reassignment-json-file {file} {more}"
        result = run(cluster, line)
        assert result.exit_code == 0
        return result.stdout.splitlines()[5:-3]

    verify = (
        "Warning: You must run --verify periodically, until the reassignment completes, to "
        "ensure the throttle is removed."
    )
    assert execute("--throttle 1000") == [
        verify,
        "The inter-broker throttle limit was set to 1000 B/s",
    ]
    assert [order[1:] for order in cluster.config_orders] == [
        ("baz", {LEADERS: "1:0,1:2", FOLLOWERS: ""}),
        ("foo", {LEADERS: "0:0,0:1,0:2", FOLLOWERS: "0:3"}),
        *((str(broker), dict.fromkeys(RATES, "1000")) for broker in (0, 1, 2, 3)),
    ]
    assert [order[0] for order in cluster.config_orders[2:]] == [0, 1, 2, 3]

    assert execute("--throttle -1 --replica-alter-log-dirs-throttle -1") == []
    assert cluster.config_orders == []

    assert execute("--replica-alter-log-dirs-throttle 2000") == [
        verify,
        "The replica-alter-dir throttle limit was set to 2000 B/s",
    ]
    assert cluster.config_orders == [
        (0, "0", {LOG_DIR_RATE: "2000"}),
        (2, "2", {LOG_DIR_RATE: "2000"}),
    ]


def test_nothing_is_a_rate_too(cluster: FakeCluster, tmp_path: Path):
    file = plan_file(tmp_path, part("foo", 0, [3]))
    line = f"kafka-reassign-partitions --execute --reassignment-json-file {file} --throttle 0"
    assert "The inter-broker throttle limit was set to 0 B/s" in run(cluster, line).stdout
