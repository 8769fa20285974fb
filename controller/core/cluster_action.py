"""Who may ask the controller: with an authorizer, those who may CLUSTER_ACTION; else the nodes.

Clients ask brokers, which decide what each may do before they pass anything on. So whoever asks the
controller itself must be a broker, or as trusted as one. Source: ControllerApis.scala, where an
Envelope needs the same.
"""

from __future__ import annotations

from controller.core.state import ClusterState
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import CLUSTER_NAME, AclOperation, AclResourceType
from protocol.configs.broker import BrokerConfig
from protocol.errors import ErrorCode, KafkaError


class ClusterActions:
    """Decides it by the ACLs of the cluster, which it reads again once they changed."""

    def __init__(self, config: BrokerConfig, nodes: frozenset[str] | None) -> None:
        """``nodes`` are the principals of nodes, by which it goes without an authorizer.

        None stands for PLAINTEXT: everybody is the same there.
        """
        self._nodes = nodes
        self._decides = config.has_authorizer
        self._authorizer = Authorizer(
            super_users=config.super_user_names,
            allows_if_no_acl=config.allow_everyone_if_no_acl_found,
        )
        self._generation = -1

    def may_ask(self, state: ClusterState, principal: str, host: str) -> bool:
        """Tell whether ``principal``, such as ``User:broker``, may, connected from ``host``."""
        if not self._decides:
            return self._nodes is None or principal in self._nodes
        kind = AclResourceType.CLUSTER
        if self._generation != state.acls_generation:
            self._generation = state.acls_generation
            self._authorizer.replace(acl for acl in state.acls if acl.pattern.resource_type == kind)
        operation = AclOperation.CLUSTER_ACTION
        return self._authorizer.is_allowed(principal, host, operation, kind, CLUSTER_NAME)


def only_nodes() -> KafkaError:
    """Return why secrets are not told: at PLAINTEXT anybody could ask."""
    return KafkaError(
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        "Secrets are for brokers, and at PLAINTEXT anybody could be one; set "
        "control.plane.listener.name or inter.broker.listener.name to a listener that tells who "
        "comes in.",
    )
