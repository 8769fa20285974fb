"""Who may ask the controller at all: with an authorizer, those who may CLUSTER_ACTION.

Clients ask brokers, which decide what each may do before they pass anything on. So whoever asks the
controller itself must be a broker, or as trusted as one. Source: ControllerApis.scala, where an
Envelope needs the same.
"""

from __future__ import annotations

from controller.core.state import ClusterState
from protocol.acls.authorizer import Authorizer
from protocol.acls.model import CLUSTER_NAME, AclOperation, AclResourceType
from protocol.configs.broker import BrokerConfig


def may_ask(state: ClusterState, config: BrokerConfig, principal: str, host: str) -> bool:
    """Tell whether ``principal``, such as ``User:broker``, may, connected from ``host``."""
    if not config.has_authorizer or principal in config.super_user_names:
        return True
    kind = AclResourceType.CLUSTER
    authorizer = Authorizer(allows_if_no_acl=config.allow_everyone_if_no_acl_found)
    authorizer.replace(acl for acl in state.acls if acl.pattern.resource_type == kind)
    return authorizer.is_allowed(principal, host, AclOperation.CLUSTER_ACTION, kind, CLUSTER_NAME)
