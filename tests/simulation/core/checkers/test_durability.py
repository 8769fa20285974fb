from __future__ import annotations

import pytest

from protocol.ids import TopicPartition
from simulation.core.checkers.durability import check_durability
from simulation.core.history import NAMELESS, UNREADABLE, Function, Order, Poll, Read, Send
from simulation.core.samples import Damage, Role, TopicSample
from tests.simulation.core.checkers.build import TP, Story
from tests.simulation.core.checkers.transaction_story import TransactionStory, send


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_durability(story.evidence)]


def test_what_was_acknowledged_and_is_there_is_fine() -> None:
    story = Story().at(1)
    story.send(10, 11, offset=0)
    story.read((0, 10), (1, 11))
    story.log(1, 10, 11, is_leader=True)

    assert _texts(story) == []


def test_an_acknowledged_record_that_is_not_in_the_log_is_lost() -> None:
    story = Story().at(1)
    story.send(10, 11, offset=0)
    story.log(1, 10, is_leader=True)

    assert _texts(story) == [
        "orders-0 offset 1, record 11, acknowledged by broker 1 at leader epoch 0, "
        "is not in the leader's log"
    ]


def test_an_acknowledged_record_in_whose_place_is_another_one_was_changed() -> None:
    story = Story().at(1)
    story.send(10, offset=0)
    story.log(1, 99, is_leader=True)

    assert _texts(story) == [
        "orders-0 offset 0, record 10, acknowledged by broker 1 at leader epoch 0, "
        "is record 99 in the end"
    ]


def test_a_record_acknowledged_without_an_offset_must_be_anywhere() -> None:
    story = Story().at(1)
    story.send(10)
    story.send(11)
    story.log(1, 9, 10, is_leader=True)

    (text,) = _texts(story)

    assert text.startswith("orders-0, record 11, ")


@pytest.mark.parametrize("acks", [0, 1])
def test_acks_0_and_1_promise_nothing(acks: int) -> None:
    story = Story().at(1)
    story.send(10, offset=0, acks=acks)
    story.log(1, is_leader=True)

    assert _texts(story) == []


def test_what_a_consumer_read_may_not_go_either_and_is_told_once() -> None:
    story = Story().at(1)
    story.read((0, 10))
    story.read((0, 10))
    story.log(1, is_leader=True)

    (text,) = _texts(story)

    assert text == (
        "orders-0 offset 0, record 10, read from broker 1 at leader epoch 0, "
        "is not in the leader's log"
    )


def test_two_reads_of_one_offset_agree() -> None:
    story = Story().at(1)
    story.read((0, 10))
    story.read((0, 11), broker=2)

    assert _texts(story) == [
        "orders-0 offset 0 is record 11, read from broker 2 at leader epoch 0, "
        "and was record 10, read from broker 1 at leader epoch 0"
    ]


def test_a_record_that_no_client_wrote_is_never_read() -> None:
    story = Story().at(1)
    story.read((0, UNREADABLE))

    (text,) = _texts(story)

    assert text.startswith("orders-0 offset 0 holds what no client wrote")


def test_records_below_the_log_start_must_have_been_deleted() -> None:
    story = Story().at(1)
    story.send(10, 11, offset=0)
    story.log(1, 11, start=1, is_leader=True)

    (text,) = _texts(story)
    assert text.endswith("is below the log's start 1, and nobody deleted it")

    story.order(Function.DELETE_RECORDS, Order("orders", 0, offset=1))
    assert _texts(story) == []


def test_deleting_records_of_one_partition_or_before_an_offset_excuses_no_others() -> None:
    story = Story().at(1)
    story.send(10, 11, 12, offset=0)
    story.log(1, 12, start=2, is_leader=True)
    story.order(Function.DELETE_RECORDS, Order("orders", 1, offset=9))
    story.order(Function.DELETE_RECORDS, Order("orders", 0, offset=1))

    (text,) = _texts(story)

    assert text.startswith("orders-0 offset 1, record 11,")


def test_retention_excuses_what_is_below_the_log_start_alone() -> None:
    story = Story().at(1)
    story.send(10, 11, 12, offset=0)
    story.samples.topics.append(TopicSample(0, "orders", {"retention.bytes": "100"}))
    story.log(1, 11, start=1, is_leader=True)

    (text,) = _texts(story)

    assert text.startswith("orders-0 offset 2, record 12,")


def test_a_topic_takes_along_what_was_written_before_it_was_deleted() -> None:
    story = Story().at(1)
    story.send(10, offset=0)
    story.at(2).order(Function.DELETE_TOPIC, Order("orders"))
    story.at(3).send(20, offset=0)
    story.log(1, 20, is_leader=True)
    assert _texts(story) == []

    story.at(4).send(21, offset=1)
    assert len(_texts(story)) == 1


def test_a_topic_of_which_nobody_knows_whether_it_was_deleted_is_not_asked_for() -> None:
    story = Story().at(1)
    story.send(10, offset=0)
    story.history.begin("admin", Function.DELETE_TOPIC, Order("orders")).unknown("timed out")
    story.log(1, is_leader=True)

    assert _texts(story) == []


def test_records_without_a_key_go_when_their_topic_is_compacted() -> None:
    story = Story().at(1)
    story.send(10, offset=0)
    story.samples.topics.append(TopicSample(0, "orders", {"cleanup.policy": "compact"}))
    story.log(1, is_leader=True)

    assert _texts(story) == []


def test_the_newest_record_of_a_key_stays_in_a_compacted_topic() -> None:
    story = Story().at(1)
    story.samples.topics.append(TopicSample(0, "orders", {"cleanup.policy": "compact"}))
    send = Send(TP, (0, 1, 2), -1, base_offset=0, broker=1, leader_epoch=0, keys=2)
    story.history.begin("writer", Function.SEND, send).ok(send)
    story.log(1, 1, 2, start=1, is_leader=True)
    story.samples.logs[0] = story.samples.logs[0]._replace(log_start_offset=0)
    assert _texts(story) == []

    story.log(1, 0, 1, is_leader=True)
    story.samples.logs.pop(0)
    assert _texts(story) == [
        "orders-0 offset 2, record 2, acknowledged by broker 1 at leader epoch 0, "
        "is not in the leader's log"
    ]


def test_an_answer_that_was_on_its_way_for_long_may_tell_of_what_is_lost_since() -> None:
    story = Story().at(0)
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    poll = Poll(1, (Read(TP, 0, 0, ((0, 10),)),))
    reading = story.at(1).history.begin("reader", Function.POLL, poll)
    sending = story.begin_send(10)
    story.at(2).samples.damages.append(Damage(story.now_us, 1, "d1", "power cut"))
    reading.ok(poll)
    send = Send(TP, (10,), -1, None, 0, 1, 0)
    story.at(3)
    sending.ok(send._replace(asked_us=1_500_000))
    story.log(1, is_leader=True)
    assert _texts(story) == []

    story.begin_send(11).ok(send._replace(records=(11,), asked_us=2_500_000))
    assert len(_texts(story)) == 1


def test_a_record_whose_number_an_old_client_cannot_read_is_no_other_one() -> None:
    story = Story().at(1)
    story.send(10, offset=0)
    story.read((0, NAMELESS))
    story.log(1, 10, is_leader=True)

    assert _texts(story) == []


def test_what_the_fault_model_forgives_is_no_violation_and_what_came_after_it_is() -> None:
    story = Story().at(0)
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    story.at(1).send(10, offset=0)
    story.at(2).samples.damages.append(Damage(story.now_us, 1, "d1", "power cut"))
    story.at(3).send(11, offset=0)
    story.log(1, is_leader=True)

    (text,) = _texts(story)

    assert text.startswith("orders-0 offset 0, record 11,")


@pytest.mark.parametrize(("epoch", "told"), [(1, 0), (2, 1), (-1, 1)])
def test_a_deposed_leader_has_still_what_the_others_lost(epoch: int, told: int) -> None:
    """It was paused, and heard of nothing; its reader names no epochs (seed 1068983)."""
    story = Story()
    story.replica(2, log_dir="d1")
    story.partition(isr=(1, 2), leader=1, epoch=1)
    story.at(1).samples.damages.append(Damage(story.now_us, 2, "d1", "power cut"))
    story.at(2).partition(isr=(2,), leader=2, epoch=2)
    read = Poll(1, (Read(TP, 0, epoch, ((0, 10),)),))
    story.at(3).history.begin("reader", Function.POLL, read).ok(read)
    story.log(2, 98, is_leader=True)

    assert len(_texts(story)) == told


@pytest.mark.parametrize("is_forgotten", [True, False])
@pytest.mark.parametrize("client", ["writer", "other"])
def test_an_epoch_that_a_coordinator_forgot_and_gave_again(client: str, is_forgotten: bool) -> None:
    """Seed 1070429: its first batch was taken for that of the producer before."""
    story = TransactionStory()
    state = TP._replace(topic="__transaction_state")
    story.partition(isr=(1,), replicas=(1,), tp=state)
    story.replica(1, tp=state)
    story.at(1)
    story.txn(send(10, 0))
    if is_forgotten:
        story.at(2).samples.damages.append(Damage(story.now_us, 1, "d1", "power cut"))
    story.at(3)
    story.txn(send(11, 0), client=client)
    story.log(1, 10, is_leader=True)

    assert (_texts(story) == []) is (is_forgotten and client == "writer")


def test_a_leader_that_does_not_know_of_an_unclean_election_promises_nothing() -> None:
    story = Story()
    story.partition(isr=(1,), leader=1, epoch=0)
    story.at(1).partition(isr=(2,), leader=2, epoch=1)
    story.at(2).read((0, 10), broker=1)
    story.send(11, offset=1)
    story.log(2, 98, 99, is_leader=True)

    assert _texts(story) == []

    story.at(3).partition(isr=(2,), leader=2, epoch=0, topic_id=b"made anew")

    assert len(_texts(story)) == 2, "the epochs of another topic say nothing"


@pytest.mark.parametrize(("is_led_still", "is_promised"), [(True, False), (False, True)])
def test_a_library_may_have_been_answered_by_a_leader_that_does_not_know(
    is_led_still: bool, is_promised: bool
) -> None:
    story = Story()
    story.partition(isr=(1,), leader=1, epoch=0)
    story.replica(1, Role.LEADER, epoch=0)
    story.at(1).partition(isr=(2,), leader=2, epoch=1)
    if not is_led_still:
        story.replica(1, Role.FOLLOWER, epoch=1)
    send = Send(TP, (11,), -1, base_offset=1)
    story.at(2).history.begin("library", Function.SEND, send).ok(send)
    story.log(2, 98, 99, is_leader=True)

    assert (_texts(story) != []) is is_promised


def test_a_log_whose_bytes_were_changed_on_purpose_is_not_asked() -> None:
    story = Story().at(1)
    story.send(10, offset=0)
    story.samples.damages.append(Damage(2, 1, "d1", "bit flip", is_lasting=True))
    story.log(1, 99, is_leader=True)

    assert _texts(story) == []


def test_a_partition_without_a_leader_s_log_is_not_available_and_not_lost() -> None:
    story = Story().at(1)
    story.send(10, tp=TopicPartition("orders", 7), offset=0)
    story.log(1, 10, tp=TP, is_leader=True)

    assert _texts(story) == []


def test_a_deletion_that_waits_takes_along_what_is_written_meanwhile() -> None:
    story = Story().at(1)
    story.partition()
    story.order(Function.DELETE_TOPIC, Order("orders"))
    story.at(2).send(7, offset=0)
    story.at(3).partition(is_deleted=True)

    assert _texts(story) == []


def test_a_partition_that_vanished_took_its_records_along() -> None:
    story = Story().at(1)
    story.partition()
    story.send(7, offset=0)
    story.at(2).partition(is_deleted=True)

    (violation,) = check_durability(story.evidence)

    assert violation.text == (
        "orders-0 is gone, and nobody deleted it; record 7 was acknowledged by broker 1 at leader "
        "epoch 0"
    )


def test_but_not_when_somebody_deleted_it_or_changed_the_journal_by_hand() -> None:
    story = Story().at(1)
    story.partition()
    story.send(7, offset=0)
    story.samples.journal_edits_us.append(story.now_us)
    story.at(2).partition(is_deleted=True)
    assert check_durability(story.evidence) == []

    story.samples.journal_edits_us.clear()
    story.order(Function.DELETE_TOPIC, Order("orders"))
    assert check_durability(story.evidence) == []


def test_what_a_library_fetched_ahead_may_be_lost_since() -> None:
    story = Story()
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    polls = [Poll(-1, (Read(TP, 0, records=((offset, offset + 1),)),)) for offset in (0, 1)]
    story.at(1)
    story.history.begin("reader", Function.POLL, polls[0]).ok(polls[0])
    story.at(2)
    story.samples.damages.append(Damage(story.now_us, 1, "d1", "power cut"))
    story.at(3)
    story.history.begin("reader", Function.POLL, polls[1]).ok(polls[1])
    story.log(1, is_leader=True)

    assert _texts(story) == []


def test_what_a_library_was_given_twice_since_may_not() -> None:
    story = Story()
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    story.at(2)
    story.samples.damages.append(Damage(story.now_us, 1, "d1", "power cut"))
    for second, offset in ((3, 0), (4, 1)):
        poll = Poll(-1, (Read(TP, 0, records=((offset, offset + 1),)),))
        story.at(second)
        story.history.begin("reader", Function.POLL, poll).ok(poll)
    story.log(1, is_leader=True)

    assert len(_texts(story)) == 1
