"""What jbodlab itself brings along to the nodes of a cluster file: it comes as a node does.

So its commands need no options: who reads the cluster file, and what it names, may do everything.
"""

from __future__ import annotations

from collections.abc import Mapping

from jbodlab.errors import ExitCode, LabError
from protocol.cluster_file.secure import secure_folder
from protocol.cluster_file.spec import BrokerSpec, ClusterSpec
from protocol.configs.parsing import broker_config
from protocol.security.client import OPEN, ClientSecurity, security_between_nodes
from protocol.security.listeners import (
    SecurityProtocol,
    configs_at,
    configs_of_control_plane,
    control_plane_of,
)
from protocol.security.tls import SecurityConfigError


def security_at(broker: BrokerSpec) -> ClientSecurity:
    """Return what the listener at a broker's ``port`` asks for.

    Raises:
        LabError: BAD_CONFIG: its keys make no TLS context, or name no user.
    """
    name, protocol = next(each[:2] for each in broker.listeners if each.port == broker.port)
    if protocol is SecurityProtocol.PLAINTEXT:
        return OPEN
    return _security(protocol, configs_at(name, protocol, broker.configs))


def security_at_controller(spec: ClusterSpec) -> ClientSecurity:
    """Return what the controller asks for.

    Raises:
        LabError: as ``security_at``.
    """
    protocol = control_plane_of(spec.configs).protocol
    if protocol is SecurityProtocol.PLAINTEXT:
        return OPEN
    return _security(protocol, configs_of_control_plane(spec.configs))


def _security(protocol: SecurityProtocol, configs: Mapping[str, str]) -> ClientSecurity:
    try:
        return security_between_nodes(protocol, broker_config(configs))
    except SecurityConfigError as error:
        hint = "" if secure_folder(configs) is None else ": `jbodlab up` makes it"
        raise LabError(ExitCode.BAD_CONFIG, f"{error}{hint}") from error
