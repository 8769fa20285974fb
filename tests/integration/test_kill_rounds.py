"""kill -9 in rounds, under load from an idempotent producer with acks=all.

Nothing acknowledged is lost, nothing is there twice, and each partition keeps its producer's order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path

import pytest

from jbodlab.errors import LabError
from jbodlab.load import Load, read_numbers, verify
from jbodlab.processes.cluster import CONTROLLER
from jbodlab.processes.lab_spec import LabShape
from protocol.faults.model import broker_node
from tests.integration.labs import FAST, Lab, running_lab

TOPIC = "t"
PARTITIONS = 3
SMALL_SEGMENTS = {
    "min.insync.replicas": "2",
    "segment.bytes": "65536",
    "segment.index.bytes": "4096",
}
RECORDS = 300
"""Acknowledged before and after each trouble."""


@pytest.fixture
def lab(tmp_path: Path) -> Generator[Lab]:
    """A cluster that rolls and flushes all the time."""
    configs = FAST | {
        "log.retention.check.interval.ms": "500",
        "log.segment.delete.delay.ms": "500",
    }
    with running_lab(tmp_path, LabShape(configs=configs)) as lab:
        lab.create(TOPIC, PARTITIONS, configs=SMALL_SEGMENTS)
        yield lab


def kill_broker(lab: Lab, broker: int) -> None:
    lab.cluster.kill(broker_node(broker))


def bring_back(lab: Lab, *brokers: int) -> None:
    for broker in brokers:
        lab.cluster.start_broker(broker)
    lab.wait_for_full_isr(TOPIC)


def kill_the_leader(lab: Lab, _load: Load) -> None:
    leader = lab.partition(TOPIC).leader
    kill_broker(lab, leader)
    lab.wait_for_new_leader(TOPIC, leader)
    bring_back(lab, leader)


def kill_a_follower(lab: Lab, load: Load) -> None:
    follower = next(each for each in (1, 2, 3) if each != lab.partition(TOPIC).leader)
    kill_broker(lab, follower)
    lab.wait_for_records(load, RECORDS)
    bring_back(lab, follower)


def kill_the_controller(lab: Lab, load: Load) -> None:
    lab.cluster.kill(CONTROLLER)
    lab.wait_for_records(load, RECORDS)
    lab.cluster.start_controller()
    lab.wait_for_full_isr(TOPIC)


def kill_two_brokers(lab: Lab, _load: Load) -> None:
    kill_broker(lab, 1)
    kill_broker(lab, 2)
    bring_back(lab, 1, 2)


def kill_broker_and_controller(lab: Lab, _load: Load) -> None:
    leader = lab.partition(TOPIC).leader
    lab.cluster.kill(CONTROLLER)
    kill_broker(lab, leader)
    lab.cluster.start_controller()
    bring_back(lab, leader)


def kill_during_a_move(lab: Lab, _load: Load) -> None:
    broker = lab.partition(TOPIC).leader
    target = lab.other_dir(broker, lab.log_dir_of(broker, TOPIC).path)
    lab.begin_move(broker, TOPIC, target)
    kill_broker(lab, broker)
    bring_back(lab, broker)
    lab.wait_for_move(broker, TOPIC, target)


def kill_during_recovery(lab: Lab, _load: Load) -> None:
    kill_broker(lab, 3)
    for deadline_ms in (300, 450, 600):
        with suppress(LabError):
            lab.cluster.start_broker(3, deadline_ms)
        kill_broker(lab, 3)
    bring_back(lab, 3)


TROUBLES: list[Callable[[Lab, Load], None]] = [
    kill_the_leader,
    kill_a_follower,
    kill_the_controller,
    kill_two_brokers,
    kill_broker_and_controller,
    kill_during_a_move,
    kill_during_recovery,
]


@pytest.mark.scenario(164, 254)
@pytest.mark.sampled("trouble", kept=1)
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.__name__)
def test_a_kill_loses_nothing_and_doubles_nothing(
    lab: Lab, trouble: Callable[[Lab, Load], None]
) -> None:
    load = lab.load(TOPIC, PARTITIONS, size_bytes=1000)
    lab.wait_for_records(load, RECORDS)
    trouble(lab, load)
    lab.wait_for_records(load, RECORDS)
    report = load.stop()
    assert report.failed == ()
    numbers = read_numbers(lab.servers, TOPIC, partitions=PARTITIONS)
    check = verify(report.acknowledged, numbers)
    assert (check.lost, check.twice) == ((), ())
    for partition in range(PARTITIONS):  # The load gives each the next number in turn.
        here = [number for number in numbers if number % PARTITIONS == partition]
        assert here == sorted(here), f"partition {partition} is out of order"
