"""Throttled reassignments of a real cluster: obeyed, watched, and unthrottled at the end."""

from __future__ import annotations

import time

import pytest

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.reassignments import measure
from jbodlab.processes.cluster import CONTROLLER
from protocol.configs.parsing import ConfigSource
from protocol.errors import ErrorCode, KafkaError
from tests.integration.labs import DEADLINE_MS, Lab
from tests.integration.test_configs import BROKER, TOPIC, change, found

LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
RATE = 400_000


def throttle(lab: Lab, topic: str, leaders: str, followers: str, brokers: tuple[int, ...]) -> None:
    """Do what Kafka's tool does before it asks for the reassignment."""
    for key, value in zip(LISTS, (leaders, followers), strict=True):
        change(lab, TOPIC, topic, key, value)
    for broker in brokers:
        for key in RATES:
            change(lab, BROKER, str(broker), key, str(RATE))


def is_free(lab: Lab, topic: str, brokers: tuple[int, ...]) -> bool:
    lists = [found(lab, TOPIC, topic, key) for key in LISTS]
    rates = [found(lab, BROKER, str(broker), key) for broker in brokers for key in RATES]
    sources = [entry[1] for entry in (*lists, *rates) if entry is not None]
    return not {ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG}.intersection(
        sources
    )


def is_over(admin: ClusterAdmin) -> bool:
    try:
        return not admin.reassignments()
    except KafkaError as error:
        if error.code != ErrorCode.REQUEST_TIMED_OUT:
            raise
        return False  # The controller is not back yet.


@pytest.mark.sampled_among("the longest waits for clusters", kept=1)
@pytest.mark.scenario(11)
def test_a_throttle_goes_away_by_itself_although_the_controller_died(lab: Lab) -> None:
    lab.create("slow", assignment={0: [1]}, configs={"min.insync.replicas": "1"})
    load = lab.load("slow", size_bytes=10_000)
    lab.wait_for_records(load, 400)
    report = load.stop()
    throttle(lab, "slow", "0:1", "0:3", (1, 3))
    began = time.monotonic()
    lab.admin.reassign({("slow", 0): [3]})
    (progress,) = measure(lab.admin, 1000)
    assert (progress.adding, progress.removing) == ((3,), (1,))
    assert 0 < progress.copied_bytes < progress.total_bytes
    assert not is_free(lab, "slow", (1, 3))

    lab.cluster.kill(CONTROLLER)
    lab.cluster.start_controller()
    # On a slow machine the load writes many more records before it hears of 400 acknowledgements.
    throttled_ms = progress.total_bytes * 1000 // RATE
    deadline_ms = DEADLINE_MS + throttled_ms
    lab.cluster.wait_until(is_over, "the reassignment is complete", deadline_ms)
    seconds = time.monotonic() - began

    lab.cluster.wait_until(lambda _: is_free(lab, "slow", (1, 3)), "brokers know, too")
    assert lab.partition("slow").replicas == (3,)
    lab.assert_nothing_lost("slow", report.acknowledged)
    # One fetch goes through before the rate is known.
    assert seconds > (progress.total_bytes - 1_500_000) / RATE * 0.9
