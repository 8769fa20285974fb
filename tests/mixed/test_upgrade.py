"""The rehearsal of an upgrade: brokers are changed one by one, on the log dirs that they have."""

from __future__ import annotations

import pytest

from tests.deadlines import DEADLINE_S
from tests.mixed.changed_brokers import LEADS, changed_brokers, wait_until_whole
from tests.mixed.election import elections
from tests.mixed.mixed_lab import BROKER_IDS, MixedLab
from tests.mixed.transactions import consumed, transactional, write

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]


def test_all_brokers_are_changed_to_jbodlab_and_back_under_load(lab: MixedLab) -> None:
    """Between both ways no broker of Apache Kafka is left, and one of jbodlab leads."""
    lab.create("changed", (2, 3, 1), (3, 1, 2), (1, 2, 3))

    with (
        elections(lab.nodes) as looking,
        changed_brokers(lab) as brokers,
        lab.checked_load("changed", 3) as load,
    ):
        lab.wait_for_records(load, 100)
        for broker_id in BROKER_IDS:
            brokers.to_jbodlab(broker_id)
            wait_until_whole(lab, load, "changed")
        lab.wait_until(lambda: looking.controller_id() == LEADS, "jbodlab has the controller")
        lab.create("made-between", (2, 3), (3, 1), (1, 2))
        lab.reassign("made-between", (1, 3))
        lab.move(2, "changed")
        for broker_id in reversed(BROKER_IDS):  # The one that leads is the last.
            brokers.to_apache_kafka(broker_id)
            wait_until_whole(lab, load, "changed")
        assert looking.controller_id() != LEADS
        lab.wait_for_isr("made-between", 2)


@pytest.mark.mixed_all
def test_a_group_and_a_transaction_live_through_a_change_of_all_brokers(lab: MixedLab) -> None:
    """Each step is of another kind of coordinator; the transaction is open during each change."""
    lab.create("lived", (1, 2, 3))
    producer = transactional(lab, "lives on")
    begun = 0

    def go_on() -> None:
        """Commit what is open, read it as the group, and leave the next transaction open."""
        nonlocal begun
        if begun:
            producer.commit_transaction(DEADLINE_S)
            assert consumed(lab, "lived", "live on", 20) == list(range(begun - 20, begun))
        producer.begin_transaction()
        write(producer, "lived", range(begun, begun + 20))
        begun += 20

    with changed_brokers(lab) as brokers:
        go_on()
        for broker_id in BROKER_IDS:
            brokers.to_jbodlab(broker_id)
            lab.wait_for_isr("lived", 3)
        go_on()
        for broker_id in reversed(BROKER_IDS):
            brokers.to_apache_kafka(broker_id)
            lab.wait_for_isr("lived", 3)
        go_on()
    producer.abort_transaction(DEADLINE_S)
