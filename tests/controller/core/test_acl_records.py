"""What records about ACLs change, and that a journal brings them back."""

from __future__ import annotations

from controller.core.acl_records import AclsCreated, AclsDeleted
from controller.core.snapshot import snapshot
from controller.core.state import ClusterState
from controller.journal import Entry, decode_entry, encode_entry
from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)

READ = AclBinding(
    ResourcePattern(AclResourceType.TOPIC, "t", PatternType.LITERAL),
    "User:alice",
    "*",
    AclOperation.READ,
    PermissionType.ALLOW,
)
WRITE = READ._replace(operation=AclOperation.WRITE)


def test_acls_come_and_go() -> None:
    state = ClusterState()
    AclsCreated((READ, WRITE)).apply(state)
    AclsDeleted((READ,)).apply(state)
    assert list(state.acls) == [WRITE]


def test_a_journal_gives_them_back_as_they_were() -> None:
    records = [AclsCreated((READ, WRITE)), AclsDeleted((WRITE,))]
    line = encode_entry(Entry(0, 0, list(records)))
    assert decode_entry(line.rstrip(b"\n")).records == records


def test_a_snapshot_has_them() -> None:
    state = ClusterState()
    AclsCreated((READ, WRITE)).apply(state)
    again = ClusterState()
    for record in snapshot(state):
        record.apply(again)
    assert again.acls == state.acls
