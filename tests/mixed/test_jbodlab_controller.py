"""Brokers of Apache Kafka 3.9.2 under a controller of jbodlab, which has the id of its broker."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import pytest

from protocol.zookeeper import paths
from tests.mixed.election import Elections, elections
from tests.mixed.jbodlab_broker import BROKER_ID, JbodlabBroker, joined
from tests.mixed.mixed_lab import MixedLab

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]


class Led(NamedTuple):
    lab: MixedLab
    broker: JbodlabBroker
    elections: Elections


@pytest.fixture(scope="module")
def cluster(lab: MixedLab) -> Generator[Led]:
    with joined(lab) as (both, broker), elections(lab.nodes) as looking:
        broker.stand()
        yield Led(both, broker, looking)


@pytest.fixture
def led(cluster: Led) -> Led:
    """The cluster, with jbodlab's broker as the controller."""
    cluster.elections.elect(BROKER_ID.__eq__)
    cluster.lab.wait_until(
        lambda: cluster.lab.controller_id() == BROKER_ID, "brokers know the controller"
    )
    return cluster


def test_topics_are_created_and_another_leads_when_a_broker_of_apache_kafka_is_killed(
    led: Led,
) -> None:
    lab = led.lab
    lab.create("under", (1, 2, 3), (BROKER_ID, 1, 2), (2, 3, BROKER_ID))

    with lab.checked_load("under", 3) as load:
        lab.nodes.kill_broker(1)
        assert lab.wait_for_leader_other_than(1, "under") == 2
        lab.wait_for_records(load, 100)
        lab.restart(1)
        lab.wait_for_isr("under", 3)
    assert led.elections.controller_id() == BROKER_ID


@pytest.mark.scenario(156)
def test_a_notice_of_apache_kafka_has_the_controller_ask_and_elect(led: Led) -> None:
    lab = led.lab
    lab.create("notice", (3, 2, BROKER_ID))
    name = lab.log_dir_of(3, "notice")

    with lab.checked_load("notice", 1) as load:
        lab.nodes.break_log_dir(3, name)
        assert lab.wait_for_leader_other_than(3, "notice") == 2
        lab.wait_for_records(load, 100)
        assert 3 in lab.partition("notice").offline_replicas
        assert led.elections.children(paths.LOG_DIR_EVENTS) == []
        lab.nodes.stop_broker(3)
        lab.nodes.repair_log_dir(3, name)
        lab.restart(3)
        lab.wait_for_isr("notice", 3)


def test_replicas_are_reassigned_and_the_topic_is_deleted(led: Led) -> None:
    lab = led.lab
    lab.create("moved-there", (1, 2))

    with lab.checked_load("moved-there", 1) as load:
        lab.reassign("moved-there", (BROKER_ID, 3))
        lab.wait_until(lambda: lab.partition("moved-there").leader == BROKER_ID, "jbodlab leads it")
        lab.wait_for_records(load, 100)
        lab.reassign("moved-there", (1, 2))
        lab.wait_until(lambda: lab.partition("moved-there").leader == 1, "Apache Kafka leads it")
        lab.wait_for_records(load, 100)

    lab.delete("moved-there")
    lab.wait_until(
        lambda: "moved-there" not in led.elections.children(paths.TOPICS), "the topic is deleted"
    )
    assert "moved-there" not in led.elections.children("/config/topics")
    assert "moved-there" not in led.elections.children(paths.DELETE_TOPICS)


def test_the_controller_moves_to_apache_kafka_and_back(led: Led) -> None:
    lab = led.lab
    lab.create("passed-on", (1, BROKER_ID, 2), (BROKER_ID, 2, 3))
    epoch = led.elections.epoch()

    with lab.checked_load("passed-on", 2) as load:
        led.broker.kill_controller()
        lab.wait_until(
            lambda: led.elections.controller_id() in (1, 2, 3), "Apache Kafka has the controller"
        )
        lab.wait_for_records(load, 100)
        lab.create("by-apache", (2, BROKER_ID))
        led.broker.stand()
        led.elections.elect(BROKER_ID.__eq__)
        lab.wait_until(lambda: lab.controller_id() == BROKER_ID, "brokers know the controller")
        lab.reassign("passed-on", (2, 3))
        lab.wait_until(lambda: lab.partition("passed-on").leader == 2, "the new term elects")
        lab.wait_for_records(load, 100)
    assert led.elections.epoch() >= epoch + 2
