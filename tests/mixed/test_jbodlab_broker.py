"""A broker of jbodlab among brokers of Apache Kafka 3.9.2, under Apache Kafka's own controller."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.deadlines import DEADLINE_S
from tests.mixed.jbodlab_broker import BROKER_ID, JbodlabBroker, joined
from tests.mixed.mixed_lab import GROUP, TRANSACTION, MixedLab
from tests.mixed.transactions import consumed, transactional, write

pytestmark = [
    pytest.mark.integration,
    pytest.mark.sampled_among("clusters beside Apache Kafka", kept=0),
]
COORDINATED = ("__consumer_offsets", "__transaction_state")
Both = tuple[MixedLab, JbodlabBroker]


@pytest.fixture(scope="module")
def both(lab: MixedLab) -> Generator[Both]:
    with joined(lab) as both:
        yield both


def test_leaders_of_both_kinds_have_followers_of_both_kinds(both: Both) -> None:
    lab, _ = both
    with_leaders_of_both = ((BROKER_ID, 1, 2), (1, BROKER_ID, 2), (2, 1, BROKER_ID))
    lab.create("both", *with_leaders_of_both)

    with lab.checked_load("both", len(with_leaders_of_both)) as load:
        lab.wait_for_records(load, 300)

    assert [lab.partition("both", each).leader for each in range(3)] == [BROKER_ID, 1, 2]
    lab.wait_for_isr("both", 3)


def test_apache_kafka_elects_another_when_the_log_dir_of_a_leader_fails(both: Both) -> None:
    lab, broker = both
    lab.create("broken", (BROKER_ID, 1, 2))
    path = str(lab.nodes.log_dir(BROKER_ID, lab.log_dir_of(BROKER_ID, "broken")))

    with lab.checked_load("broken", 1) as load:
        broker.control.fail(path, "eio")
        assert lab.wait_for_leader_other_than(BROKER_ID, "broken") == 1
        lab.wait_for_records(load, 100)
        assert BROKER_ID in lab.partition("broken").offline_replicas
        broker.control.heal(path)
        broker.control.restart(path)
        lab.wait_for_isr("broken", 3)


def test_a_leader_of_jbodlab_that_is_killed_is_missed_and_returns(both: Both) -> None:
    lab, broker = both
    lab.create("gone", (BROKER_ID, 2, 1))

    with lab.checked_load("gone", 1) as load:
        broker.kill()
        assert lab.wait_for_leader_other_than(BROKER_ID, "gone") == 2
        lab.wait_for_records(load, 100)
        broker.start()
        lab.wait_for_isr("gone", 3)


def test_a_replica_is_reassigned_to_jbodlab_and_back(both: Both) -> None:
    lab, _ = both
    lab.create("lent", (1, 2))

    with lab.checked_load("lent", 1) as load:
        lab.reassign("lent", (BROKER_ID, 2))
        lab.wait_until(lambda: lab.partition("lent").leader == BROKER_ID, "jbodlab leads lent-0")
        lab.wait_for_records(load, 100)
        lab.reassign("lent", (1, 2))
        lab.wait_until(lambda: lab.partition("lent").leader == 1, "Apache Kafka leads lent-0")
        lab.wait_for_records(load, 100)


def test_replicas_of_both_kinds_move_to_their_other_log_dir(both: Both) -> None:
    lab, _ = both
    lab.create("movers", (BROKER_ID, 1, 2))

    with lab.checked_load("movers", 1) as load:
        for broker_id in (BROKER_ID, 1):
            lab.move(broker_id, "movers")
            lab.wait_for_records(load, 100)
    lab.wait_for_isr("movers", 3)


def test_a_broker_of_jbodlab_that_stood_still_is_fenced_and_registers_again(both: Both) -> None:
    lab, broker = both
    lab.create("still", (BROKER_ID, 1, 2))

    with lab.checked_load("still", 1) as load:
        broker.pause()
        try:
            assert lab.wait_for_leader_other_than(BROKER_ID, "still") == 1
        finally:
            broker.resume()
        lab.wait_for_records(load, 100)
        lab.wait_for_isr("still", 3)


def test_a_group_and_a_transaction_move_from_coordinators_of_jbodlab_to_apache_kafkas(
    both: Both,
) -> None:
    lab, broker = both
    lab.create("ours", (1, 2, 3))
    for topic in COORDINATED:
        lab.reassign(topic, (BROKER_ID, 3), partition_count=2)  # Neither leads it now.
        lab.reassign(topic, (BROKER_ID, 1, 2), partition_count=2)
        lab.wait_for_isr(topic, 3)
    assert lab.coordinator("our readers", GROUP) == BROKER_ID
    producer = transactional(lab, "our writer")
    producer.begin_transaction()
    write(producer, "ours", range(20))
    producer.commit_transaction(DEADLINE_S)
    assert consumed(lab, "ours", "our readers", 20) == list(range(20))
    producer.begin_transaction()
    write(producer, "ours", range(20, 40))

    broker.kill()
    lab.wait_until(
        lambda: lab.coordinator("our writer", TRANSACTION) != BROKER_ID, "another one coordinates"
    )
    producer.commit_transaction(DEADLINE_S)
    assert consumed(lab, "ours", "our readers", 20) == list(range(20, 40))
    broker.start()
    for topic in COORDINATED:
        lab.reassign(topic, (1, 2, 3), partition_count=2)
        lab.wait_for_isr(topic, 3)
