"""Which partitions of a fetch a consumer may read: asked anew at each fetch, sessions go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from broker.context import Context
from broker.core.access import Access
from broker.engine.types import FetchParams, FetchPart, FetchResult
from protocol.acls.model import AclOperation, AclResourceType
from protocol.errors import ErrorCode

Read = Callable[[Context, FetchParams, Sequence[FetchPart], int], Awaitable[list[FetchResult]]]


async def read_allowed(
    read: Read,
    context: Context,
    params: FetchParams,
    parts: Sequence[FetchPart],
    version: int,
    access: Access | None,
) -> list[FetchResult]:
    """Read what ``access`` allows, the others have an error; followers were asked as a whole."""
    if access is None or params.replica_id >= 0:
        return await read(context, params, parts, version)
    may: dict[str, bool] = {}
    allowed: list[bool] = []
    for part in parts:
        name = part.tp.topic or context.metadata.topic_name(part.topic_id) or ""
        if name not in may:
            topic = AclResourceType.TOPIC
            may[name] = not name or access.may(AclOperation.READ, topic, name)
        allowed.append(may[name])
    if all(allowed):
        return await read(context, params, parts, version)
    readable = [part for part, is_allowed in zip(parts, allowed, strict=True) if is_allowed]
    found = iter(await read(context, params._replace(max_wait_ms=0), readable, version))
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return [next(found) if is_allowed else FetchResult(error_code=denied) for is_allowed in allowed]
