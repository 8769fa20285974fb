"""The controller's port: what it speaks, and who may ask for anything there.

Serves nothing and decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller.core.cluster_action import ClusterActions
from controller.core.state import ClusterState
from protocol.configs.parsing import broker_config
from protocol.connection import DEFAULT_LISTENER, Peer
from protocol.security.doors import door_of, key_of
from protocol.security.listeners import (
    SecurityProtocol,
    configs_of_control_plane,
    control_plane_of,
)
from protocol.security.node_names import node_principals
from protocol.transport.door import Door, Key


def controller_door(configs: Mapping[str, str], wall_ms: Callable[[], int]) -> Door:
    """Return the door: what brokers are asked by, and by SSL nobody comes in without a certificate.

    Raises:
        SecurityConfigError: the cluster's configs make no TLS context.
    """
    protocol, own = control_plane_of(configs).protocol, configs_of_control_plane(configs)
    shown = {"ssl.client.auth": "required"} if protocol is SecurityProtocol.SSL else {}
    return door_of(DEFAULT_LISTENER, protocol, broker_config({**own, **shown}), wall_ms)


def controller_key(configs: Mapping[str, str]) -> Key:
    """Return what the controller brings along to brokers.

    Raises:
        SecurityConfigError: as ``controller_door``.
    """
    config = broker_config(configs_of_control_plane(configs))
    return key_of(control_plane_of(configs).protocol, config)


def who_may_ask(
    configs: Mapping[str, str], state: Callable[[], ClusterState]
) -> Callable[[Peer], bool]:
    """Return what tells who may ask for more than ApiVersions.

    Raises:
        SecurityConfigError: the nodes' certificate cannot be read.
    """
    config = broker_config(configs_of_control_plane(configs))
    actions = ClusterActions(config, node_principals(control_plane_of(configs).protocol, config))
    return lambda peer: actions.may_ask(state(), str(peer.principal), peer.host)
