"""Messages of DescribeAcls (29), CreateAcls (30), DeleteAcls (31)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import INT8, INT16, INT32


@message(29, "request", versions="0-3", flexible="2+")
class DescribeAclsRequest:
    """Source: DescribeAclsRequest.json."""

    resource_type_filter: int = field(INT8)
    resource_name_filter: str | None = field(STRING, nullable="0+")
    pattern_type_filter: int = field(INT8, "1+", default=3)
    principal_filter: str | None = field(STRING, nullable="0+")
    host_filter: str | None = field(STRING, nullable="0+")
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@struct
class AclDescription:
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@struct
class DescribeAclsResource:
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8, "1+", default=3)
    acls: Sequence[AclDescription] = field(array(AclDescription))


@message(29, "response", versions="0-3", flexible="2+")
class DescribeAclsResponse:
    """Source: DescribeAclsResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resources: Sequence[DescribeAclsResource] = field(array(DescribeAclsResource))


@struct
class AclCreation:
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    resource_pattern_type: int = field(INT8, "1+", default=3)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@message(30, "request", versions="0-3", flexible="2+")
class CreateAclsRequest:
    """Source: CreateAclsRequest.json."""

    creations: Sequence[AclCreation] = field(array(AclCreation))


@struct
class AclCreationResult:
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")


@message(30, "response", versions="0-3", flexible="2+")
class CreateAclsResponse:
    """Source: CreateAclsResponse.json."""

    throttle_time_ms: int = field(INT32)
    results: Sequence[AclCreationResult] = field(array(AclCreationResult))


@struct
class DeleteAclsFilter:
    resource_type_filter: int = field(INT8)
    resource_name_filter: str | None = field(STRING, nullable="0+")
    pattern_type_filter: int = field(INT8, "1+", default=3)
    principal_filter: str | None = field(STRING, nullable="0+")
    host_filter: str | None = field(STRING, nullable="0+")
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@message(31, "request", versions="0-3", flexible="2+")
class DeleteAclsRequest:
    """Source: DeleteAclsRequest.json."""

    filters: Sequence[DeleteAclsFilter] = field(array(DeleteAclsFilter))


@struct
class DeleteAclsMatchingAcl:
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8, "1+", default=3)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@struct
class DeleteAclsFilterResult:
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    matching_acls: Sequence[DeleteAclsMatchingAcl] = field(array(DeleteAclsMatchingAcl))


@message(31, "response", versions="0-3", flexible="2+")
class DeleteAclsResponse:
    """Source: DeleteAclsResponse.json."""

    throttle_time_ms: int = field(INT32)
    filter_results: Sequence[DeleteAclsFilterResult] = field(array(DeleteAclsFilterResult))
