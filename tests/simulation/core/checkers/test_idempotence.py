from __future__ import annotations

from simulation.core.checkers.idempotence import check_idempotence
from simulation.core.history import Function, Order, ProducerRange
from simulation.core.samples import BatchSample, Damage, LogSample, TopicSample
from tests.simulation.core.checkers.build import TP, Story, batch


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_idempotence(story.evidence)]


def _story(*batches: BatchSample, start: int = 0) -> Story:
    story = Story()
    story.samples.logs.append(
        LogSample(1, "d1", TP, False, log_start_offset=start, is_leader=True, batches=batches)
    )
    return story


def test_sequences_that_follow_each_other_are_fine() -> None:
    story = _story(
        batch(0, 1, 2, producer=(7, 0, 0)),
        batch(2, 50, producer=(8, 0, 0)),
        batch(3, 3, producer=(7, 0, 2)),
        batch(4, 4, producer=(7, 1, 0)),
        batch(5, 5),
    )

    assert _texts(story) == []


def test_sequences_wrap() -> None:
    story = _story(
        batch(3, 1, 2, producer=(7, 0, 2**31 - 2)), batch(5, 3, producer=(7, 0, 0)), start=3
    )

    assert _texts(story) == []


def test_a_gap_is_told() -> None:
    story = _story(batch(0, 1, producer=(7, 0, 0)), batch(1, 3, producer=(7, 0, 2)))

    assert _texts(story) == ["orders-0 offset 1: producer 7 epoch 0 has sequence 2 where 1 follows"]


def test_a_gap_at_the_beginning_is_told_unless_the_beginning_is_gone() -> None:
    lost_first = batch(0, 2, producer=(7, 0, 1))
    assert len(_texts(_story(lost_first))) == 1

    assert _texts(_story(batch(4, 2, producer=(7, 0, 1)), start=4)) == []

    story = _story(lost_first)
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    story.samples.damages.append(Damage(1, 1, "d1", "power cut"))
    assert _texts(story) == []


def test_an_id_that_two_clients_have_is_told_once() -> None:
    story = Story()
    for number, client in enumerate(("one", "one", "other", "other")):
        story.at(number).send(number, producer=ProducerRange(7, 0, number), client=client)
    story.send(9, producer=ProducerRange(8, 0, 0), client="other")
    for client in ("third", "fourth"):
        story.send(10, producer=ProducerRange(-1, -1, -1), client=client)

    (violation,) = check_idempotence(story.evidence)

    assert violation.at_us == 2_000_000
    assert violation.text == "producer id 7 was given to one and to other"


def test_what_a_misdirected_write_put_into_the_leaders_log_is_nobodys() -> None:
    story = _story(batch(0, 1, producer=(7, 0, 5)), batch(1, 1, producer=(7, 0, 9)))
    story.partition(isr=(1,), replicas=(1,))
    story.replica(1)
    assert len(_texts(story)) == 2

    story.samples.damages.append(Damage(1, 1, "d1", "misdirected", is_lasting=True, tp=TP))
    assert _texts(story) == []


def test_only_as_many_records_as_were_given_up_may_be_missing_at_the_beginning() -> None:
    story = _story(batch(0, 1, producer=(7, 0, 2)))
    story.begin_send(1).unknown("TimeoutError")
    assert len(_texts(story)) == 1

    story.begin_send(2).fail("NOT_ENOUGH_REPLICAS")
    assert _texts(story) == []


def test_in_a_topic_made_anew_a_producer_goes_on_with_its_number() -> None:
    story = _story(batch(0, 2, producer=(7, 0, 44)))
    story.order(Function.DELETE_TOPIC, Order(TP.topic))
    assert _texts(story) == []


def test_a_batch_that_is_there_twice_is_told() -> None:
    story = _story(batch(0, 1, producer=(7, 0, 0)), batch(1, 1, producer=(7, 0, 0)))
    story.send(1, producer=ProducerRange(7, 0, 0))

    assert _texts(story) == [
        "orders-0 offset 1: producer 7 epoch 0 has sequence 0 where 1 follows",
        "orders-0 has record 1 at offset 0 and again at 1",
    ]


def test_a_record_that_another_identity_wrote_again_is_told() -> None:
    story = _story(batch(0, 1, producer=(7, 0, 0)), batch(1, 1, producer=(8, 0, 0)))
    story.send(1, producer=ProducerRange(8, 0, 0))

    assert _texts(story) == ["orders-0 has record 1 at offset 0 and again at 1"]


def test_producers_that_are_not_idempotent_may_write_twice() -> None:
    story = _story(batch(0, 1), batch(1, 1))
    story.send(1)

    assert _texts(story) == []


def test_compacted_topics_have_gaps_and_no_repetitions() -> None:
    story = _story(batch(0, 1, producer=(7, 0, 5)), batch(1, 3, producer=(7, 0, 9)))
    story.samples.topics.append(TopicSample(0, "orders", {"cleanup.policy": "compact"}))
    assert _texts(story) == []

    story.samples.logs.clear()
    again = _story(batch(0, 1, producer=(7, 0, 5)), batch(1, 3, producer=(7, 0, 5)))
    story.samples.logs += again.samples.logs
    assert _texts(story) == ["orders-0 offset 1: producer 7 epoch 0 has sequence 5 where 6 follows"]


def test_the_epoch_of_a_producer_never_falls() -> None:
    story = _story(
        batch(0, 1, producer=(7, 1, 0)),
        batch(1, 2, producer=(7, 0, 0)),
    )

    assert _texts(story) == ["orders-0 offset 1: producer 7 has epoch 0 behind its epoch 1"]


def test_a_producer_may_not_be_ended_for_a_batch_that_is_in_the_log() -> None:
    story = _story(batch(0, 1, producer=(7, 0, 0)), batch(1, 2, producer=(7, 0, 1)))
    story.begin_send(2).unknown("OUT_OF_ORDER_SEQUENCE_NUMBER")
    (text,) = _texts(story)
    assert "has record 2 at offset 1" in text
    assert "was ended with OUT_OF_ORDER_SEQUENCE_NUMBER for it" in text


def test_who_is_elected_from_outside_of_the_isr_may_have_what_it_was_ended_for() -> None:
    """Seed 1064952."""
    story = _story(batch(0, 1, producer=(7, 0, 0)), batch(1, 2, producer=(7, 0, 1)))
    story.partition(isr=(1,), leader=1, epoch=0)
    story.begin_send(2).unknown("OUT_OF_ORDER_SEQUENCE_NUMBER")
    story.at(9).partition(isr=(2,), leader=2, epoch=1)
    assert _texts(story) == []


def test_a_producer_may_be_ended_for_a_batch_whose_predecessors_never_came() -> None:
    story = _story(batch(0, 1, producer=(7, 0, 0)))
    story.begin_send(3).fail("OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert _texts(story) == []


def test_what_went_down_with_a_batch_that_was_out_of_order_is_no_fault_of_its_own() -> None:
    story = _story(batch(0, 1, producer=(7, 0, 0)), batch(1, 3, producer=(7, 0, 1)))
    send = story.begin_send(3)
    send.unknown("behind one that ended with OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert _texts(story) == []


def test_the_numbers_of_an_examiner_begin_where_it_likes() -> None:
    story = _story(batch(0, 2, producer=(7, 0, 5)))
    assert len(_texts(story)) == 1
    (log,) = story.samples.logs
    story.samples.logs[0] = log._replace(tp=log.tp._replace(topic="conform-topic1"))
    assert _texts(story) == []
