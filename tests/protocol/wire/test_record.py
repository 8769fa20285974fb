# construct has no type annotations.
# pyright: basic

import construct as c
import pytest

from protocol.messages.lifecycle import BrokerHeartbeatRequest
from protocol.messages.produce import LeaderIdAndEpoch
from protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from protocol.wire import types as t
from protocol.wire.record import AbsentField, TaggedField, UnsupportedFieldError, check_absent
from protocol.wire.table import construct_for

UNSET = LeaderIdAndEpoch()
INTEGERS = t.Array(t.Length(compact=True, fixed=t.INT32), nullable=True, element=t.INT32)


@pytest.mark.parametrize(
    ("con", "default", "unset", "set_"),
    [
        (t.INT32, -1, [-1], [0, 5]),
        (INTEGERS, (), [(), []], [[1], None]),
        (INTEGERS, None, [None], [(), [1]]),
        (t.INT8, UNSET, [LeaderIdAndEpoch()], [LeaderIdAndEpoch(leader_id=0)]),
    ],
)
def test_a_tagged_field_is_set_when_it_differs_from_its_default(
    con: c.Construct, default: object, unset: list[object], set_: list[object]
) -> None:
    field = TaggedField(0, "name", con, default)
    assert [value for value in unset if field.is_set(value)] == []
    assert [value for value in set_ if not field.is_set(value)] == []


def test_a_record_is_parsed_with_the_path_to_what_is_broken() -> None:
    topics = [CreatableTopic(name="a"), CreatableTopic(name="b")]
    data = construct_for(CreateTopicsRequest, 5).build(CreateTopicsRequest(topics=topics))
    with pytest.raises(c.StringError, match=r"-> topics\[1\] -> name"):
        construct_for(CreateTopicsRequest, 5).parse(data.replace(b"\x02b", b"\x02\xff"))


def test_tagged_fields_are_written_only_when_set() -> None:
    reference = construct_for(BrokerHeartbeatRequest, 1)
    unset = reference.build(BrokerHeartbeatRequest())
    one_set = reference.build(BrokerHeartbeatRequest(offline_log_dirs=[bytes(16)]))
    assert one_set == unset[:-1] + b"\x01\x00\x11\x02" + bytes(16)


def test_unknown_tagged_fields_are_kept_between_known_ones() -> None:
    request = BrokerHeartbeatRequest(offline_log_dirs=[bytes(16)], unknown_tags=((9, b"n"),))  # pyright: ignore[reportCallIssue] - every struct has it
    reference = construct_for(BrokerHeartbeatRequest, 1)
    assert reference.parse(reference.build(request)) == request


def test_a_value_in_a_field_that_the_version_lacks_is_refused() -> None:
    absent = [AbsentField("offline_log_dirs", ())]
    check_absent(BrokerHeartbeatRequest, absent, BrokerHeartbeatRequest(offline_log_dirs=[]), 0)
    request = BrokerHeartbeatRequest(offline_log_dirs=[bytes(16)])
    with pytest.raises(UnsupportedFieldError, match=r"BrokerHeartbeatRequest.offline_log_dirs"):
        check_absent(BrokerHeartbeatRequest, absent, request, 0)
