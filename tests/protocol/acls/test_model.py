"""The values of ACLs are those that Kafka's tools send."""

from __future__ import annotations

from protocol.acls.model import OPERATIONS, AclOperation, AclResourceType


def test_every_resource_that_can_be_named_has_operations_that_can_be_named() -> None:
    named = [kind for kind in AclResourceType if kind > AclResourceType.ANY]
    assert list(OPERATIONS) == named
    assert all(op > AclOperation.ALL for ops in OPERATIONS.values() for op in ops)
