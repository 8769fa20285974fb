"""A cluster of one fake broker that can be judged: it answers what every run asks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.coordinators import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from protocol.messages.groups import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)
from tests.jbodlab.fake_node import Answer, fake_node

BROKER_ID = 7
ANNOUNCED = {3: (0, 12), 10: (0, 4), 12: (0, 4), 16: (0, 5), 18: (0, 3), 42: (0, 2)}


@contextmanager
def fake_cluster(
    more: dict[type, Answer] | None = None,
    code: int = 25,
    announced: dict[int, tuple[int, int]] | None = None,
) -> Generator[str]:
    """Give ``host:port``; ``code`` answers every Heartbeat, ``more`` takes the place of answers.

    ``announced`` are versions of APIs beside those of every fake cluster.
    """
    where: dict[str, Any] = {"host": "127.0.0.1", "port": 0}
    answers: dict[type, Answer] = {
        ApiVersionsRequest: lambda _: ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=key, min_version=low, max_version=high)
                for key, (low, high) in {**ANNOUNCED, **(announced or {})}.items()
            ]
        ),
        MetadataRequest: lambda _: MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=BROKER_ID, **where)], controller_id=BROKER_ID
        ),
        FindCoordinatorRequest: lambda request: FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, node_id=BROKER_ID, **where) for key in request.coordinator_keys
            ]
        ),
        ListGroupsRequest: lambda _: ListGroupsResponse(),
        DeleteGroupsRequest: lambda _: DeleteGroupsResponse(),
        HeartbeatRequest: lambda _: HeartbeatResponse(error_code=code),
        **(more or {}),
    }
    with fake_node(answers) as port:
        where["port"] = port
        yield f"127.0.0.1:{port}"
