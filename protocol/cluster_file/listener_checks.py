"""The checks on the listeners of brokers in ``cluster.yaml``. Opens none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from protocol.cluster_file.configs_text import config_text
from protocol.configs.listener_keys import key_of_listener
from protocol.document_shape import Leaves, Path, place
from protocol.security.listeners import (
    CONTROL_PLANE_LISTENER,
    INTER_BROKER_LISTENER,
    INTER_BROKER_PROTOCOL,
    LISTENERS,
    ControlPlane,
    Listener,
    ListenersError,
    SecurityProtocol,
    control_plane_of,
    listeners_of,
    plain_listener,
)

_ANY: Final = "localhost"
"""Which address it is makes no difference here."""
_NODES_KEYS: Final = f"{CONTROL_PLANE_LISTENER}, {INTER_BROKER_LISTENER} or {INTER_BROKER_PROTOCOL}"


def broker_listener_mistakes(leaves: Leaves, ports: Leaves) -> Iterator[str]:
    """Check the listeners of each broker, with what is set for all of them.

    ``ports`` are those that the file gives to nodes and their control endpoints.
    """
    of_all: dict[str, Any] = leaves.get(("configs",)) or {}
    taken = {value: path for path, value in ports.items()}
    known = [SecurityProtocol.SASL_SSL.name] if leaves.get(("secure",)) else []
    has_all = True
    brokers = {path: port for path, port in ports.items() if path[-1] == "port"}
    for path, port in brokers.items():
        if path[0] != "brokers":
            continue
        configs = config_text({**of_all, **(leaves.get((*path[:-1], "configs")) or {})})
        where: Path = (*path[:-1], "configs")
        try:
            found = listeners_of(configs, plain_listener(_ANY, port, _ANY, port))
        except ListenersError as error:
            yield f"{place(where)}.{error.key}: {error.text}"
            has_all = False
            continue
        known += [each.name for each in found]
        others = [each.port for each in found if each.port != port]
        if port not in [each.port for each in found]:
            yield (
                f"{place(path)}: must be the port of one of the {LISTENERS}: jbodlab's own tools "
                f"come by it; is {port}"
            )
        for other in others:
            if other in taken:
                yield f"{place(where)}.{LISTENERS}: port {other} is taken by {place(taken[other])}"
            taken[other] = (*where, LISTENERS)
        control_plane = control_plane_of(configs)
        if control_plane != _control_plane_of_all(of_all):
            yield (
                f"{place(where)}: {_NODES_KEYS} must be set in the configs of the cluster: the "
                "controller speaks the same protocol"
            )
        elif leaves.get(("zookeeper", "connect")) is None:
            yield from _open_control_plane(place(where), found, control_plane)
    if has_all:
        yield from _unknown_listeners(leaves, known)


def _unknown_listeners(leaves: Leaves, known: Sequence[str]) -> Iterator[str]:
    """Find keys of listeners that no broker has."""
    for path, configs in leaves.items():
        if path[-1] != "configs" or path[0] not in ("configs", "brokers"):
            continue
        for name in configs:
            found = key_of_listener(name)
            if found is not None and found[0] not in known:
                names = ", ".join(dict.fromkeys(known))
                yield f"{place(path)}.{name}: {found[0]} is none of the listeners {names}"


def _open_control_plane(
    where: str, found: Sequence[Listener], control_plane: ControlPlane
) -> Iterator[str]:
    """Refuse one that anybody may speak by, where brokers let in clients that they know."""
    secured = [each for each in found if each.protocol is not SecurityProtocol.PLAINTEXT]
    if secured and control_plane.protocol is SecurityProtocol.PLAINTEXT:
        yield (
            f"{where}.{LISTENERS}: {secured[0].name} speaks {secured[0].protocol.name}, but "
            "controller and brokers speak PLAINTEXT with each other, as anybody can; set one of "
            f"{_NODES_KEYS} in the configs of the cluster to what does not"
        )


def _control_plane_of_all(of_all: Mapping[str, Any]) -> ControlPlane | None:
    try:
        return control_plane_of(config_text(of_all))
    except ListenersError:
        return None
