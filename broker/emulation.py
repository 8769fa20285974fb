"""Shows clients one Kafka release, and the broker as it is to the cluster's own nodes and tools.

Who asks is known by the client id: the controller and the followers send requests of Kafka 3.9,
whatever release is shown. Nothing is decided here about versions: ``protocol.releases`` knows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable

from broker.context import Context
from broker.dispatcher import Dispatcher
from protocol.cluster_file.spec import ClusterSpec
from protocol.connection import Peer, RequestReceived
from protocol.ids import TOOL_CLIENT_ID, fetcher_client_id, node_client_id
from protocol.transport.begun_answers import Body, LaterAnswer
from protocol.transport.held_request import HeldRequest
from protocol.transport.link_owner import Dispatch


def dispatch_for(context: Context, spec: ClusterSpec) -> Dispatch:
    """Return what the RPC server calls: one dispatcher, or two where a release is shown."""
    as_shown = Dispatcher(context).dispatch
    if context.release is None:
        return as_shown
    as_it_is = Dispatcher(dataclasses.replace(context, release=None, cluster_release=None)).dispatch
    own = own_client_ids(spec)

    def dispatch(
        received: RequestReceived, peer: Peer
    ) -> Awaitable[LaterAnswer | HeldRequest | Body]:
        return (as_it_is if received.client_id in own else as_shown)(received, peer)

    return dispatch


def own_client_ids(spec: ClusterSpec) -> frozenset[str]:
    """Return how the controller, the followers and ``jbodlab`` name themselves to a broker."""
    followers = (fetcher_client_id(broker.id) for broker in spec.brokers)
    return frozenset((node_client_id(spec.controller.id), TOOL_CLIENT_ID, *followers))
