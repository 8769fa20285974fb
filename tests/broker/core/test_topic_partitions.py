"""Pages of DescribeTopicPartitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.core.metadata_answer import TOPIC_OPERATIONS
from broker.core.metadata_image import MetadataImage
from broker.core.topic_partitions import describe_topic_partitions
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import BrokerId
from protocol.messages.topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from tests.broker.core.test_metadata_image import (
    ID,
    OTHER_ID,
    broker,
    partition,
    request,
    topic,
)


def image() -> MetadataImage:
    """Topic a has partitions 0 to 2, b has partition 0, c has 0 and 1."""
    built = MetadataImage(broker_id=BrokerId(1))
    built.update(
        request(
            topic(*(partition(n) for n in range(2)), name="c", topic_id=b"c" * 16),
            topic(*(partition(n) for n in range(3)), name="a", topic_id=ID),
            topic(partition(0), name="b", topic_id=OTHER_ID),
        )
    )
    return built


def ask(
    *names: str,
    limit: int = 2000,
    cursor: tuple[str, int] | None = None,
    partitions_max: int = 2000,
    of: MetadataImage | None = None,
) -> DescribeTopicPartitionsResponse:
    return describe_topic_partitions(
        of or image(),
        DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=None
            if cursor is None
            else Cursor(topic_name=cursor[0], partition_index=cursor[1]),
        ),
        partitions_max=partitions_max,
    )


def listed(response: DescribeTopicPartitionsResponse) -> list[str]:
    return [f"{t.name}-{p.partition_index}" for t in response.topics for p in t.partitions]


def next_of(response: DescribeTopicPartitionsResponse) -> tuple[str, int] | None:
    cursor = response.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


def test_topics_come_in_the_order_of_their_names_each_once() -> None:
    response = ask("c", "a", "c")

    assert listed(response) == ["a-0", "a-1", "a-2", "c-0", "c-1"]
    assert next_of(response) is None
    assert response.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    assert response.topics[0].topic_id == ID


def test_no_names_stand_for_all_topics() -> None:
    assert listed(ask()) == ["a-0", "a-1", "a-2", "b-0", "c-0", "c-1"]


@pytest.mark.parametrize(
    ("limit", "expected", "cursor"),
    [
        (2, ["a-0", "a-1"], ("a", 2)),
        (3, ["a-0", "a-1", "a-2"], ("b", 0)),
        (5, ["a-0", "a-1", "a-2", "b-0", "c-0"], ("c", 1)),
        (6, ["a-0", "a-1", "a-2", "b-0", "c-0", "c-1"], None),
        (0, ["a-0"], ("a", 1)),
    ],
)
def test_a_page_ends_at_the_limit_and_names_what_comes_next(
    limit: int, expected: list[str], cursor: tuple[str, int] | None
) -> None:
    response = ask(limit=limit)

    assert (listed(response), next_of(response)) == (expected, cursor)


def test_the_broker_bounds_the_page() -> None:
    assert listed(ask(partitions_max=1)) == ["a-0"]


@given(st.integers(1, 7))
def test_all_pages_together_are_everything_once(limit: int) -> None:
    seen: list[str] = []
    cursor: tuple[str, int] | None = None
    while True:
        response = ask(limit=limit, cursor=cursor)
        seen += listed(response)
        cursor = next_of(response)
        if cursor is None:
            break
    assert seen == ["a-0", "a-1", "a-2", "b-0", "c-0", "c-1"]


def test_a_cursor_may_name_what_is_gone() -> None:
    assert listed(ask(cursor=("aa", 0))) == ["b-0", "c-0", "c-1"]
    assert listed(ask(cursor=("a", 9))) == ["b-0", "c-0", "c-1"]


@pytest.mark.parametrize("cursor", [("b", 0), ("a", -1)])
def test_a_cursor_outside_of_the_question_is_refused(cursor: tuple[str, int]) -> None:
    with pytest.raises(KafkaError) as caught:
        ask("a", "c", cursor=cursor)
    assert caught.value.code == ErrorCode.INVALID_REQUEST


def test_unknown_and_illegal_names_have_their_codes_and_take_no_room() -> None:
    response = ask("a", "no", "n o", limit=3)

    assert [(t.name, t.error_code) for t in response.topics] == [("a", ErrorCode.NONE)]
    assert next_of(response) == ("n o", 0)
    rest = ask("a", "no", "n o", limit=3, cursor=("n o", 0))
    assert [(t.name, t.error_code) for t in rest.topics] == [
        ("n o", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_all_topics_tell_what_may_be_done_with_them_be_they_there_or_not() -> None:
    told = ask("a", "no", "n o", limit=9).topics

    assert [t.topic_authorized_operations for t in told] == [TOPIC_OPERATIONS] * 3


def test_a_partition_without_a_leader_has_a_code_and_its_offline_replicas() -> None:
    built = MetadataImage(broker_id=BrokerId(1))
    built.update(request(topic(partition(0, leader=-1, offline=(1, 2)), name="a")))

    (row,) = ask("a", of=built).topics[0].partitions

    assert (row.error_code, row.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    assert list(row.offline_replicas) == [1, 2]
    assert (row.eligible_leader_replicas, row.last_known_elr) == ((), ())


def test_a_leader_that_lives_at_another_listener_alone_is_not_told() -> None:
    built = MetadataImage(broker_id=BrokerId(1))
    brokers = [broker(1), broker(2, listener="INTERNAL")]
    states = partition(0, leader=2, epoch=5), partition(1, leader=1)
    built.update(request(topic(*states, name="a"), brokers=brokers))

    rows = ask("a", of=built).topics[0].partitions

    assert [(row.error_code, row.leader_id, row.leader_epoch) for row in rows] == [
        (ErrorCode.LISTENER_NOT_FOUND, -1, 5),
        (ErrorCode.NONE, 1, 0),
    ]
    assert [list(rows[0].replica_nodes), list(rows[0].isr_nodes)] == [[1, 2], [1, 2]]


def test_internal_topics_are_told_as_such_be_they_there_or_not() -> None:
    built = MetadataImage(broker_id=BrokerId(1))
    built.update(request(topic(partition(0), name="__consumer_offsets")))

    told = ask("__consumer_offsets", "__transaction_state", "a", of=built).topics

    assert [(row.name, row.is_internal) for row in told] == [
        ("__consumer_offsets", True),
        ("__transaction_state", True),
        ("a", False),
    ]


def test_a_cursor_starts_within_its_own_topic_alone() -> None:
    assert listed(ask(cursor=("a", 1))) == ["a-1", "a-2", "b-0", "c-0", "c-1"]
    assert listed(ask("a", "c", cursor=("a", 2))) == ["a-2", "c-0", "c-1"]
    assert next_of(ask("a", "c", limit=1, cursor=("a", 2))) == ("c", 0)
    assert listed(ask(cursor=("a", 0), limit=-1)) == ["a-0"]
