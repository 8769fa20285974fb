"""Groups: who owns what, and where who goes on."""

from __future__ import annotations

from protocol.ids import TopicPartition
from simulation.core.checkers.groups import check_groups
from simulation.core.history import NO_GENERATION, Assignment, Commit, Function, Poll, Read, Txn
from simulation.core.rebalances import UnheardRebalance
from simulation.core.samples import Damage, FaultSample
from tests.simulation.core.checkers.build import SECOND_US, TP, Story

OTHER = TopicPartition("orders", 1)


class GroupStory(Story):
    """Members of one group."""

    def assign(self, client: str, generation: int, *tps: TopicPartition) -> None:
        told = Assignment("g", generation, tps)
        self.history.begin(client, Function.ASSIGN, told).ok(told)

    def told(
        self,
        client: str,
        generation: int,
        *tps: TopicPartition,
        asked_s: float,
        at_s: float | None = None,
    ) -> None:
        """By the consumer protocol; half a second after it asked, or when it is said."""
        self.at(asked_s + 0.5 if at_s is None else at_s)
        told = Assignment("g", generation, tps, int(asked_s * SECOND_US))
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


LOOKS = "offsets.retention.check.interval.ms"


def test_the_generations_of_a_group_that_was_forgotten_come_again() -> None:
    story = GroupStory()
    story.configs[LOOKS] = "300"
    story.told("one", 2, TP, asked_s=1)
    story.told("other", 3, asked_s=2)
    story.told("other", 2, TP, asked_s=3)
    story.told("one", 3, TP, asked_s=2.25, at_s=4)  # It had asked before: of the first group.
    story.told("one", 2, asked_s=4.5)
    story.told("other", 3, TP, asked_s=5)
    assert story.texts == []

    story.told("one", 3, TP, asked_s=6)

    assert story.texts == ["orders-0 has two owners in generation 3 of group g: other and one"]


def left_by_all(*others: str) -> GroupStory:
    """Return a story in which ``one`` left at 2 s; coordinators look every 0.3 s."""
    story = GroupStory()
    story.configs[LOOKS] = "300"
    story.at(1)
    for client in ("one", *others):
        story.assign(client, 1, *([TP] if client == "one" else []))
    story.at(2)
    story.assign("one", NO_GENERATION)
    return story


def test_a_group_that_its_classic_members_have_left_begins_anew_after_a_look() -> None:
    story = left_by_all()
    story.at(2.3)
    story.assign("other", 1, TP)

    assert story.texts == []

    story.assign("one", 1, TP)

    assert story.texts == ["orders-0 has two owners in generation 1 of group g: other and one"]


def test_a_group_that_was_left_just_now_or_by_some_is_not_forgotten() -> None:
    told = ["orders-0 has two owners in generation 1 of group g: one and other"]
    early = left_by_all()
    early.at(2.2)
    early.assign("other", 1, TP)
    assert early.texts == told

    some = left_by_all("third")
    some.at(3)
    some.assign("other", 1, TP)
    assert some.texts == told


def test_a_group_that_was_left_and_has_offsets_is_not_forgotten() -> None:
    story = left_by_all()
    story.commit("one", 5)
    story.at(3)
    story.assign("other", 1, TP)

    assert story.texts == ["orders-0 has two owners in generation 1 of group g: one and other"]


def test_a_group_that_has_offsets_is_not_forgotten() -> None:
    story = GroupStory()
    story.configs[LOOKS] = "300"
    story.told("one", 2, TP, asked_s=1)
    story.commit("one", 5)
    story.told("other", 3, asked_s=2)
    story.told("other", 2, TP, asked_s=3)

    assert story.texts == ["orders-0 has two owners in generation 2 of group g: one and other"]


def test_a_group_is_not_forgotten_before_its_coordinator_looks() -> None:
    story = GroupStory()
    story.told("one", 2, TP, asked_s=1)
    story.told("other", 3, asked_s=2)
    story.told("other", 2, TP, asked_s=3)

    assert story.texts == ["orders-0 has two owners in generation 2 of group g: one and other"]


def test_a_generation_that_was_told_after_the_question_forgets_no_group() -> None:
    story = GroupStory()
    story.configs[LOOKS] = "300"
    story.told("one", 2, TP, asked_s=1)
    story.told("one", 3, asked_s=3)
    story.told("other", 2, TP, asked_s=2, at_s=4)

    assert story.texts == ["orders-0 has two owners in generation 2 of group g: one and other"]


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


def test_a_fenced_member_that_goes_on_from_where_it_was_is_fine_and_one_that_asked_is_not() -> None:
    """Seed 120: what it reads beside a partition that it reads again."""
    story = GroupStory()
    story.assign("one", 1, TP, OTHER)
    story.reads("one", 0)
    story.commit("other", 5)
    placed = Assignment("g", 1, (TP, OTHER), placed=(TP,))
    story.history.begin("one", Function.ASSIGN, placed).ok(placed)
    story.reads("one", 1)

    assert story.texts == []
    story.assign("one", 1, TP, OTHER)
    story.reads("one", 2)

    assert story.texts == [
        "one reads orders-0 from offset 2, after it was answered that its group had committed 5"
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


def test_a_commit_under_a_generation_that_is_over_is_told() -> None:
    story = GroupStory()
    late = Commit("g", ((TP, 3),), is_late=True)
    story.history.begin("one", Function.COMMIT, late).fail("ILLEGAL_GENERATION")
    assert story.texts == []

    story.history.begin("one", Function.COMMIT, late).ok(late)

    assert story.texts == [
        "one committed orders-0 for group g under a generation that was over for it"
    ]


def test_a_partition_goes_to_a_member_when_the_one_before_has_given_it_back() -> None:
    story = GroupStory()
    story.told("one", 1, TP, OTHER, asked_s=1)
    story.told("one", 1, TP, asked_s=2)
    story.told("other", 2, OTHER, asked_s=3)
    story.told("one", 2, TP, asked_s=4)

    assert story.texts == []


def test_a_partition_that_another_member_has_before_it_is_given_back_is_told() -> None:
    story = GroupStory()
    story.told("one", 1, TP, OTHER, asked_s=1)
    story.told("other", 2, OTHER, asked_s=2)
    story.told("one", 1, TP, asked_s=3)

    assert story.texts == [
        "other was assigned orders-1 in generation 2 of group g, and one had to give it back "
        "later, in generation 1"
    ]


def test_a_member_that_joins_anew_or_hears_late_gives_nothing_back() -> None:
    story = GroupStory()
    story.told("one", 1, TP, OTHER, asked_s=1)
    story.told("other", 2, OTHER, asked_s=9)
    story.told("one", 1, TP, asked_s=3, at_s=10)
    story.told("third", 3, TP, asked_s=11)
    story.told("one", 4, asked_s=12)

    assert story.texts == []


def _unheard() -> Story:
    story = Story()
    since_us = 2 * SECOND_US
    story.samples.unheard.append(UnheardRebalance(4 * SECOND_US, since_us, "first", "second", "g"))
    return story


def test_a_member_that_hears_of_no_rebalance_is_told() -> None:
    story = _unheard()
    story.samples.faults.append(FaultSample(0, None, "broker-1", "d1", what="eio"))
    (violation,) = check_groups(story.evidence)
    assert violation.at_us == 4 * SECOND_US
    assert violation.text == (
        "first was told twice that nothing is new in group g, and second has waited to join it "
        "since 2.000000 s"
    )


def test_faults_of_the_network_and_of_requests_keep_members_from_hearing() -> None:
    for what in ("latency", "hold"):
        for end_us in (None, 3 * SECOND_US):
            story = _unheard()
            story.samples.faults.append(FaultSample(0, end_us, "", what=what))
            assert check_groups(story.evidence) == []
    over = _unheard()
    over.samples.faults.append(FaultSample(0, SECOND_US, "", what="latency"))
    assert len(check_groups(over.evidence)) == 1
