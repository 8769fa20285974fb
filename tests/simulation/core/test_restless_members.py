"""Members of the consumer protocol that do all that they may, and what they must not."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import Counter
from random import Random

from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.consumer_groups import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from protocol.messages.group_offsets import OffsetCommitRequest, OffsetFetchRequest
from protocol.messages.groups import MemberIdentity
from protocol.wire.fast import codec
from simulation.core.restless_members import (
    COMMIT_WITH_TIME_VERSION,
    Asking,
    ConsumerSide,
    KnownTopic,
    Place,
    commit_request,
    long_ago,
    others_of,
    some_of,
)

ID = b"a" * 16
KNOWN = {"a": KnownTopic(ID, 2)}
PLACE = Place("g", "one", None, ("a", "b"))
STATIC = PLACE._replace(instance_id="i")


def answered(
    asking: Asking, epoch: int, *partitions: int, code: ErrorCode = ErrorCode.NONE
) -> None:
    rows = [TopicPartitions(topic_id=ID, partitions=partitions)] if partitions else []
    asking.answered(
        ConsumerGroupHeartbeatResponse(
            error_code=code, member_epoch=epoch, assignment=Assignment(topic_partitions=rows)
        )
    )


def test_it_joins_with_all_that_a_member_says_first() -> None:
    request = ConsumerSide(PLACE, "id", ["a"]).next(Random(1), KNOWN).message
    assert (request.member_id, request.member_epoch, request.topic_partitions) == ("id", 0, [])
    assert (list(request.subscribed_topic_names), request.subscribed_topic_regex) == (["a"], "")
    assert request.rebalance_timeout_ms > 0


def test_a_member_does_a_little_of_everything() -> None:
    chance, side = Random(3), ConsumerSide(PLACE, "id", ["a"])
    kinds: Counter[type] = Counter()
    epochs: Counter[int] = Counter()
    kept = given = 0
    for _ in range(400):
        asking = side.next(chance, KNOWN)
        kinds[type(asking.message)] += 1
        if isinstance(asking.message, ConsumerGroupHeartbeatRequest):
            epochs[asking.message.member_epoch] += 1
            told = asking.message.topic_partitions
            given += bool(told)
            kept += told is None
            answered(asking, max(asking.message.member_epoch, 6), 0, 1)
    assert kinds.keys() == {
        ConsumerGroupHeartbeatRequest,
        OffsetCommitRequest,
        OffsetFetchRequest,
    }
    assert {-1, 0, 5, 6, 7} <= epochs.keys()
    assert min(kept, given) > 10


def test_who_is_refused_for_good_is_out_and_others_are_not() -> None:
    for code, is_out in (
        (ErrorCode.FENCED_MEMBER_EPOCH, True),
        (ErrorCode.UNKNOWN_MEMBER_ID, True),
        (ErrorCode.NOT_COORDINATOR, False),
        (ErrorCode.UNRELEASED_INSTANCE_ID, False),
        (ErrorCode.NONE, False),
    ):
        side = ConsumerSide(PLACE, "id", ["a"])
        answered(side.next(Random(1), KNOWN), 2, code=code)
        assert side.is_out is is_out


def test_who_has_an_instance_id_leaves_for_good_or_stays_away_for_a_while() -> None:
    for instance_id, epochs in ((None, {-1}), ("i", {-1, -2})):
        drawn: Counter[int] = Counter()
        for seed in range(20):
            side = ConsumerSide(PLACE._replace(instance_id=instance_id), "id", ["a"])
            asking = side.leave(Random(seed))
            drawn[asking.message.member_epoch] += 1
            answered(asking, -1, code=ErrorCode.NOT_COORDINATOR)
            assert not side.is_out
            answered(asking, -1)
            assert side.is_out
        assert drawn.keys() == epochs


def test_a_static_member_that_is_fenced_leaves_before_another_one_comes() -> None:
    side = ConsumerSide(STATIC, "id", ["a"])
    answered(side.next(Random(1), KNOWN), 2, code=ErrorCode.FENCED_MEMBER_EPOCH)
    assert not side.is_out
    asking = side.next(Random(1), KNOWN)
    assert asking.message.member_epoch < 0
    answered(asking, -1)
    assert side.is_out


def test_a_static_member_joins_once() -> None:
    for seed in range(60):
        chance, side = Random(seed), ConsumerSide(STATIC, "id", ["a"])
        answered(side.next(chance, KNOWN), 2, 0)
        asking = side.next(chance, KNOWN).message
        assert not isinstance(asking, ConsumerGroupHeartbeatRequest) or asking.member_epoch != 0


def test_who_is_to_give_back_mostly_commits_that_in_the_epoch_that_brought_it() -> None:
    epochs: Counter[int] = Counter()
    for seed in range(100):
        chance, side = Random(seed), ConsumerSide(PLACE, "id", ["a"])
        joining = side.next(chance, KNOWN)
        answered(joining, 3, 0)
        answered(joining, 5, 0, 1)
        answered(joining, 5)
        asking = side.next(chance, KNOWN).message
        if isinstance(asking, OffsetCommitRequest):
            lost = [row.partitions[0].partition_index for row in asking.topics]
            epochs[asking.generation_id_or_member_epoch] += lost == [0]
    assert epochs[3] > epochs[2] > 0
    assert epochs[3] > 20


def test_what_was_given_back_is_committed_no_more() -> None:
    committed = False
    for seed in range(200):
        chance, side = Random(seed), ConsumerSide(PLACE, "id", ["a"])
        joining = side.next(chance, KNOWN)
        answered(joining, 3, 0)
        answered(joining, 5, 1)
        beat = side.next(chance, KNOWN).message
        if not isinstance(beat, ConsumerGroupHeartbeatRequest) or beat.member_epoch != 5:
            continue
        if beat.topic_partitions is None or beat.subscribed_topic_names is not None:
            continue
        assert [list(row.partitions) for row in beat.topic_partitions] == [[1]]
        commit = side.next(chance, KNOWN).message
        if isinstance(commit, OffsetCommitRequest):
            committed = True
            found = [(row.name, row.partitions[0].partition_index) for row in commit.topics]
            assert found in ([("a", 1)], [("a", 1), ("a", 0)])
    assert committed


def test_it_comes_when_its_protocol_does() -> None:
    side = ConsumerSide(PLACE, "id", ["a"])
    assert [side.speaks(wave) for wave in ("consumer", "both", "classic")] == [True, True, False]


def test_some_are_one_or_more() -> None:
    drawn = {tuple(some_of(Random(seed), ("a", "b", "c"))) for seed in range(100)}
    assert {len(each) for each in drawn} == {1, 2, 3}


def test_another_choice_of_topics_is_mostly_not_that_of_now() -> None:
    found = Counter(tuple(others_of(Random(seed), ("a", "b"), ["a"])) for seed in range(60))
    assert found.keys() == {("a",), ("b",), ("a", "b")}
    assert found["a",] < 20


def test_who_gives_back_may_read_something_else_at_once() -> None:
    swapped: Counter[bool] = Counter()
    for seed in range(100):
        chance, side = Random(seed), ConsumerSide(PLACE, "id", ["a"])
        joining = side.next(chance, KNOWN)
        answered(joining, 3, 0, 1)
        answered(joining, 3, 0)
        request = side.next(chance, KNOWN).message
        if not isinstance(request, ConsumerGroupHeartbeatRequest):
            continue
        rows = request.topic_partitions or ()
        owned = [list(row.partitions) for row in rows]
        if owned and request.subscribed_topic_names == ["b"]:
            swapped[owned == [[0]]] += 1
    assert swapped[False] > swapped[True] > 2  # It keeps what it is to give back, or gives it.


def test_it_reads_by_several_regular_expressions_and_changes_how_long_it_is_waited_for() -> None:
    regexes: set[str] = set()
    timeouts_ms: set[int] = set()
    for seed in range(200):
        chance, side = Random(seed), ConsumerSide(PLACE, "id", ["a"])
        answered(side.next(chance, KNOWN), 3)
        message = side.next(chance, KNOWN).message
        if isinstance(message, ConsumerGroupHeartbeatRequest):
            regexes.add(message.subscribed_topic_regex or "")
            timeouts_ms.add(message.rebalance_timeout_ms)
    assert regexes == {"", "a.*", "b.*", "a.*|b.*", "a(b"}
    assert {500, 1_500} <= timeouts_ms


def test_it_is_removed_as_who_it_is() -> None:
    assert ConsumerSide(STATIC, "id", ["a"]).identity == MemberIdentity(
        member_id="id", group_instance_id="i"
    )


def test_long_ago_is_a_time_that_the_first_clients_tell() -> None:
    request = long_ago(commit_request(PLACE, "id", 3, {TopicPartition("a", 0): 5}))
    assert [row.commit_timestamp for topic in request.topics for row in topic.partitions] == [1]
    assert codec(OffsetCommitRequest, COMMIT_WITH_TIME_VERSION).encode(request)


def test_nobody_waits_for_a_member_of_the_consumer_protocol() -> None:
    assert not ConsumerSide(PLACE, "id", ["a"]).is_awaited


def test_who_is_told_that_it_named_no_regular_expression_goes_on_with_another() -> None:
    refused = 0
    for seed in range(200):
        chance, side = Random(seed), ConsumerSide(PLACE, "id", ["a"])
        answered(side.next(chance, KNOWN), 3)
        asking = side.next(chance, KNOWN)
        if getattr(asking.message, "subscribed_topic_regex", "") == "a(b":
            refused += 1
            answered(asking, 3, code=ErrorCode.INVALID_REGULAR_EXPRESSION)
            assert not side.is_out
            full = side._beat(is_full=True).message
            assert (full.member_epoch, full.subscribed_topic_regex) == (3, ".*")
    assert refused
