"""Serves: CreateAcls (30), DescribeAcls (29), DeleteAcls (31), passed on to the controller.

Differs from Kafka: a value that nobody knows is answered with INVALID_REQUEST; Kafka closes the
connection.
Versions: 0-3.
"""

from __future__ import annotations

from typing import Any, Final

from broker.context import Context
from broker.handlers import handles
from protocol.messages.acls import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from protocol.refusals import refuse_create_acls, refuse_delete_acls, refuse_describe_acls

_TIMEOUT_MS: Final = 5_000
"""These requests do not say how long their clients wait."""


async def forward(context: Context, request: Any, version: int) -> Any:
    """Return the controller's answer."""
    return await context.controller.forward(request, version, timeout_ms=_TIMEOUT_MS)


handles(DescribeAclsRequest, "0-3", refuse=refuse_describe_acls)(forward)
handles(CreateAclsRequest, "0-3", refuse=refuse_create_acls)(forward)
handles(DeleteAclsRequest, "0-3", refuse=refuse_delete_acls)(forward)
