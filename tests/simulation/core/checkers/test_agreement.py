from __future__ import annotations

from simulation.core.checkers.agreement import check_agreement
from simulation.core.history import Function, Send
from simulation.core.samples import Damage, TopicSample
from tests.simulation.core.checkers.build import TP, Story, batch


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_agreement(story.evidence)]


def _story() -> Story:
    story = Story()
    story.log(1, 10, 11, 12, is_leader=True)
    return story


def test_equal_logs_agree() -> None:
    story = _story()
    story.log(2, 10, 11, 12)

    assert _texts(story) == []


def test_logs_may_differ_above_the_high_watermark() -> None:
    story = _story()
    story.log(2, 10, 99, high_watermark=1)
    story.log(3, 10)

    assert _texts(story) == []


def test_logs_that_differ_below_the_high_watermark_are_told_with_the_first_difference() -> None:
    story = _story()
    story.log(2, 10, 98, 99, log_dir="d2")

    (text,) = _texts(story)

    assert text.startswith(
        "orders-0 differs from offset 1 on, below the high watermark 3: leader 1 has offsets "
        "1 to 1 with digest "
    )
    assert "broker 2 (d2) has offsets 1 to 1 with digest " in text


def test_a_batch_that_is_missing_is_a_difference() -> None:
    story = _story()
    story.log(2, 10, 11, high_watermark=3)

    (text,) = _texts(story)

    assert text.endswith("broker 2 (d1) has no batch there")


def test_the_same_records_in_other_bytes_are_a_difference() -> None:
    story = Story()
    story.log(1, 10, is_leader=True)
    story.log(2, 10)
    first, second = story.samples.logs
    story.samples.logs = [first, second._replace(batches=(batch(0, 10, digest=1),))]

    assert len(_texts(story)) == 1


def test_what_one_log_has_deleted_is_not_compared() -> None:
    story = _story()
    story.log(2, 11, 12, start=1)

    assert _texts(story) == []


def test_logs_of_a_leader_that_a_misdirected_write_hit_are_not_compared() -> None:
    story = Story()
    story.log(1, 10, is_leader=True)
    story.log(2, 11)
    story.partition(isr=(1, 2))
    story.replica(1)
    story.replica(2)
    assert len(_texts(story)) == 1

    story.samples.damages.append(Damage(1, 1, "d9", "misdirected", is_lasting=True, tp=TP))
    assert _texts(story) == []


def test_future_unreadable_and_damaged_logs_are_not_compared() -> None:
    story = _story()
    story.log(2, 99, is_future=True)
    story.log(3, 99, is_readable=False)
    story.log(4, 99, log_dir="d4")
    story.samples.damages.append(Damage(0, 4, "d4", "bit flip", is_lasting=True))
    assert _texts(story) == []

    story.log(5, 99)
    assert len(_texts(story)) == 1


def _compacted() -> Story:
    """Two keys: records 0, 2, 4 and 1, 3, 5 in turn, of which the last two have no value."""
    story = Story().at(1)
    story.samples.topics.append(
        TopicSample(0, "orders", {"cleanup.policy": "compact", "delete.retention.ms": "5000"})
    )
    send = Send(TP, (0, 1, 2, 3, 14, 15), -1, base_offset=0, broker=1, keys=2)
    story.history.begin("writer", Function.SEND, send).ok(send)
    return story


def _holds(story: Story, broker: int, **records: int) -> None:
    story.log(broker, is_leader=broker == 1, high_watermark=6)
    batches = tuple(batch(int(offset[1:]), record) for offset, record in records.items())
    story.samples.logs[-1] = story.samples.logs[-1]._replace(batches=batches)


def test_compacted_logs_may_lack_what_a_newer_record_of_the_key_supersedes() -> None:
    story = _compacted()
    _holds(story, 1, o0=0, o1=1, o2=2, o3=3, o4=14, o5=15)
    _holds(story, 2, o4=14, o5=15)
    assert _texts(story) == []

    story.samples.logs.pop()
    _holds(story, 2, o3=3, o4=14)
    assert _texts(story) == [
        "orders-0, which is compacted, differs at offset 5, below the high watermark 6: leader 1 "
        "has record 15, broker 2 (d1) has record None"
    ]


def test_compacted_logs_may_lack_records_without_value_when_their_time_is_over() -> None:
    story = _compacted()
    _holds(story, 1, o0=0, o1=1, o4=14)
    _holds(story, 2, o1=1, o5=15)
    assert len(_texts(story.at(5.9))) == 1

    assert _texts(story.at(6)) == []


def test_compacted_logs_may_lack_what_gave_way_to_records_that_were_lost() -> None:
    """Seed 682298: an unclean election cut off the newer records of their keys."""
    story = _compacted()
    _holds(story, 1, o3=3, o4=14, o5=15)
    _holds(story, 2, o3=3, o4=14)
    story.partition(isr=(2,), leader=2)
    assert len(_texts(story)) == 1

    story.at(1).partition(isr=(1,), leader=1, epoch=1)

    assert _texts(story) == []


def test_records_of_compacted_logs_are_never_others() -> None:
    story = _compacted()
    _holds(story, 1, o0=0, o4=14, o5=15)
    _holds(story, 2, o0=1, o4=14, o5=15)

    (text,) = _texts(story)

    assert "differs at offset 0" in text


def test_records_without_a_key_were_there_before_their_topic_was_compacted() -> None:
    story = _compacted()
    story.send(90)
    _holds(story, 1, o0=90, o4=14, o5=15)
    _holds(story, 2, o4=14, o5=15)

    assert _texts(story) == []


def test_records_are_known_of_leaders_only_and_do_not_count() -> None:
    story = Story()
    story.log(1, 10, is_leader=True)
    story.log(2, 10)
    leader, follower = story.samples.logs
    bare = follower.batches[0]._replace(records=())
    story.samples.logs = [leader, follower._replace(batches=(bare,))]

    assert _texts(story) == []
