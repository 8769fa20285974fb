"""This broker's connections to other nodes: with which key, and through which faults."""

from __future__ import annotations

from functools import partial

from broker.nodes import nodes_by_address
from protocol.cluster_file.spec import BrokerSpec, ClusterSpec
from protocol.configs.broker import BrokerConfig
from protocol.configs.parsing import broker_config
from protocol.faults.model import CLIENT_NODE, CONTROLLER_NODE
from protocol.ids import fetcher_client_id, node_client_id
from protocol.security.doors import key_of
from protocol.security.listeners import Listener, configs_at
from protocol.security.renewal import renew
from protocol.security.tls import client_context
from protocol.transport.door import Key
from protocol.transport.network_faults import NetworkFaults
from protocol.transport.rpc_client import RpcClient


class NodeConnections:
    """Makes them; each connects on its first request."""

    def __init__(self, spec: ClusterSpec, own: BrokerSpec, network: NetworkFaults) -> None:
        """Prepare.

        Raises:
            SecurityConfigError: the configuration makes no TLS context, or names no user.
        """
        self._controller, self._own_id, self._network = spec.controller, own.id, network
        self._own = own
        self._nodes = nodes_by_address(spec)
        self._key = _key_to(own.listeners[0], own)
        self._control_key = _key_to(own.control_listener, own)

    def follow(self, listener: Listener, config: BrokerConfig) -> None:
        """Bring along the certificates that a listener of this broker has now.

        Raises:
            SecurityConfigError: the configuration makes no TLS context.
        """
        for each, key in (
            (self._own.listeners[0], self._key),
            (self._own.control_listener, self._control_key),
        ):
            if each.name == listener.name:
                renew(key.tls, partial(client_context, config), config)

    def to_controller(self) -> RpcClient:
        """Return one to the controller of the cluster file."""
        to, client_id = self._controller, node_client_id(self._own_id)
        key = self._control_key
        return self._client((to.advertised_host, to.port), client_id, CONTROLLER_NODE, key)

    def to_broker(self, host: str, port: int) -> RpcClient:
        """Return one to the listener by which brokers ask each other."""
        return self._to(host, port, self._key)

    def to_leader(self, host: str, port: int) -> RpcClient:
        """Return one to the listener of the control plane of a broker that is the controller."""
        return self._to(host, port, self._control_key)

    def _to(self, host: str, port: int, key: Key) -> RpcClient:
        to = self._nodes.get((host, port), CLIENT_NODE)
        return self._client((host, port), fetcher_client_id(self._own_id), to, key)

    def _client(self, address: tuple[str, int], client_id: str, to: str, key: Key) -> RpcClient:
        host, port = address
        way = self._network.way(to)
        return RpcClient(host=host, port=port, client_id=client_id, way=way, key=key)


def _key_to(listener: Listener, own: BrokerSpec) -> Key:
    """Return what is brought along to a listener of another broker that is called the same."""
    configs = configs_at(listener.name, listener.protocol, own.configs)
    return key_of(listener.protocol, broker_config(configs))
