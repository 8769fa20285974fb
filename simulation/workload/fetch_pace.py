"""Lets a consumer of aiokafka wait after a fetch that brought an error and nothing else.

The library fetches again as soon as it is answered: from a leader whose log dir has failed, while
no controller elects another, 2,500 times a second. Source of the wait: librdkafka's
`fetch.error.backoff.ms`.
"""

# aiokafka has no stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiokafka.protocol.fetch import FetchRequest

from protocol.errors import ErrorCode

_ERROR_CODE: Final = 1
_RECORDS: Final = -1
_NO_REASON_TO_WAIT: Final = (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE)
"""The second one the library tells the application, which waits by itself (``position_reset``)."""


# Any: aiokafka has no stubs.
def pace_fetches(client: Any, retry_backoff_ms: int) -> None:
    """Have an ``AIOKafkaClient`` keep such answers so long; what else it sends is not touched."""
    send = client.send

    async def send_paced(node_id: int, request: Any, **words: Any) -> Any:
        answer = await send(node_id, request, **words)
        if isinstance(request, FetchRequest) and _is_error_alone(answer):
            await asyncio.sleep(retry_backoff_ms / 1000)
        return answer

    # The library has no setting for it.
    client.send = send_paced


def _is_error_alone(answer: Any) -> bool:
    partitions = [each for _, found in answer.topics for each in found]
    has_error = any(each[_ERROR_CODE] not in _NO_REASON_TO_WAIT for each in partitions)
    return has_error and not any(each[_RECORDS] for each in partitions)
