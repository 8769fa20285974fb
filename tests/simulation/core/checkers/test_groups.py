"""Groups: who owns what, and where who goes on."""

from __future__ import annotations

from protocol.ids import TopicPartition
from simulation.core.checkers.groups import check_groups
from simulation.core.history import Assignment, Commit, Function, Poll, Read, Txn
from simulation.core.samples import Damage
from tests.simulation.core.checkers.build import TP, Story

OTHER = TopicPartition("orders", 1)


class GroupStory(Story):
    """Members of one group."""

    def assign(self, client: str, generation: int, *tps: TopicPartition) -> None:
        told = Assignment("g", generation, tps)
        self.history.begin(client, Function.ASSIGN, told).ok(told)

    def commit(self, client: str, offset: int) -> None:
        told = Commit("g", ((TP, offset),))
        self.history.begin(client, Function.COMMIT, told).ok(told)

    def reads(self, client: str, offset: int) -> None:
        told = Poll(-1, (Read(TP, offset, records=((offset, 7),)),))
        self.history.begin(client, Function.POLL, told).ok(told)

    @property
    def texts(self) -> list[str]:
        return [violation.text for violation in check_groups(self.evidence)]


def test_partitions_that_are_shared_and_change_owners_with_the_generation_are_fine() -> None:
    story = GroupStory()
    story.assign("one", 1, TP)
    story.assign("other", 1, OTHER)
    story.assign("other", 2, TP, OTHER)
    story.assign("other", 2, TP, OTHER)

    assert story.texts == []


def test_two_owners_of_a_partition_in_one_generation_are_told() -> None:
    story = GroupStory()
    story.assign("one", 1, TP, OTHER)
    story.assign("other", 1, TP)

    assert story.texts == ["orders-0 has two owners in generation 1 of group g: one and other"]


def test_a_member_that_begins_before_an_answered_commit_is_told_once() -> None:
    story = GroupStory()
    story.assign("one", 1, TP)
    story.reads("one", 0)
    story.commit("one", 5)
    story.assign("other", 2, TP)
    story.reads("other", 3)
    story.reads("other", 4)

    assert story.texts == [
        "other reads orders-0 from offset 3, after it was answered that its group had committed 5"
    ]


def test_offsets_that_a_transaction_committed_bind_the_next_member() -> None:
    story = GroupStory()
    txn = Txn("one", (), (Read(TP, 0, records=((0, 7), (1, 8))),), "g")
    story.history.begin("one", Function.TXN, txn).fail("aborted")
    story.assign("other", 1, TP)
    story.reads("other", 0)
    story.history.begin("one", Function.TXN, txn).ok(txn)
    story.assign("other", 2, TP)
    story.reads("other", 1)

    assert story.texts == [
        "other reads orders-0 from offset 1, after it was answered that its group had committed 2"
    ]


def test_a_commit_that_is_not_answered_before_the_assignment_binds_nobody() -> None:
    story = GroupStory()
    story.assign("one", 1, TP)
    late = Commit("g", ((TP, 5),))
    committing = story.history.begin("one", Function.COMMIT, late)
    story.assign("other", 2, TP)
    committing.ok(late)
    story.history.begin("one", Function.COMMIT, late).unknown("NETWORK_EXCEPTION")
    story.reads("other", 0)

    assert story.texts == []


def test_what_all_replicas_may_have_lost_may_be_read_again() -> None:
    story = GroupStory()
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    story.assign("one", 1, TP)
    story.commit("one", 5)
    story.samples.damages.append(Damage(1, 1, "d1", "power cut"))
    story.assign("other", 2, TP)
    story.reads("other", 0)

    assert story.texts == []
