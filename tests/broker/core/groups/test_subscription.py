"""Topics, read from what consumers join with."""

import pytest

from broker.core.groups.subscription import (
    assignment_of,
    encoded_assignment,
    subscribed_topics,
    subscription_of,
)
from protocol.errors import Malformed
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.stored_records import encode_versioned


def subscription(*topics: str, version: int = 1) -> bytes:
    said = ConsumerProtocolSubscription(topics=list(topics), user_data=None)
    return encode_versioned(said, version)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_topics_are_read_from_each_version(version: int) -> None:
    said = [subscription("a", "b", version=version), subscription("b", "c", version=version)]
    assert subscribed_topics(said) == {"a", "b", "c"}


def test_only_the_beginning_that_all_versions_share_is_read() -> None:
    newer = b"\x00\x63" + subscription("a", version=0)[2:] + b"whatever comes"
    assert subscribed_topics([newer]) == {"a"}


@pytest.mark.parametrize(
    "said", [b"", b"\x00", b"\x00\x00\x00\x00\x00\x09", b"\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff"]
)
def test_what_is_no_subscription_makes_the_topics_unknown(said: bytes) -> None:
    assert subscribed_topics([subscription("a"), said]) is None


def test_nobody_subscribes_to_nothing() -> None:
    assert subscribed_topics([]) == frozenset()


@pytest.mark.parametrize("version", range(4))
def test_an_assignment_is_what_its_consumer_reads(version: int) -> None:
    encoded = encoded_assignment({"orders": [0, 2], "bills": [1]}, version)
    assert encoded[:2] == bytes([0, version])
    read = assignment_of(encoded)
    assert [(row.topic, list(row.partitions)) for row in read.assigned_partitions] == [
        ("orders", [0, 2]),
        ("bills", [1]),
    ]


def test_a_version_that_is_too_new_is_answered_in_the_newest_known() -> None:
    assert encoded_assignment({}, 9)[:2] == bytes([0, 3])


def test_what_is_no_subscription_is_said() -> None:
    with pytest.raises(Malformed):
        subscription_of(b"\0")
