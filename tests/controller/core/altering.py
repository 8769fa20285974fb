"""Asks a controller to change configurations, as clients do."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsRequestAlterableConfig,
    IncrementalAlterConfigsRequestAlterConfigsResource,
)
from tests.controller.core.cluster import Cluster

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
Entry = tuple[str, int, str | None]


def incremental(
    *resources: tuple[int, str, Sequence[Entry]], validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    """Return the request of (type, name, [(key, operation, value)])."""
    return IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsRequestAlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    IncrementalAlterConfigsRequestAlterableConfig(
                        name=key, config_operation=operation, value=value
                    )
                    for key, operation, value in entries
                ],
            )
            for kind, name, entries in resources
        ],
        validate_only=validate_only,
    )


def alter(cluster: Cluster, kind: int, name: str, *entries: Entry) -> AlterConfigsResourceResponse:
    """Change one resource and return its answer."""
    response: AlterConfigsResourceResponse
    (response,) = cluster.call(incremental((kind, name, list(entries))), 1).responses
    return response


def replace_all(
    cluster: Cluster, kind: int, name: str, **texts: str | None
) -> AlterConfigsResourceResponse:
    """Replace all of one resource; names with ``_`` for ``.``."""
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    AlterableConfig(name=key.replace("_", "."), value=value)
                    for key, value in texts.items()
                ],
            )
        ]
    )
    response: AlterConfigsResourceResponse
    (response,) = cluster.call(request, 2).responses
    return response
