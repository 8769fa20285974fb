"""Serves: admin APIs that only the controller decides, by passing them on, as KRaft brokers do.

Differs from Kafka: no Envelope; the controller sees this broker as the client.
Versions: as the table says; the controller is asked at the client's own.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from broker.context import Context
from broker.handlers import Refuse, handles
from protocol.messages.elections import ElectLeadersRequest
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
)
from protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from protocol.refusals import (
    refuse_create_partitions,
    refuse_create_topics,
    refuse_delete_topics,
    refuse_elect_leaders,
    refuse_list_reassignments,
    refuse_reassignments,
)


class _Forwarded(NamedTuple):
    """One API; its request says in ``timeout_ms`` how long the client waits."""

    request: type
    versions: str
    refuse: Refuse[Any]


_TABLE: Final = (
    _Forwarded(CreateTopicsRequest, "0-7", refuse_create_topics),
    _Forwarded(DeleteTopicsRequest, "0-6", refuse_delete_topics),
    _Forwarded(CreatePartitionsRequest, "0-3", refuse_create_partitions),
    _Forwarded(ElectLeadersRequest, "0-2", refuse_elect_leaders),
    _Forwarded(AlterPartitionReassignmentsRequest, "0-1", refuse_reassignments),
    _Forwarded(ListPartitionReassignmentsRequest, "0", refuse_list_reassignments),
)


async def forward(context: Context, request: Any, version: int) -> Any:
    """Return the controller's answer."""
    return await context.controller.forward(request, version, timeout_ms=request.timeout_ms)


for _api in _TABLE:
    handles(_api.request, _api.versions, refuse=_api.refuse)(forward)
