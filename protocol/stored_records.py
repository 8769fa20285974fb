"""The records of ``__consumer_offsets`` and ``__transaction_state``, and payloads stored like them.

A key is an int16 that says what the record is about, then a body; a value is an int16 version, then
a body; so is what consumers put into JoinGroup and SyncGroup. Who writes which record when is not
said here. Source: CoordinatorRecordSerde, CoordinatorRecordType, TransactionLog, ConsumerProtocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from struct import Struct
from typing import Any, Final

from protocol.errors import Malformed
from protocol.ports import Buffer
from protocol.wire.fast import codec
from protocol.wire.table import META

_INT16: Final = Struct(">h")
_PREFIX_BYTES: Final = 2


@dataclass(frozen=True, slots=True)
class RecordType:
    """What the records with one number in their key are about."""

    number: int
    name: str
    """Kafka's name without Key or Value, such as ``OffsetCommit``."""
    module: str
    """The module of ``protocol.messages`` that has its messages."""

    @property
    def key(self) -> type[Any]:
        """The class of its keys, which have the version 0 only."""
        return _load(self.module, f"{self.name}Key")

    @property
    def value(self) -> type[Any]:
        """The class of its values."""
        return _load(self.module, f"{self.name}Value")


def _types(*rows: tuple[int, str, str]) -> dict[int, RecordType]:
    return {row[0]: RecordType(*row) for row in rows}


GROUP_RECORDS: Final = _types(
    (0, "LegacyOffsetCommit", "group_records"),
    (1, "OffsetCommit", "group_records"),
    (2, "GroupMetadata", "group_records"),
    (3, "ConsumerGroupMetadata", "consumer_group_records"),
    (4, "ConsumerGroupPartitionMetadata", "consumer_group_records"),
    (5, "ConsumerGroupMemberMetadata", "consumer_group_records"),
    (6, "ConsumerGroupTargetAssignmentMetadata", "consumer_group_records"),
    (7, "ConsumerGroupTargetAssignmentMember", "consumer_group_records"),
    (8, "ConsumerGroupCurrentMemberAssignment", "consumer_group_records"),
    (9, "ShareGroupPartitionMetadata", "share_group_records"),
    (10, "ShareGroupMemberMetadata", "share_group_records"),
    (11, "ShareGroupMetadata", "share_group_records"),
    (12, "ShareGroupTargetAssignmentMetadata", "share_group_records"),
    (13, "ShareGroupTargetAssignmentMember", "share_group_records"),
    (14, "ShareGroupCurrentMemberAssignment", "share_group_records"),
    (15, "ShareGroupStatePartitionMetadata", "share_group_records"),
    (16, "ConsumerGroupRegularExpression", "consumer_group_records"),
    (17, "StreamsGroupMetadata", "streams_group_records"),
    (19, "StreamsGroupMemberMetadata", "streams_group_records"),
    (20, "StreamsGroupTargetAssignmentMetadata", "streams_group_records"),
    (21, "StreamsGroupTargetAssignmentMember", "streams_group_records"),
    (22, "StreamsGroupCurrentMemberAssignment", "streams_group_records"),
    (23, "StreamsGroupTopology", "streams_group_records"),
)
"""What ``__consumer_offsets`` holds, by the number in the key."""

TRANSACTION_RECORDS: Final = _types((0, "TransactionLog", "transaction_records"))
"""What ``__transaction_state`` holds, by the number in the key."""

_BY_NAME: Final = {
    record.name: record for record in (*GROUP_RECORDS.values(), *TRANSACTION_RECORDS.values())
}
_OTHERS: Final = {
    "RequestHeader": "headers",
    "ResponseHeader": "headers",
    "ConsumerProtocolSubscription": "consumer_protocol",
    "ConsumerProtocolAssignment": "consumer_protocol",
    "ControlRecordTypeSchema": "control_records",
    "EndTxnMarker": "control_records",
    "LeaderChangeMessage": "control_records",
    "SnapshotHeaderRecord": "control_records",
    "SnapshotFooterRecord": "control_records",
    "KRaftVersionRecord": "control_records",
    "VotersRecord": "control_records",
    "DefaultPrincipalData": "principals",
}
_KEYS_OF_3_9: Final = {"OffsetCommitKey": (0, 1)}
"""Keys that had several numbers in 3.9, where the number was the version."""


def decode_key(types: Mapping[int, RecordType], data: Buffer) -> tuple[RecordType, Any]:
    """Decode a record's key; ``types`` are those of its topic.

    Raises:
        Malformed: No such record type, or no such key.
    """
    number = _prefix(data)
    if number not in types:
        raise Malformed(f"record type {number}; known are {', '.join(map(str, types))}")
    record = types[number]
    return record, codec(record.key, 0).decode(memoryview(data)[_PREFIX_BYTES:])


def encode_key(key: Any) -> bytes:
    """Encode a record's key, an object of one of the ``...Key`` classes."""
    number = META[key.__class__].api_key
    assert number is not None
    return _INT16.pack(number) + codec(key.__class__, 0).encode(key)


def decode_versioned(cls: type[Any], data: Buffer) -> tuple[Any, int]:
    """Decode a version and a body of ``cls``: the value of a record; return object and version.

    Raises:
        Malformed: No such version, or no such body.
    """
    version = _prefix(data)
    versions = META[cls].versions
    if version not in versions:
        raise Malformed(f"{cls.__name__} v{version}; known are {versions.low} to {versions.high}")
    return codec(cls, version).decode(memoryview(data)[_PREFIX_BYTES:]), version


def decode_payload(cls: type[Any], data: Buffer) -> Any:
    """Decode what a consumer put into JoinGroup or SyncGroup, a class of ``consumer_protocol``.

    A version that is too new is read as the newest known, and what follows is left out.

    Raises:
        Malformed: A negative version, or no such body.
    """
    version = min(_prefix(data), META[cls].versions.high)
    if version < 0:
        raise Malformed(f"{cls.__name__} v{version}")
    return codec(cls, version).decode_leading(memoryview(data)[_PREFIX_BYTES:])


def encode_versioned(message: Any, version: int) -> bytes:
    """Encode a version and a body: the value of a record, a subscription, an assignment.

    Raises:
        KeyError: No such version.
        ValueError: A field that the version lacks is set, or does not fit its type.
    """
    return _INT16.pack(version) + codec(message.__class__, version).encode(message)


def stored_message(name: str, kind: str, version: int) -> tuple[type[Any], int]:
    """Return the class and its version of what Kafka's schemas call ``name``, a record or header.

    ``kind`` is that of the schema: "coordinator-key", "coordinator-value", "header" or "data". In
    3.9 everything stored was "data", and the version of a key was its number.

    Raises:
        KeyError: jbodlab does not have it; names it.
    """
    if name in _OTHERS:
        return _load(_OTHERS[name], name), version
    record = _BY_NAME.get(name.removesuffix("Key").removesuffix("Value"))
    if record is None or not name.endswith(("Key", "Value")):
        raise KeyError(f"jbodlab has no messages for {name}")
    if name.endswith("Value"):
        is_early = kind == "data" and record.name == "ShareGroupMetadata"
        return _load(record.module, f"{'Early' if is_early else ''}{name}"), version
    if kind == "data" and version in _KEYS_OF_3_9.get(name, (record.number,)):
        return record.key, 0
    return record.key, version


def _prefix(data: Buffer) -> int:
    if len(data) < _PREFIX_BYTES:
        raise Malformed(f"{len(data)} bytes where two tell the type or version")
    return int(_INT16.unpack_from(data)[0])


def _load(module: str, name: str) -> type[Any]:
    found: type[Any] = getattr(import_module(f"{__package__}.messages.{module}"), name)
    return found
