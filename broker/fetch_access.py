"""Which partitions of a fetch a consumer may read: asked anew at each fetch, sessions go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from broker.context import Context
from broker.core.access import Access
from broker.engine.serve.fetch import PARTS_OF_A_STEP
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
    readable: list[FetchPart] = []
    for number, part in enumerate(parts, 1):
        name = part.tp.topic or context.metadata.topic_name(part.topic_id) or ""
        if name not in may:
            topic = AclResourceType.TOPIC
            may[name] = not name or access.may(AclOperation.READ, topic, name)
        allowed.append(may[name])
        if may[name]:
            readable.append(part)
        if number % PARTS_OF_A_STEP == 0:
            await context.turns.next()
    if len(readable) == len(parts):
        return await read(context, params, parts, version)
    found = iter(await read(context, params._replace(max_wait_ms=0), readable, version))
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    results: list[FetchResult] = []
    for number, is_allowed in enumerate(allowed, 1):
        results.append(next(found) if is_allowed else FetchResult(error_code=denied))
        if number % PARTS_OF_A_STEP == 0:
            await context.turns.next()
    return results
