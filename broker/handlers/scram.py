"""Serves: DescribeUserScramCredentials (50), AlterUserScramCredentials (51), by the controller.

Differs from Kafka: a change is answered when the reachable brokers authenticate by it.
Versions: 0.
"""

from __future__ import annotations

from typing import Any, Final

from broker.context import Context
from broker.handlers import handles
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
)
from protocol.refusals import refuse_alter_scram_credentials, refuse_describe_scram_credentials

_TIMEOUT_MS: Final = 5_000
"""These requests do not say how long their clients wait."""


async def forward(context: Context, request: Any, version: int) -> Any:
    """Return the controller's answer."""
    return await context.controller.forward(request, version, timeout_ms=_TIMEOUT_MS)


handles(DescribeUserScramCredentialsRequest, "0", refuse=refuse_describe_scram_credentials)(forward)
handles(AlterUserScramCredentialsRequest, "0", refuse=refuse_alter_scram_credentials)(forward)
