"""ACLs and filters of ACLs out of requests and into answers, checked as Kafka checks them.

Nothing is stored here. Source: AclControlManager.java validateNewAcl and validateFilter,
AclApis.scala, ResourcePatternFilter.java, AccessControlEntryFilter.java, DescribeAclsResponse.java.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple, TypeVar

from protocol.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.acls import (
    AclCreation,
    AclDescription,
    DeleteAclsFilter,
    DeleteAclsMatchingAcl,
    DescribeAclsRequest,
    DescribeAclsResource,
)

CodeT = TypeVar("CodeT", bound=IntEnum)
_NAMED = (PatternType.LITERAL, PatternType.PREFIXED)


class AclFilter(NamedTuple):
    """Which ACLs are asked for."""

    resource_type: AclResourceType
    name: str | None
    """None: of all names."""
    pattern_type: PatternType
    """MATCH: every pattern that covers ``name``."""
    principal: str | None
    host: str | None
    operation: AclOperation
    permission: PermissionType

    def matches(self, acl: AclBinding) -> bool:
        """Tell whether it asks for this one."""
        return (
            self._matches_pattern(acl.pattern)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (AclOperation.ANY, acl.operation)
            and self.permission in (PermissionType.ANY, acl.permission)
        )

    def _matches_pattern(self, pattern: ResourcePattern) -> bool:
        if self.resource_type not in (AclResourceType.ANY, pattern.resource_type):
            return False
        is_any = self.pattern_type in (PatternType.ANY, PatternType.MATCH)
        if not is_any and self.pattern_type != pattern.pattern_type:
            return False
        if self.name is None:
            return True
        if self.pattern_type != PatternType.MATCH:
            return self.name == pattern.name
        if pattern.pattern_type == PatternType.LITERAL:
            return pattern.name in (self.name, WILDCARD)
        return self.name.startswith(pattern.name)


EVERY_ACL = DescribeAclsRequest(
    resource_type_filter=AclResourceType.ANY,
    resource_name_filter=None,
    pattern_type_filter=PatternType.ANY,
    principal_filter=None,
    host_filter=None,
    operation=AclOperation.ANY,
    permission_type=PermissionType.ANY,
)


def new_binding(creation: AclCreation) -> AclBinding:
    """Return the ACL that is to be created.

    Raises:
        KafkaError: INVALID_REQUEST, with Kafka's text.
    """
    kind = _code(AclResourceType, creation.resource_type)
    pattern = _code(PatternType, creation.resource_pattern_type)
    operation = _code(AclOperation, creation.operation)
    permission = _code(PermissionType, creation.permission_type)
    name = creation.resource_name
    if kind == AclResourceType.CLUSTER and name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not name:
        raise _invalid("Invalid empty resource name")
    if kind <= AclResourceType.ANY:
        raise _invalid(f"Invalid resourceType {kind.name}")
    if pattern not in _NAMED:
        raise _invalid(f"Invalid patternType {pattern.name}")
    if operation <= AclOperation.ANY:
        raise _invalid(f"Invalid operation {operation.name}")
    if permission <= PermissionType.ANY:
        raise _invalid(f"Invalid permissionType {permission.name}")
    if ":" not in creation.principal:
        raise _invalid(
            f"Could not parse principal from `{creation.principal}` (no colon is present "
            "separating the principal type from the principal name)"
        )
    return AclBinding(
        ResourcePattern(kind, name, pattern),
        creation.principal,
        creation.host,
        operation,
        permission,
    )


def asked_filter(asked: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    """Return which ACLs are asked for.

    Raises:
        KafkaError: INVALID_REQUEST, for values that nobody knows.
    """
    found = AclFilter(
        _code(AclResourceType, asked.resource_type_filter),
        asked.resource_name_filter,
        _code(PatternType, asked.pattern_type_filter),
        asked.principal_filter,
        asked.host_filter,
        _code(AclOperation, asked.operation),
        _code(PermissionType, asked.permission_type),
    )
    if not (found.resource_type and found.pattern_type):
        raise _invalid("Unknown patternFilter.")
    if not (found.operation and found.permission):
        raise _invalid("Unknown entryFilter.")
    return found


def described(acls: Iterable[AclBinding]) -> list[DescribeAclsResource]:
    """Return ACLs as DescribeAcls tells them: by pattern, in the order in which patterns come."""
    by_pattern: dict[ResourcePattern, list[AclDescription]] = {}
    for acl in acls:
        by_pattern.setdefault(acl.pattern, []).append(
            AclDescription(
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
        )
    return [
        DescribeAclsResource(
            resource_type=pattern.resource_type,
            resource_name=pattern.name,
            pattern_type=pattern.pattern_type,
            acls=of_pattern,
        )
        for pattern, of_pattern in by_pattern.items()
    ]


def bindings_of(resources: Iterable[DescribeAclsResource]) -> list[AclBinding]:
    """Return the ACLs that ``described`` told."""
    return [_told(resource, acl) for resource in resources for acl in resource.acls]


def deleted(acl: AclBinding) -> DeleteAclsMatchingAcl:
    """Return an ACL as DeleteAcls tells it."""
    return DeleteAclsMatchingAcl(
        error_code=ErrorCode.NONE,
        error_message=None,
        resource_type=acl.pattern.resource_type,
        resource_name=acl.pattern.name,
        pattern_type=acl.pattern.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def deleted_binding(told: DeleteAclsMatchingAcl) -> AclBinding:
    """Return the ACL that ``deleted`` told."""
    return _told(told, told)


def creation_of(acl: AclBinding) -> AclCreation:
    """Return what asks for an ACL, as ``new_binding`` takes it."""
    return AclCreation(
        resource_type=acl.pattern.resource_type,
        resource_name=acl.pattern.name,
        resource_pattern_type=acl.pattern.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _told(
    resource: DescribeAclsResource | DeleteAclsMatchingAcl,
    acl: AclDescription | DeleteAclsMatchingAcl,
) -> AclBinding:
    kind, pattern_type = AclResourceType(resource.resource_type), PatternType(resource.pattern_type)
    return AclBinding(
        ResourcePattern(kind, resource.resource_name, pattern_type),
        acl.principal,
        acl.host,
        AclOperation(acl.operation),
        PermissionType(acl.permission_type),
    )


def _code(kind: type[CodeT], code: int) -> CodeT:
    """Return the value of a code; that of 0, UNKNOWN, for one that nobody knows."""
    return kind(code) if code in tuple(kind) else kind(0)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
