"""The vocabulary: Kafka's ids, and values that stand for none. No rules, no imports of ours."""

from __future__ import annotations

import binascii
import re
from collections.abc import Sequence
from typing import Final, NamedTuple, NewType, TypeAlias

BrokerId = NewType("BrokerId", int)

_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
ZERO_UUID: Final = bytes(16)
"""Stands for "no id" on the wire."""

NO_LEADER: Final = BrokerId(-1)
LEADER_DURING_DELETE: Final = BrokerId(-2)
EPOCH_DURING_DELETE: Final = -2
NO_EPOCH: Final = -1
NO_OFFSET: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
CONSUMER_REPLICA_ID: Final = BrokerId(-1)
FUTURE_LOCAL_REPLICA_ID: Final = BrokerId(-3)


TopicIdPartition: TypeAlias = tuple[bytes, int]
"""The id of a topic and the number of a partition, as brokers name it to each other.

A bare tuple: every fetch of a follower makes and looks up one per partition.
"""


class TopicPartition(NamedTuple):
    """The name of one partition."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def broker_id_from_text(text: str) -> BrokerId:
    """Return the id that the name of a broker's configuration resource stands for.

    Raises:
        ValueError: ``text`` is no whole number as Java reads them: no blanks, no underscores.
    """
    if _WHOLE_NUMBER.fullmatch(text) is None:
        raise ValueError(f"not a whole number: {text!r}")
    return BrokerId(int(text))


def uuid_text(uuid: bytes) -> str:
    """Return Kafka's text of a uuid: base64url, 22 characters, no padding.

    Source: Uuid.java toString.
    """
    assert len(uuid) == 16
    return binascii.b2a_base64(uuid, newline=False)[:22].decode().translate(_URL_SAFE)


def uuid_from_text(text: str) -> bytes:
    """Return the 16 bytes of a uuid's base64url text.

    Raises:
        ValueError: ``text`` is no such text.
    """
    uuid = binascii.a2b_base64(text.translate(_URL_UNSAFE) + "==")
    if len(text) != 22 or len(uuid) != 16:
        raise ValueError(f"a uuid is 22 base64url characters, not {text!r}")
    return uuid


TOOL_CLIENT_ID: Final = "jbodlab"
"""How the commands of ``jbodlab`` name themselves to brokers."""


def node_client_id(node_id: int) -> str:
    """Return how a broker names itself to the controller, and the controller to brokers."""
    return str(node_id)


def fetcher_client_id(broker_id: int) -> str:
    """Return how a follower names itself to leaders."""
    return f"broker-{broker_id}-fetcher"


def failure_id(broker_id: int, directory_id: bytes, broker_epoch: int) -> str:
    """Name one failure of one log dir, the same in every process."""
    return f"{broker_id}-{uuid_text(directory_id)}-{broker_epoch}"


def listed(partitions: Sequence[object], count_max: int = 20) -> str:
    """Name partitions in one line, the first ``count_max`` of them."""
    named = ", ".join(map(str, partitions[:count_max]))
    more = len(partitions) - count_max
    return named if more <= 0 else f"{named} and {more} more"


_URL_SAFE: Final = str.maketrans("+/", "-_")
_URL_UNSAFE: Final = str.maketrans("-_", "+/")
