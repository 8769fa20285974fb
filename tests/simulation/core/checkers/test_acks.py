from __future__ import annotations

import pytest

from simulation.core.checkers.acks import check_acks
from simulation.core.history import Function, Order, Send, Txn
from simulation.core.samples import FaultSample, NodeSample, Role, SampleSource, TopicSample
from tests.simulation.core.checkers.build import SECOND_US, TP, Story


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_acks(story.evidence)]


def _story() -> Story:
    story = Story()
    story.samples.sources = (SampleSource.CLIENTS, SampleSource.COMMITS)
    return story


def _lead(
    story: Story,
    high_watermark: int,
    *,
    isr: tuple[int, ...] = (1, 2),
    epoch: int = 0,
    boot: int = 1,
    partition_epoch: int = -1,
) -> None:
    story.replica(
        1,
        Role.LEADER,
        end=9,
        high_watermark=high_watermark,
        isr=isr,
        epoch=epoch,
        boot=boot,
        partition_epoch=partition_epoch,
    )


def _needs(story: Story, count: int) -> None:
    story.partition(replicas=(1, 2))
    config = {"min.insync.replicas": str(count)}
    story.samples.topics.append(TopicSample(story.now_us, "orders", config))


def test_an_answer_comes_when_the_isr_has_the_records() -> None:
    story = _story()
    _lead(story, 0)
    _lead(story.at(1), 2)
    story.send(7, 8, offset=0)

    assert _texts(story) == []


def test_an_answer_that_comes_sooner_is_told() -> None:
    story = _story()
    _lead(story, 0)
    _lead(story.at(1), 1)
    story.send(7, 8, offset=0)
    _lead(story.at(2), 2)

    assert _texts(story) == [
        "broker 1 acknowledged orders-0 up to offset 1 at leader epoch 0, "
        "and its high watermark was 1 then"
    ]


def test_a_look_comes_a_little_later_than_the_answer() -> None:
    story = _story()
    _lead(story, 0)
    story.at(1).send(7, 8, offset=0)
    _lead(story.at(1.039), 2)

    assert _texts(story) == []


def test_answers_without_acks_of_all_wait_for_nobody() -> None:
    story = _story()
    _lead(story, 0)
    story.at(1).send(7, offset=0, acks=1)

    assert _texts(story) == []


def test_nothing_is_known_across_leaderships_and_processes() -> None:
    for epoch, boot in ((1, 1), (0, 2)):
        story = _story()
        _lead(story, 0)
        story.at(1).send(7, offset=0)
        _lead(story.at(1.01), 0, epoch=epoch, boot=boot)

        assert _texts(story) == []


def test_nothing_is_known_of_a_broker_that_nobody_saw_lead() -> None:
    story = _story()
    story.replica(1, end=9)
    story.at(1).send(7, offset=0)
    story.send(8, offset=0, broker=2)

    assert _texts(story) == []


def test_the_isr_has_to_be_large_enough() -> None:
    story = _story()
    _needs(story, 2)
    _lead(story, 1, isr=(1,))
    story.at(1).send(7, offset=0)

    assert _texts(story) == [
        "broker 1 acknowledged orders-0 at offset 0 with an Isr of [1], "
        "and min.insync.replicas was 2"
    ]


def _shrinking(follower_ends: int) -> Story:
    """Its follower leaves the Isr while a record waits for it."""
    story = _story()
    _needs(story, 2)
    _lead(story, 0)
    story.replica(2, Role.FOLLOWER, end=follower_ends)
    sending = story.at(1).begin_send(7)
    _lead(story.at(2), 1, isr=(1,))
    sending.ok(sending.value._replace(base_offset=0, broker=1))
    return story


def test_an_isr_that_was_large_enough_once_suffices() -> None:
    assert _texts(_shrinking(follower_ends=1)) == []


def test_who_is_offline_at_a_look_may_have_followed_since_the_last_one() -> None:
    """Its broker was down while the record was written, came into the Isr and lost its disk."""
    story = _story()
    _needs(story, 2)
    _lead(story, 0)
    story.replica(2, Role.GONE)
    sending = story.at(1).begin_send(7)
    _lead(story.at(2), 1, isr=(1,))
    sending.ok(sending.value._replace(base_offset=0, broker=1))
    assert len(_texts(story)) == 1

    story.replica(2, Role.OFFLINE, boot=2)
    assert _texts(story) == []


def test_who_started_meanwhile_may_have_followed_between_two_looks() -> None:
    """Seed 1041752: it came back, caught up and joined, and the topic was deleted, within 10 ms."""
    story = _story()
    _needs(story, 2)
    _lead(story, 0)
    story.replica(2, Role.GONE)
    sending = story.at(1).begin_send(7)
    _lead(story.at(2), 1, isr=(1,))
    sending.ok(sending.value._replace(base_offset=0, broker=1))
    story.samples.nodes.append(NodeSample(1, "broker-2", is_up=True, boot=1))
    assert len(_texts(story)) == 1

    story.samples.nodes.append(NodeSample(SECOND_US * 3 // 2, "broker-2", is_up=True, boot=2))
    assert _texts(story) == []


def test_one_that_shrank_before_enough_replicas_had_the_record_does_not() -> None:
    assert _texts(_shrinking(follower_ends=0)) == [
        "orders-0 was acknowledged at offset 0, which 1 replicas had, and min.insync.replicas was 2"
    ]


def test_nothing_is_known_of_a_topic_that_nobody_saw() -> None:
    story = _story()
    _needs(story, 2)
    story.at(1).send(7, offset=0)

    assert _texts(story) == []


def test_a_follower_that_ended_meanwhile_may_have_had_it() -> None:
    story = _shrinking(follower_ends=0)
    story.replica(2, Role.GONE)

    assert _texts(story) == []


def test_a_number_of_which_the_leader_cannot_have_heard_is_not_wanted() -> None:
    """Seed 681606: what was told to the leader waited for its answer to something else."""
    for node, count in (("broker-1", 0), ("broker-2", 1)):
        story = _story()
        _needs(story, 1)
        _lead(story, 1, isr=(1,))
        _needs(story.at(1), 2)
        story.at(2).send(7, offset=0)
        story.samples.faults.append(FaultSample(0, None, node, what="latency"))

        assert len(_texts(story)) == count


def test_no_more_is_wanted_than_a_partition_has_replicas_nor_than_its_topic_says() -> None:
    story = _story()
    _lead(story, 1, isr=(1,))
    story.at(1).send(7, offset=0)
    assert _texts(story) == []
    _needs(story.at(2), 3)
    story.samples.partitions.append(story.samples.partitions[-1]._replace(replicas=(1,)))
    story.at(3).send(8, offset=0)

    assert _texts(story) == []


@pytest.mark.parametrize(("replicas", "told"), [((1,), 0), ((1, 2), 1)])
def test_no_more_is_wanted_than_somebody_wanted_the_partition_to_have(
    replicas: tuple[int, ...], told: int
) -> None:
    """It had them between two looks (seed 1064166)."""
    story = _story()
    _needs(story, 2)
    story.order(Function.REASSIGN, Order("orders", 0, assignment=(replicas,)))
    _lead(story, 1, isr=(1,))
    story.at(1).send(7, offset=0)
    assert len(_texts(story)) == told


def test_a_smaller_number_that_held_at_any_time_of_the_request_suffices() -> None:
    story = _story()
    _needs(story, 2)
    _lead(story, 1, isr=(1,))
    story.samples.topics.append(TopicSample(1_000_000, "orders", {}))
    story.at(1).send(7, offset=0)

    assert _texts(story) == []


def test_where_high_watermarks_are_seen_late_nothing_is_said() -> None:
    story = Story()
    _lead(story, 0)
    story.at(1).send(7, offset=0)

    assert _texts(story) == []


def _appends(story: Story, *, isr: tuple[int, ...] = (1,), epoch: int = 0, end: int = 8) -> None:
    """Broker 1 is seen with an append on its way to the disk, and later with a longer log."""
    story.replica(1, Role.LEADER, end=5, next_offset=7, isr=(1,))
    story.at(1).begin_send(7)
    story.at(2).replica(1, Role.LEADER, end=end, next_offset=end, isr=isr, epoch=epoch)


def test_a_leader_with_too_small_an_isr_does_not_even_append() -> None:
    story = _story()
    _needs(story, 2)
    _appends(story)

    assert _texts(story) == [
        "broker 1 appended to orders-0 at offset 7 with an Isr of [1], min.insync.replicas was 2, "
        "and all was written with acks=all"
    ]


def test_what_it_took_before_may_come_to_the_disk_later() -> None:
    story = _story()
    _needs(story, 2)
    _appends(story, end=7)

    assert _texts(story) == []


def test_a_larger_isr_a_new_leadership_and_a_smaller_number_may_append() -> None:
    for isr, epoch, needed in (((1, 2), 0, 2), ((1,), 1, 2), ((1,), 0, 1)):
        story = _story()
        _needs(story, needed)
        _appends(story, isr=isr, epoch=epoch)

        assert _texts(story) == []


def test_who_writes_without_acks_of_all_or_in_transactions_may_have_written_it() -> None:
    story = _story()
    _needs(story, 2)
    _appends(story)
    story.send(9, acks=1)
    assert _texts(story) == []

    story = _story()
    _needs(story, 2)
    _appends(story)
    txn = Txn("pay", (Send(TP, (9,), -1),))
    story.history.begin("payer", Function.TXN, txn).ok(txn)
    assert _texts(story) == []


def test_what_brokers_need_counts_where_the_topic_says_nothing() -> None:
    story = _story()
    story.configs = {"min.insync.replicas": "2"}
    _appends(story)

    assert len(_texts(story)) == 1


@pytest.mark.parametrize(("looks", "is_sure"), [((3, 3), True), ((3, 5), False)])
def test_an_isr_that_grew_and_shrank_between_two_looks(
    looks: tuple[int, int], is_sure: bool
) -> None:
    """Seed 1112718: for 6 ms a follower was back, and the leader took what came then."""
    story = _story()
    _needs(story, 2)
    story.replica(1, Role.LEADER, end=7, next_offset=7, isr=(1,), partition_epoch=looks[0])
    story.at(1).begin_send(7)
    story.at(2).replica(1, Role.LEADER, end=8, isr=(1,), partition_epoch=looks[1])

    assert (_texts(story) != []) is is_sure

    answered = _story()
    _needs(answered, 2)
    answered.replica(2, end=9)
    _lead(answered, 9, isr=(1,), partition_epoch=looks[0])
    sending = answered.at(0.5).begin_send(7)
    _lead(answered.at(0.9), 9, isr=(1,), partition_epoch=looks[1])
    answered.at(1)
    sending.ok(Send(TP, (7,), -1, base_offset=0, broker=1, leader_epoch=0))

    assert (_texts(answered) != []) is is_sure
