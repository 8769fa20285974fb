# construct has no type annotations.
# pyright: basic

import pytest

from protocol.messages.fetch import FetchRequest, ReplicaState
from protocol.messages.lifecycle import BrokerHeartbeatRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.wire.encode_source import encoder_for
from protocol.wire.output import Output
from protocol.wire.record import UnsupportedFieldError
from protocol.wire.table import construct_for


@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 20_000])
@pytest.mark.parametrize("version", [0, 9])
def test_array_lengths_are_written_as_construct_writes_them(version: int, count: int) -> None:
    message = MetadataRequest(topics=[MetadataRequestTopic(name="t")] * count)
    reference = construct_for(MetadataRequest, version)
    assert encoder_for(reference)(Output(), message) == reference.build(message)


@pytest.mark.parametrize("size", [0, 126, 127, 128, 32767])
@pytest.mark.parametrize("version", [0, 9])
def test_string_lengths_are_written_as_construct_writes_them(version: int, size: int) -> None:
    message = MetadataRequest(topics=[MetadataRequestTopic(name="x" * size)])
    reference = construct_for(MetadataRequest, version)
    assert encoder_for(reference)(Output(), message) == reference.build(message)


def test_a_tagged_struct_is_written_only_when_set() -> None:
    encode = encoder_for(construct_for(FetchRequest, 15))
    unset = encode(Output(), FetchRequest())
    follower = encode(Output(), FetchRequest(replica_state=ReplicaState(replica_id=2)))
    assert unset[-1:] == b"\0"
    assert follower[:-16] + b"\0" == unset


def test_a_set_field_that_the_version_lacks_is_refused_before_anything_is_written() -> None:
    encode, out = encoder_for(construct_for(BrokerHeartbeatRequest, 0)), Output()
    with pytest.raises(UnsupportedFieldError):
        encode(out, BrokerHeartbeatRequest(offline_log_dirs=[bytes(16)]))
    assert out == b""
