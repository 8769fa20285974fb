"""ACLs as they stand in ZooKeeper: in Kafka's words."""

from __future__ import annotations

import pytest

from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.zookeeper.acls import RESOURCE_TYPES, acl_change, acl_path, acls_of, revised_acls
from protocol.zookeeper.znodes import AclEntry, AclsZnode, decode, encode

LITERAL = ResourcePattern(AclResourceType.GROUP, "g", PatternType.LITERAL)
PREFIXED = ResourcePattern(AclResourceType.DELEGATION_TOKEN, "t-", PatternType.PREFIXED)


def test_types_have_kafkas_words() -> None:
    words = ["Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User"]
    assert list(RESOURCE_TYPES) == words


def test_literal_patterns_and_prefixes_have_folders_and_changes_of_their_own() -> None:
    assert acl_path(LITERAL) == "/kafka-acl/Group/g"
    assert acl_change(LITERAL) == ("/kafka-acl-changes/acl_changes_", b"Group:g")
    assert acl_path(PREFIXED) == "/kafka-acl-extended/prefixed/DelegationToken/t-"
    assert acl_change(PREFIXED)[0] == "/kafka-acl-extended-changes/acl_changes_"


@pytest.mark.parametrize("operation", [each for each in AclOperation if each > AclOperation.ANY])
def test_what_is_written_is_read_again(operation: AclOperation) -> None:
    acl = AclBinding(LITERAL, "User:a", "*", operation, PermissionType.DENY)
    written = revised_acls(None, [acl], ())
    assert written is not None
    znode = decode(encode(written), AclsZnode, "/kafka-acl/Group/g")
    assert list(acls_of("/kafka-acl", "Group", "g", znode)) == [acl]


def test_words_that_nobody_knows_are_passed_over() -> None:
    entries = [
        AclEntry(principal="User:a", permission_type="Allow", operation="Dance", host="*"),
        AclEntry(principal="User:a", permission_type="Perhaps", operation="Read", host="*"),
    ]
    assert list(acls_of("/kafka-acl", "Group", "g", AclsZnode(acls=entries))) == []
