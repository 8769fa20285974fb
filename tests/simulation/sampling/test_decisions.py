"""What a controller decided, written down when it changes."""

from __future__ import annotations

from controller.core.state import ClusterState
from protocol.ids import TopicPartition
from simulation.core.samples import PartitionSample, Samples, TopicSample
from simulation.sampling.decisions import DecisionSampler
from tests.controller.core.cluster import three_brokers

TP = TopicPartition("orders", 0)


class Watched:
    """A state that is looked at by hand."""

    def __init__(self) -> None:
        self.samples = Samples()
        self._watch = DecisionSampler(self.samples)
        self._now_us = 0

    def look(self, state: ClusterState) -> list[PartitionSample]:
        """Look once and return what was written of partitions."""
        before = len(self.samples.partitions)
        self._now_us += 1
        self._watch.look(state, self._now_us)
        return self.samples.partitions[before:]


def test_a_partition_is_written_down_once_as_long_as_nothing_changes() -> None:
    cluster = three_brokers()
    cluster.create_and_forget("orders", [1, 2])
    watched = Watched()

    (made,) = watched.look(cluster.state)

    assert (made.tp, made.replicas, made.isr, made.leader) == (TP, (1, 2), (1, 2), 1)
    assert watched.look(cluster.state) == []
    assert watched.samples.topics == [TopicSample(1, "orders", {})]


def test_a_broker_that_registers_anew_is_another_sample() -> None:
    cluster, watched = three_brokers(), Watched()
    watched.look(cluster.state)
    watched.look(cluster.state)
    before = [each for each in watched.samples.brokers if each.broker == 2]
    cluster.start_broker(2)
    watched.look(cluster.state)
    (first, again) = [each for each in watched.samples.brokers if each.broker == 2]
    assert before == [first]
    assert (first.is_usable, again.is_usable) == (True, True)
    assert first.life < again.life
    cluster.expire(2)
    watched.look(cluster.state)
    assert watched.samples.brokers[-1][1:] == (2, False, (again.life[0], True))


def test_a_state_that_was_rebuilt_and_says_the_same_is_no_change() -> None:
    watched = Watched()
    for _ in range(2):
        cluster = three_brokers()
        cluster.create_and_forget("orders", [1, 2])
        watched.look(cluster.state)

    assert [sample.at_us for sample in watched.samples.partitions] == [1]


def test_a_leader_that_was_elected_unclean_recovers_in_the_sample() -> None:
    """The Isr shrinks, and its last member fails, between two looks."""
    cluster = three_brokers()
    cluster.create("orders", [1, 2], configs={"unclean.leader.election.enable": "true"})
    watched = Watched()
    (made,) = watched.look(cluster.state)
    cluster.expire(2)
    cluster.start_broker(2)
    cluster.fail_log_dir(1, 1, [str(TP)])

    (elected,) = watched.look(cluster.state)

    assert (made.isr, made.is_recovering) == ((1, 2), False)
    assert (elected.leader, elected.isr, elected.is_recovering) == (2, (2,), True)


def test_a_topic_that_is_not_there_any_more_is_deleted() -> None:
    cluster = three_brokers()
    cluster.create_and_forget("orders", [1, 2])
    watched = Watched()
    watched.look(cluster.state)

    (gone,) = watched.look(three_brokers().state)

    assert (gone.is_deleted, gone.is_gone) == (True, True)


def test_what_was_decided_and_never_durable_is_forgotten_with_its_process() -> None:
    cluster = three_brokers()
    cluster.create_and_forget("orders", [1, 2])
    samples = Samples()
    watch = DecisionSampler(samples)
    watch.look(cluster.state, 1)
    watch.note_durable(cluster.state, cluster.state.journal_number)
    durable_number = cluster.state.journal_number
    cluster.create_and_forget("payments", [2, 3])
    watch.look(cluster.state, 2)
    watch.note_durable(cluster.state, durable_number)
    assert [each.tp.topic for each in samples.partitions] == ["orders", "payments"]

    watch.forget_lost(durable_number)

    assert [each.tp for each in samples.partitions] == [TP]
    assert samples.topics == [TopicSample(1, "orders", {})]
    watch.look(cluster.state, 3)
    assert [(each.at_us, each.tp.topic) for each in samples.partitions] == [
        (1, "orders"),
        (3, "payments"),
    ]


def test_what_was_durable_when_its_process_ended_is_kept() -> None:
    cluster = three_brokers()
    samples = Samples()
    watch = DecisionSampler(samples)
    cluster.create_and_forget("orders", [1, 2])
    watch.look(cluster.state, 1)
    watch.note_durable(cluster.state, cluster.state.journal_number)

    watch.forget_lost(cluster.state.journal_number)

    assert [each.tp for each in samples.partitions] == [TP]


def test_a_topic_that_was_deleted_before_what_was_lost_is_not_written_down_anew() -> None:
    with_orders, emptied, lost = three_brokers(), three_brokers(), three_brokers()
    with_orders.create_and_forget("orders", [1, 2])
    lost.create_and_forget("payments", [2, 3])
    samples = Samples()
    watch = DecisionSampler(samples)
    watch.look(with_orders.state, 1)
    watch.look(emptied.state, 2)
    emptied.state.journal_number, lost.state.journal_number = 7, 8
    watch.note_durable(emptied.state, 7)
    watch.look(lost.state, 3)
    watch.note_durable(lost.state, 7)

    watch.forget_lost(7)
    watch.look(emptied.state, 4)

    assert [(each.at_us, each.is_deleted) for each in samples.partitions] == [(1, False), (2, True)]
