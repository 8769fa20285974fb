"""Serves: ListConfigResources (74), which topics, brokers and groups there are to configure.

Differs from Kafka: client metrics have no settings here, so none are listed.
Versions: 0-1; version 0 asks for client metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from broker.context import Context
from broker.handlers import handles
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from protocol.refusals import refuse_list_config_resources

_TYPES_SINCE: Final = 1


@handles(ListConfigResourcesRequest, "0-1", refuse=refuse_list_config_resources)
async def handle(
    context: Context, request: ListConfigResourcesRequest, version: int
) -> ListConfigResourcesResponse:
    """Name the resources of the types asked for; of all where none is."""
    types = list(dict.fromkeys(request.resource_types)) or list(_NAMES)
    if version < _TYPES_SINCE:
        types = [int(ResourceType.CLIENT_METRICS)]
    unknown = [kind for kind in types if kind not in tuple(ResourceType)]
    if unknown:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"No resource types: {unknown}.")
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in types
            for name in _NAMES[ResourceType(kind)](context)
        ]
    )


def _brokers(context: Context) -> Iterable[str]:
    return [str(broker.id) for broker in context.metadata.live_brokers()]


_NAMES: Final[dict[ResourceType, Callable[[Context], Iterable[str]]]] = {
    ResourceType.GROUP: lambda context: context.group_configs.groups(),
    ResourceType.CLIENT_METRICS: lambda _context: (),
    ResourceType.BROKER_LOGGER: _brokers,
    ResourceType.BROKER: _brokers,
    ResourceType.TOPIC: lambda context: [topic.name for topic in context.metadata.topics()],
}
