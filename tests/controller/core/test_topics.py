"""Topics of the cluster file, and where replicas may go."""

from __future__ import annotations

from dataclasses import replace

from controller.core.run_state import WantedTopic
from tests.controller.core.cluster import SESSION_MS, Cluster, settings, three_brokers

ORDERS = WantedTopic(name="orders", partitions=4, replication_factor=2, configs={})


def wanting(*topics: WantedTopic) -> Cluster:
    cluster = Cluster()
    cluster.machine.want_topics(list(topics))
    return cluster


def test_wanted_topics_come_with_the_last_broker_of_the_file() -> None:
    cluster = wanting(ORDERS)
    cluster.start_broker(1)
    cluster.start_broker(2)
    assert cluster.state.topics == {}

    cluster.start_broker(3)

    assert len(cluster.state.topics["orders"].partitions) == 4
    assert len(cluster.state.topics["orders"].topic_id) == 16
    assert cluster.machine.run.wanted_topics == []


def test_enough_brokers_do_after_a_while() -> None:
    cluster = wanting(ORDERS)
    cluster.start_broker(1)
    cluster.start_broker(2)

    for _ in range(8):
        cluster.advance(SESSION_MS // 6)
        cluster.beat(1)
        cluster.beat(2)

    assert list(cluster.state.topics) == ["orders"]


def test_a_topic_that_exists_is_left_as_it_is() -> None:
    cluster = wanting()
    cluster.start_broker(1)
    cluster.create("orders", [1])

    after = cluster.restart()
    after.machine.want_topics([ORDERS])
    for broker_id in (1, 2, 3):
        after.start_broker(broker_id)

    assert len(after.state.topics["orders"].partitions) == 1


def test_a_bad_topic_of_the_file_is_named_and_the_others_are_made() -> None:
    bad = WantedTopic(name="a b", partitions=1, replication_factor=1, configs={})
    cluster = wanting(bad, ORDERS)

    for broker_id in (1, 2, 3):
        cluster.start_broker(broker_id)

    assert list(cluster.state.topics) == ["orders"]
    assert any("topic a b of the cluster file" in note.text for note in cluster.notes)


def test_a_topic_knows_which_decision_made_it_but_in_zookeeper() -> None:
    cluster = wanting(ORDERS)
    for broker_id in (1, 2, 3):
        cluster.start_broker(broker_id)
    made = cluster.state.topics["orders"].decision
    assert made == cluster.state.journal_number > 0
    assert cluster.replay().topics["orders"].decision == made

    kept = three_brokers(config=replace(settings(), has_zookeeper=True))
    kept.create("t", [1])
    assert kept.state.topics["t"].decision == 0
