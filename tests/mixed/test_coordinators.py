"""A group and a transaction live on when the brokers of their coordinators are ended."""

from __future__ import annotations

import pytest

from tests.deadlines import DEADLINE_S
from tests.mixed.mixed_lab import GROUP, TRANSACTION, MixedLab
from tests.mixed.transactions import consumed, transactional, write

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]


def test_a_group_goes_on_where_it_was_when_its_coordinator_is_killed(lab: MixedLab) -> None:
    lab.create("grouped", (1, 2, 3))
    producer = transactional(lab, "writer")
    producer.begin_transaction()
    write(producer, "grouped", range(50))
    producer.commit_transaction(DEADLINE_S)
    assert consumed(lab, "grouped", "readers", 50) == list(range(50))

    killed = lab.coordinator("readers", GROUP)
    lab.nodes.kill_broker(killed)
    lab.wait_for_leader_other_than(killed, "grouped")
    producer.begin_transaction()
    write(producer, "grouped", range(50, 80))
    producer.commit_transaction(DEADLINE_S)

    assert consumed(lab, "grouped", "readers", 30) == list(range(50, 80))
    lab.restart(killed)
    lab.wait_for_isr("grouped", 3)


def test_a_transaction_is_committed_after_its_coordinator_was_stopped(lab: MixedLab) -> None:
    lab.create("atomic", (2, 3, 1))
    producer = transactional(lab, "survivor")
    producer.begin_transaction()
    write(producer, "atomic", range(20))
    producer.abort_transaction(DEADLINE_S)
    producer.begin_transaction()
    write(producer, "atomic", range(20, 40))

    stopped = lab.coordinator("survivor", TRANSACTION)
    lab.nodes.stop_broker(stopped)
    write(producer, "atomic", range(40, 60))
    producer.commit_transaction(DEADLINE_S)

    assert consumed(lab, "atomic", "atoms", 40) == list(range(20, 60))
    lab.restart(stopped)
    lab.wait_for_isr("atomic", 3)
