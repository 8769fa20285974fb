from __future__ import annotations

import pytest

from protocol.ids import TopicPartition
from simulation.core.checkers.containment import check_containment
from simulation.core.checkers.evidence import ServiceLevel
from simulation.core.samples import FaultSample, LogDirSample, NodeSample, Role, TopicSample
from tests.simulation.core.checkers.build import SECOND_US, TP, Story

HERE = TP
"""In d1, which fails."""
BESIDE = TopicPartition("orders", 1)
"""In d2 of the same broker."""


def _texts(story: Story) -> list[str]:
    return [violation.text for violation in check_containment(story.evidence)]


def _story() -> Story:
    story = Story()
    story.service_level = ServiceLevel(answer_us_max=SECOND_US, settle_us=5 * SECOND_US)
    for tp, log_dir in ((HERE, "d1"), (BESIDE, "d2")):
        story.partition(tp=tp, replicas=(1,), isr=(1,))
        story.replica(1, Role.LEADER, tp=tp, log_dir=log_dir)
    story.samples.log_dirs.append(LogDirSample(0, 1, "d1", is_online=True))
    for is_up in (False, True):
        story.samples.nodes += [
            NodeSample(0, "broker-1", is_up),
            NodeSample(0, "controller", is_up),
        ]
    return story


def _fail(story: Story) -> None:
    story.samples.log_dirs.append(LogDirSample(story.now_us, 1, "d1", is_online=False))
    story.replica(1, Role.OFFLINE, tp=HERE, log_dir="d1")
    story.samples.faults.append(FaultSample(story.now_us, None, "broker-1", "d1", "EIO"))


# Answers of the failed log dir.


def test_success_before_the_failure_and_from_other_log_dirs_is_fine() -> None:
    story = _story()
    story.at(1).send(1, tp=HERE)
    _fail(story.at(2))
    story.at(3).send(2, tp=BESIDE)
    story.at(4).read((0, 2), tp=BESIDE)

    assert _texts(story) == []


def test_an_acknowledgement_from_a_failed_log_dir_is_a_violation() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).send(1, tp=HERE, offset=5)

    assert _texts(story) == [
        "broker 1 answered send of orders-0 with success, begun at 3.000000 s, and its log is in "
        "d1, offline since 2.000000 s"
    ]


def test_so_are_records_read_from_there() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).read((0, 1), tp=HERE)

    (text,) = _texts(story)

    assert text.startswith("broker 1 answered poll of orders-0 with success")


def test_an_answer_to_what_was_asked_before_the_failure_may_be_under_way() -> None:
    story = _story()
    sending = story.at(1).begin_send(1, tp=HERE)
    _fail(story.at(2))
    story.at(2.1)
    sending.ok(sending.value)

    assert _texts(story) == []


def test_a_log_dir_that_came_back_answers_again() -> None:
    story = _story()
    _fail(story.at(2))
    story.samples.log_dirs.append(LogDirSample(3 * SECOND_US, 1, "d1", is_online=True))
    story.at(4).send(1, tp=HERE)

    assert _texts(story) == []


def test_a_log_dir_may_have_come_back_since_the_last_look() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).send(1, tp=HERE)
    story.samples.log_dirs.append(LogDirSample(story.at(3.02).now_us, 1, "d1", is_online=True))
    assert _texts(story) == []

    story.samples.log_dirs[-1] = LogDirSample(story.at(3.03).now_us, 1, "d1", is_online=True)
    assert len(_texts(story)) == 1


def test_a_replica_made_anew_elsewhere_answers() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).replica(1, Role.LEADER, tp=HERE, log_dir="d2")
    story.at(4).send(1, tp=HERE)

    assert _texts(story) == []


def test_a_replica_that_is_gone_is_nowhere_until_it_is_made_anew() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).replica(1, Role.GONE, tp=HERE, log_dir="d1")
    story.at(3.5).send(1, tp=HERE)

    assert _texts(story) == []


def test_a_replica_that_is_offline_after_a_restart_is_where_it_was() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).replica(1, Role.GONE, tp=HERE, log_dir="d1")
    story.at(4).replica(1, Role.OFFLINE, tp=HERE, log_dir="")
    story.at(5).send(1, tp=HERE)

    (text,) = _texts(story)

    assert text.endswith("its log is in d1, offline since 2.000000 s")


def test_a_replica_may_have_been_made_anew_since_the_last_look() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).send(1, tp=HERE)
    story.at(3.02).replica(1, Role.LEADER, tp=HERE, log_dir="d2")

    assert _texts(story) == []


def test_nobody_answers_acks_0() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).send(1, tp=HERE, acks=0)

    assert _texts(story) == []


# Service beside it.


def test_a_slow_write_beside_the_failure_is_a_violation() -> None:
    story = _story()
    _fail(story.at(2))
    sending = story.at(3).begin_send(1, tp=BESIDE)
    story.at(4.5)
    sending.ok(sending.value)

    assert _texts(story) == [
        "a write of writer to orders-1 at 3.000000 s took 1.500 s, "
        "and no fault concerned a log of that partition"
    ]


def test_not_so_where_for_a_time_there_was_no_such_topic() -> None:
    story = _story()
    _fail(story.at(2))
    sent = story.at(3).begin_send(1, tp=BESIDE)
    story.at(6).partition(tp=BESIDE, topic_id=b"another", replicas=(1,), isr=(1,))
    sent.fail("UNKNOWN_TOPIC_OR_PARTITION")

    assert _texts(story) == []


def test_so_is_one_that_failed() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).begin_send(1, tp=BESIDE).fail("NOT_ENOUGH_REPLICAS")

    (text,) = _texts(story)

    assert "ended with NOT_ENOUGH_REPLICAS" in text


def test_a_write_in_time_is_fine() -> None:
    story = _story()
    _fail(story.at(2))
    sending = story.at(3).begin_send(1, tp=BESIDE)
    story.at(4)
    sending.ok(sending.value)

    assert _texts(story) == []


def test_writes_to_the_failed_log_dir_are_not_held_to_it() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).begin_send(1, tp=HERE).fail("KAFKA_STORAGE_ERROR")

    assert _texts(story) == []


def test_nor_is_a_client_that_writes_there_as_well() -> None:
    story = _story()
    story.at(1).send(1, tp=HERE)
    _fail(story.at(2))
    story.at(3).begin_send(2, tp=BESIDE).fail("REQUEST_TIMED_OUT")
    story.at(4).begin_send(3, tp=BESIDE, client="another").fail("REQUEST_TIMED_OUT")

    (text,) = _texts(story)

    assert text.startswith("a write of another to orders-1 at 4.0")


@pytest.mark.parametrize(
    "other",
    [
        FaultSample(int(2.5 * SECOND_US), None, "", what="network cut"),
        FaultSample(0, int(0.5 * SECOND_US), "broker-2", what="slow CPU"),
        FaultSample(0, None, "broker-1", "d2", "slow"),
    ],
)
def test_other_faults_of_the_time_or_shortly_before_excuse(other: FaultSample) -> None:
    story = _story()
    _fail(story.at(2))
    story.samples.faults.append(other)
    story.at(3).begin_send(1, tp=BESIDE).fail("REQUEST_TIMED_OUT")

    assert _texts(story) == []


def test_dead_connections_excuse_to_the_end_as_they_may_be_used_first_long_after() -> None:
    """Seed 681592: its controller had nothing to say to the leader for 39 s."""
    for what, found in (("half_open", 0), ("cut", 1)):
        story = _story()
        story.samples.faults.append(FaultSample(0, 1 * SECOND_US, "broker-2", what=what))
        _fail(story.at(2))
        story.at(65).begin_send(1, tp=BESIDE).fail("REQUEST_TIMED_OUT")

        assert len(_texts(story)) == found


def test_a_dead_node_excuses() -> None:
    story = _story()
    _fail(story.at(2))
    story.samples.nodes.append(NodeSample(story.now_us, "controller", is_up=False))
    story.at(3).begin_send(1, tp=BESIDE).fail("REQUEST_TIMED_OUT")
    assert _texts(story) == []

    story.samples.nodes.append(NodeSample(story.now_us, "controller", is_up=True))
    story.at(9).begin_send(1, tp=BESIDE).fail("REQUEST_TIMED_OUT")
    assert len(_texts(story)) == 1


def test_what_happened_before_any_log_dir_failed_is_not_judged() -> None:
    story = _story()
    story.at(1).begin_send(1, tp=BESIDE).fail("REQUEST_TIMED_OUT")
    _fail(story.at(2))

    assert _texts(story) == []


# What a fault leaves behind.


def _break_beside(story: Story) -> None:
    """Let something be broken where no client writes: service is judged only then."""
    story.samples.faults.append(FaultSample(story.now_us, None, "broker-2", "d1", "EIO"))


def _replace(story: Story) -> None:
    """Take d1 out: it is an order of one moment, and its replica stays offline."""
    story.samples.faults.append(
        FaultSample(story.now_us, story.now_us, "broker-1", "d1", "replaced")
    )
    story.at(story.now_us / SECOND_US + 0.01).replica(1, Role.OFFLINE, tp=HERE, log_dir="d1")


def test_a_replica_that_a_fault_took_offline_excuses_until_it_is_back() -> None:
    story = _story()
    _replace(story.at(2))
    _break_beside(story)
    story.at(30).begin_send(1, tp=HERE).fail("REQUEST_TIMED_OUT")
    assert _texts(story) == []

    story.at(40).replica(1, Role.LEADER, tp=HERE, log_dir="d1")
    story.at(46).begin_send(2, tp=HERE).fail("REQUEST_TIMED_OUT")
    assert len(_texts(story)) == 1


def test_it_excuses_nobody_who_does_not_write_to_it() -> None:
    story = _story()
    _replace(story.at(2))
    _break_beside(story)
    story.at(3).begin_send(1, tp=BESIDE).fail("REQUEST_TIMED_OUT")

    assert len(_texts(story)) == 1


def test_a_restart_of_its_broker_does_not_bring_it_back() -> None:
    story = _story()
    _replace(story.at(2))
    _break_beside(story)
    story.at(20).replica(1, Role.GONE, tp=HERE, log_dir="d1")
    story.at(40).replica(1, Role.OFFLINE, tp=HERE, log_dir="")
    story.at(60).begin_send(1, tp=HERE).fail("REQUEST_TIMED_OUT")

    assert _texts(story) == []


def test_a_replica_that_is_gone_for_good_excuses_no_longer() -> None:
    story = _story()
    _replace(story.at(2))
    _break_beside(story)
    story.at(20).replica(1, Role.GONE, tp=HERE, log_dir="d1")
    story.at(40).begin_send(1, tp=HERE).fail("REQUEST_TIMED_OUT")

    assert len(_texts(story)) == 1


def test_a_replica_that_went_offline_long_after_every_fault_excuses_nothing() -> None:
    story = _story()
    story.samples.faults.append(FaultSample(story.now_us, 0, "broker-1", "d1", "EIO"))
    _break_beside(story)
    story.at(30).replica(1, Role.OFFLINE, tp=HERE, log_dir="d1")
    story.at(31).begin_send(1, tp=HERE).fail("REQUEST_TIMED_OUT")

    assert len(_texts(story)) == 1


@pytest.mark.parametrize(
    "error", ["INVALID_RECORD", "behind one that ended with INVALID_RECORD", "UnknownError"]
)
def test_a_topic_that_is_compacted_takes_no_records_without_keys(error: str) -> None:
    """aiokafka does not know the code (seed 1044434)."""
    story = _story()
    _fail(story.at(2))
    story.at(10).begin_send(1, tp=BESIDE).fail(error)
    assert len(_texts(story)) == 1

    story.samples.topics.append(TopicSample(0, "orders", {"cleanup.policy": "compact"}))
    assert _texts(story) == []


def test_a_library_may_gather_more_in_a_batch_than_a_segment_takes() -> None:
    """Each record that a library was given is a write of its own; others know what they send."""
    story = _story()
    _fail(story.at(2))
    story.at(10).begin_send(1, tp=BESIDE).fail("RECORD_LIST_TOO_LARGE")
    assert _texts(story) == []

    story.begin_send(2, 3, tp=BESIDE).fail("RECORD_LIST_TOO_LARGE")
    assert len(_texts(story)) == 1


@pytest.mark.parametrize(("is_refused", "told"), [(True, 0), (False, 1)])
def test_behind_a_batch_that_was_too_large_a_producer_is_out_of_order(
    *, is_refused: bool, told: int
) -> None:
    """Seed 1066570."""
    story = _story()
    _fail(story.at(2))
    if is_refused:
        story.at(10).begin_send(1, tp=BESIDE).fail("RECORD_LIST_TOO_LARGE")
    story.at(10.1).begin_send(2, tp=BESIDE).fail("OUT_OF_ORDER_SEQUENCE_NUMBER")
    assert len(_texts(story)) == told


def test_a_fault_concerns_a_partition_that_was_reassigned_from_there() -> None:
    story = _story()
    _fail(story.at(2))
    story.at(3).begin_send(1, tp=HERE).fail("KAFKA_STORAGE_ERROR")
    story.at(4).partition(tp=HERE, replicas=(2,), isr=(2,))

    assert _texts(story) == []
