"""Lets a member of aiokafka hear of an error that an OffsetFetch has for its whole group.

aiokafka 0.14 asks by version 3, whose answer has such an error at its top, and looks for errors in
partitions alone: a coordinator that is being loaded has no offsets for it, as it has none on Apache
Kafka, and the member begins where it is told to begin without any.
"""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any

from aiokafka.errors import for_code
from aiokafka.protocol.commit import OffsetFetchRequest

from protocol.errors import ErrorCode


# Any: aiokafka has no stubs.
def hear_group_errors(client: Any) -> None:
    """Have an ``AIOKafkaClient`` raise such an error; what else it sends is not touched."""
    send = client.send

    async def send_heard(node_id: int, request: Any, **words: Any) -> Any:
        answer = await send(node_id, request, **words)
        if isinstance(request, OffsetFetchRequest):
            code = getattr(answer, "error_code", ErrorCode.NONE)
            if code != ErrorCode.NONE:
                raise for_code(code)()
        return answer

    # The library has no setting for it.
    client.send = send_heard
