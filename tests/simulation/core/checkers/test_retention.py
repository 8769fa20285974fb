"""A log begins later only where its oldest records may go."""

from __future__ import annotations

import pytest

from simulation.core.checkers.retention import check_retention
from simulation.core.history import Function, Order
from simulation.core.samples import ClockSkew, Damage, Role, SampleSource, TopicSample
from tests.simulation.core.checkers.build import Story


def _texts(story: Story) -> list[str]:
    story.samples.sources = tuple(SampleSource)
    return [violation.text for violation in check_retention(story.evidence)]


def _configured(story: Story, **configs: str) -> None:
    texts = {name.replace("_", "."): value for name, value in configs.items()}
    story.samples.topics.append(TopicSample(story.now_us, "orders", texts))


def _written(story: Story) -> Story:
    """Ten batches of one record at 1 s, in a log that is seen to begin at 0."""
    story.at(1).replica(1, Role.LEADER)
    for record in range(10):
        story.send(record, offset=record)
    return story


def _begins(story: Story, start: int, *, broker: int = 1, size_bytes: int = 500) -> None:
    story.replica(broker, Role.LEADER, end=10, high_watermark=10)
    last = story.samples.replicas[-1]
    changed = last._replace(log_start_offset=start, size_bytes=size_bytes)
    story.samples.replicas[-1] = changed


@pytest.mark.parametrize(("epoch", "is_told"), [(0, False), (1, True)])
def test_a_leader_that_has_not_heard_of_a_later_one_may_let_go_of_its_own(
    epoch: int, is_told: bool
) -> None:
    """Seed 910082: what the later one took has the same offsets."""
    story = Story()
    story.at(0.5).replica(1, Role.LEADER)
    story.replica(2, Role.LEADER, epoch=1)
    _written(story)
    _begins(story.at(1000), 5)
    last = story.samples.replicas[-1]
    story.samples.replicas[-1] = last._replace(leader_epoch=epoch)

    assert bool(_texts(story)) is is_told


def test_nothing_goes_in_the_week_that_kafka_keeps_records() -> None:
    story = _written(Story())
    _begins(story.at(1000), 5)

    assert _texts(story) == [
        "orders-0 begins at 5 on broker 1, and began at 0; record 4 was written at 1.000000 s, "
        "500 bytes stayed, and neither an order nor retention lets it go"
    ]


@pytest.mark.parametrize(("at", "is_old"), [(3.99, False), (4.01, True)])
def test_records_go_that_are_older_than_retention_ms(at: float, is_old: bool) -> None:
    story = Story()
    _configured(story, retention_ms="3000")
    _written(story)
    _begins(story.at(at), 5)

    assert (_texts(story) == []) is is_old


@pytest.mark.parametrize(("has_timestamps", "is_well"), [(False, True), (True, False)])
def test_records_without_a_timestamp_go_with_their_segment(
    *, has_timestamps: bool, is_well: bool
) -> None:
    story = Story()
    _configured(story, retention_ms="3000")
    _written(story)
    story.at(2).send(10, offset=4, has_timestamps=has_timestamps)
    _begins(story.at(4.5), 5)

    assert (_texts(story) == []) is is_well


@pytest.mark.parametrize(("size_bytes", "is_enough"), [(999, False), (1000, True), (-1, True)])
def test_records_go_while_retention_bytes_stay(size_bytes: int, is_enough: bool) -> None:
    story = Story()
    _configured(story, retention_bytes="1000")
    _written(story)
    _begins(story.at(2), 5, size_bytes=size_bytes)

    assert (_texts(story) == []) is is_enough


@pytest.mark.parametrize(("end", "is_well"), [(10, False), (12, True)])
def test_what_stayed_before_a_log_was_cut_nobody_knows(end: int, *, is_well: bool) -> None:
    story = Story()
    _configured(story, retention_bytes="1000")
    _written(story)
    story.at(2).replica(1, Role.LEADER, end=end, high_watermark=10)
    _begins(story.at(3), 5, size_bytes=500)

    assert (_texts(story) == []) is is_well


@pytest.mark.parametrize(("next_offset", "is_well"), [(10, False), (12, True)])
def test_what_waited_for_the_disk_before_a_log_was_cut_nobody_knows(
    next_offset: int, *, is_well: bool
) -> None:
    """Seed 920004: retention came behind the appends of a leader that was not one any more."""
    story = Story()
    _configured(story, retention_bytes="1000")
    _written(story)
    story.at(2).replica(1, Role.LEADER, end=10, high_watermark=10)
    last = story.samples.replicas[-1]
    story.samples.replicas[-1] = last._replace(next_offset=next_offset)
    _begins(story.at(3), 5, size_bytes=500)

    assert (_texts(story) == []) is is_well


def test_retention_takes_nothing_where_the_policy_is_to_compact() -> None:
    story = Story()
    _configured(story, retention_ms="500", cleanup_policy="compact")
    _written(story)
    _begins(story.at(9), 1)

    assert len(_texts(story)) == 1


def test_a_configuration_that_came_later_excuses_nothing_and_one_that_is_gone_does() -> None:
    story = _written(Story())
    _begins(story.at(9), 1)
    story.samples.topics.append(TopicSample(1000, "orders", {}))
    _configured(story.at(10), retention_ms="500")
    assert len(_texts(story)) == 1

    story.samples.topics.insert(0, TopicSample(0, "orders", {"retention.ms": "500"}))
    assert _texts(story) == []


def test_deleting_records_moves_the_start_to_where_it_was_ordered() -> None:
    story = _written(Story())
    story.order(Function.DELETE_RECORDS, Order("orders", 0, offset=5))
    _begins(story.at(2), 5)
    assert _texts(story) == []

    _begins(story.at(3), 6)
    assert len(_texts(story)) == 1

    story.samples.replicas.pop()
    story.order(Function.DELETE_RECORDS, Order("orders", 0, offset=-1))
    _begins(story.at(4), 6)
    assert _texts(story) == []


def test_an_order_that_was_refused_or_came_later_moves_nothing() -> None:
    story = _written(Story())
    order = Order("orders", 0, offset=5)
    story.history.begin("admin", Function.DELETE_RECORDS, order).fail("OFFSET_OUT_OF_RANGE")
    _begins(story.at(2), 5)
    story.at(3).order(Function.DELETE_RECORDS, order)

    assert len(_texts(story)) == 1


def test_who_follows_begins_where_another_one_did_and_needs_no_reason() -> None:
    story = Story()
    _configured(story, retention_bytes="1000")
    story.at(1).replica(1, Role.LEADER)
    story.replica(2)
    story.send(0, offset=0)
    _begins(story.at(2), 1, size_bytes=2000)
    _begins(story, 1, broker=2, size_bytes=10)
    _begins(story.at(3), 1, broker=3, size_bytes=10)

    assert _texts(story) == []


def test_a_start_behind_the_high_watermark_is_found() -> None:
    story = Story().at(1)
    story.replica(1, end=10, high_watermark=4)
    story.samples.replicas[-1] = story.samples.replicas[-1]._replace(log_start_offset=5)

    assert _texts(story) == ["orders-0 begins at 5 on broker 1, behind its high watermark 4"]


def test_a_high_watermark_that_was_asked_for_at_another_moment_is_not_compared() -> None:
    story = Story().at(1)
    story.replica(1, end=10, high_watermark=0)
    story.samples.replicas[-1] = story.samples.replicas[-1]._replace(log_start_offset=5)
    assert len(_texts(story)) == 1

    story.samples.sources = (SampleSource.CLIENTS, SampleSource.REPLICAS)
    assert check_retention(story.evidence) == []


def test_clocks_that_go_wrong_make_records_older() -> None:
    story = Story()
    _configured(story, retention_ms="3000")
    _written(story)
    story.samples.clock_skews.append(ClockSkew(1, "broker-1", 5_000))
    _begins(story.at(2), 1)

    assert _texts(story) == []


def test_a_damaged_disk_and_a_topic_that_was_made_anew_are_not_judged() -> None:
    story = _written(Story())
    _begins(story.at(2), 1)
    anew = story.samples.replicas[-1]._replace(topic_id=b"new")
    story.samples.replicas[-1] = anew
    assert _texts(story) == []

    story.samples.replicas[-1] = anew._replace(topic_id=b"")
    assert len(_texts(story)) == 1
    story.samples.damages.append(Damage(1, 1, "d1", "lost"))
    assert _texts(story) == []


def test_what_was_acknowledged_by_the_next_topic_of_the_name_was_not_in_this_one() -> None:
    """Seed 1043227: its producer had begun it before the topic was deleted."""
    story = Story()
    _configured(story, retention_ms="500")
    story.at(0.1).replica(1, Role.LEADER)
    story.send(1, offset=0)
    sending = story.at(0.8).begin_send(7)
    _begins(story.at(1), 1, size_bytes=0)
    assert _texts(story) == []
    story.at(7).replica(1, Role.LEADER)
    is_another = story.samples.replicas[-1]._replace(topic_id=b"another")
    sending.ok(sending.value._replace(base_offset=0, broker=1))
    assert len(_texts(story)) == 1

    story.samples.replicas[-1] = is_another
    assert _texts(story) == []


def test_compaction_may_have_taken_the_young_ones_of_a_segment_before() -> None:
    story = Story()
    _configured(story, retention_ms="3000", cleanup_policy="compact,delete")
    _written(story)
    story.at(3).send(10, offset=9)
    _begins(story.at(4.1), 10)
    assert _texts(story) == []

    story.samples.topics[0].configs["cleanup.policy"] = "delete"
    assert len(_texts(story)) == 1


@pytest.mark.parametrize(("acks", "is_well"), [(-1, False), (1, True)])
def test_compaction_may_have_left_a_record_that_is_not_known_to_stay(
    acks: int, is_well: bool
) -> None:
    story = Story()
    _configured(story, retention_ms="3000", cleanup_policy="compact,delete")
    story.at(1).replica(1, Role.LEADER)
    for record in range(10):
        story.send(record, offset=record, acks=acks if record == 3 else -1)
    _begins(story.at(3.9), 5)
    assert (_texts(story) == []) is is_well


def test_compaction_may_have_cut_what_stayed_when_retention_went_by_size() -> None:
    story = Story()
    _configured(story, retention_bytes="1000", cleanup_policy="compact,delete")
    _written(story)
    _begins(story.at(2), 5, size_bytes=990)
    assert _texts(story) == []

    story.samples.topics[0].configs["cleanup.policy"] = "delete"
    assert len(_texts(story)) == 1


@pytest.mark.parametrize(("older_s", "is_well"), [(1, True), (3, False)])
def test_what_stayed_between_nobody_knows_where_the_last_that_went_was_older(
    older_s: float, *, is_well: bool
) -> None:
    """Some go by size, and those behind them by age, as of a producer that had to wait."""
    story = Story()
    _configured(story, retention_bytes="1000", retention_ms="3000")
    story.at(0.5).replica(1, Role.LEADER)
    story.at(older_s).send(20, offset=7, acks=1)
    for record in range(6):
        story.at(4).send(record, offset=record)
    _begins(story.at(5), 8)

    assert (_texts(story) == []) is is_well


def test_what_went_last_may_be_one_that_an_unclean_election_could_have_lost() -> None:
    """Seed 987315: the producer had begun to send it before, and had to wait."""
    story = Story()
    _configured(story, retention_bytes="1000", retention_ms="3000")
    story.at(0.5).replica(1, Role.LEADER)
    story.partition(isr=(2,), leader=2)
    story.at(1).send(20, offset=7)
    story.at(2).partition(isr=(1,), leader=1, epoch=1)
    for record in range(6):
        story.at(4).send(record, offset=record)
    _begins(story.at(5), 8)

    assert _texts(story) == []
