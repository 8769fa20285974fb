"""Serves: ElectLeaders (43), by passing it on to the controller, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: 0-2.
"""

from __future__ import annotations

from typing import Final

from broker.context import Context
from broker.handlers import handles
from protocol.messages.elections import (
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from protocol.refusals import refuse_elect_leaders

_TOP_CODE_SINCE: Final = 1


@handles(ElectLeadersRequest, "0-2", refuse=refuse_elect_leaders)
async def handle(
    context: Context, request: ElectLeadersRequest, version: int
) -> ElectLeadersResponse:
    """Return the controller's answer."""
    answer: ElectLeadersResponse = await context.controller.forward(
        request, version, timeout_ms=request.timeout_ms
    )
    return answer
