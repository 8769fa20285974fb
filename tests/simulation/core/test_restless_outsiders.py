"""What somebody outside of a group asks of it, and of a group that has offsets alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from protocol.errors import ErrorCode
from protocol.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
)
from protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    MemberIdentity,
    SyncGroupRequest,
)
from protocol.messages.producer_ids import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.transactions import (
    DescribeTransactionsRequest,
    EndTxnRequest,
    EndTxnResponse,
    ListTransactionsRequest,
    TxnOffsetCommitRequest,
)
from protocol.wire.fast import codec
from simulation.core.restless_members import KnownTopic
from simulation.core.restless_outsiders import Errand, Outsider

KNOWN = {"a": KnownTopic(b"a" * 16, 3)}
MEMBERS = (
    MemberIdentity(member_id="one", group_instance_id=None),
    MemberIdentity(member_id="two", group_instance_id="i"),
    MemberIdentity(member_id="three", group_instance_id=None),
)


def outsider(transactional_id: str | None = None) -> Outsider:
    return Outsider("g", ("a", "b"), transactional_id)


def drawn(count: int, members: Sequence[MemberIdentity] = MEMBERS) -> list[Errand]:
    who, chance = outsider(), Random(2)
    return [who.next(chance, KNOWN, members) for _ in range(count)]


def test_it_asks_a_little_of_everything_of_both_groups() -> None:
    found = {(type(each.asking.message).__name__, each.key) for each in drawn(600)}
    kinds = {OffsetDeleteRequest, DeleteGroupsRequest, OffsetCommitRequest, OffsetFetchRequest}
    kinds |= {DescribeGroupsRequest, ConsumerGroupDescribeRequest, ListGroupsRequest}
    both = {(kind.__name__, group) for kind in kinds for group in ("g", "g-beside")}
    alone = {LeaveGroupRequest, JoinGroupRequest, SyncGroupRequest, HeartbeatRequest}
    alone |= {ConsumerGroupHeartbeatRequest}
    assert found == {*both, *((kind.__name__, "g") for kind in alone)}


def test_it_removes_several_at_once_and_static_ones_by_their_instance_ids() -> None:
    removals = [each for each in drawn(600) if isinstance(each.asking.message, LeaveGroupRequest)]
    named: set[tuple[str, str | None]] = set()
    for each in removals:
        rows = each.asking.message.members
        assert len(rows) > 1
        assert not each.is_emptying or len(rows) == len(MEMBERS)
        named.update((row.member_id, row.group_instance_id) for row in rows)
    assert {("one", None), ("two", "i"), ("", "i"), ("nobody", None)} <= named
    assert {each.is_emptying for each in removals} == {False, True}
    assert not any(each.is_emptying for each in drawn(200, ()))


def test_offsets_of_a_group_that_was_emptied_are_mostly_of_long_ago() -> None:
    errands = drawn(2_000)
    after = [errands[number + 1] for number, each in enumerate(errands[:-1]) if each.is_emptying]
    times = Counter[int]()
    for each in after:
        assert each.key == "g"
        row = each.asking.message.topics[0].partitions[0]
        times[row.commit_timestamp] += 1
        assert codec(OffsetCommitRequest, each.asking.version).encode(each.asking.message)
    assert times[1] > times[-1] > 0


def test_somebody_takes_himself_for_a_member_of_the_group_that_has_none() -> None:
    commits = [
        (each.key, each.asking.message.generation_id_or_member_epoch >= 0)
        for each in drawn(600)
        if isinstance(each.asking.message, OffsetCommitRequest)
    ]
    assert set(commits) == {("g", False), ("g-beside", False), ("g-beside", True)}


def test_all_groups_are_listed_or_those_of_some_states_and_types() -> None:
    lists = [
        each.asking.message
        for each in drawn(1_000)
        if isinstance(each.asking.message, ListGroupsRequest)
    ]
    assert {tuple(each.types_filter) for each in lists} == {(), ("consumer",), ("Classic",)}
    assert {(), ("stable", "Empty")} < {tuple(each.states_filter) for each in lists}


def test_transactions_are_looked_at_while_they_are_open_and_when_they_are_not() -> None:
    who, chance = outsider("tx-1"), Random(4)
    described = 0
    filters: set[tuple[bool, bool, bool, str | None]] = set()
    for _ in range(5_000):
        errand = who.next(chance, KNOWN, MEMBERS)
        message = errand.asking.message
        if isinstance(message, InitProducerIdRequest):
            errand.asking.answered(InitProducerIdResponse(producer_id=7, producer_epoch=0))
        elif isinstance(message, DescribeTransactionsRequest):
            assert message.transactional_ids == [errand.key] == ["tx-1"]
            described += 1
        elif isinstance(message, ListTransactionsRequest):
            assert errand.is_of_transaction
            filters.add(
                (
                    bool(message.state_filters),
                    list(message.producer_id_filters) == [7],
                    message.duration_filter > 0,
                    message.transactional_id_pattern,
                )
            )
    assert described > 50
    flags, patterns = (True, False), (None, "tx-.", "tx-")
    assert filters == {(a, b, c, d) for a in flags for b in flags for c in flags for d in patterns}


def test_transactions_are_begun_and_ended_by_whose_they_are() -> None:
    who, chance = outsider("tx"), Random(5)
    groups: Counter[str] = Counter()
    ends: Counter[bool] = Counter()
    assert who.last() is None
    epoch, is_open = 0, False
    for _ in range(600):
        errand = who.next(chance, KNOWN, MEMBERS)
        message = errand.asking.message
        if isinstance(message, InitProducerIdRequest):
            assert (errand.key, errand.is_of_transaction, epoch) == ("tx", True, 0)
            errand.asking.answered(InitProducerIdResponse(producer_id=7, producer_epoch=0))
        elif isinstance(message, TxnOffsetCommitRequest):
            assert (message.producer_id, message.producer_epoch) == (7, epoch)
            assert errand.key == message.group_id
            groups[message.group_id] += 1
            is_open = True
        elif isinstance(message, EndTxnRequest):
            assert is_open
            ends[message.committed] += 1
            epoch, is_open = epoch + 1, False
            errand.asking.answered(EndTxnResponse(producer_id=7, producer_epoch=epoch))
            assert who.last() is None
        if is_open:
            last = who.last()
            assert last is not None
            assert not last.asking.message.committed
    assert groups["g-beside"] > groups["g"] > 0
    assert ends[True] > ends[False] > 0


def test_who_is_fenced_begins_anew_and_who_is_to_wait_goes_on() -> None:
    for code, is_anew in (
        (ErrorCode.INVALID_PRODUCER_EPOCH, True),
        (ErrorCode.CONCURRENT_TRANSACTIONS, False),
    ):
        who, chance = outsider("tx"), Random(7)
        begun = 0
        for _ in range(100):
            errand = who.next(chance, KNOWN, ())
            if isinstance(errand.asking.message, InitProducerIdRequest):
                begun += 1
                errand.asking.answered(InitProducerIdResponse(producer_id=7, producer_epoch=0))
            elif isinstance(errand.asking.message, EndTxnRequest):
                errand.asking.answered(
                    EndTxnResponse(error_code=code, producer_id=-1, producer_epoch=-1)
                )
        assert (begun > 1) is is_anew
