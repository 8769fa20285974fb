"""The checks on ``zookeeper:`` of ``cluster.yaml`` and on the configs of its TLS. Asks nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from protocol.cluster_file.configs_text import config_text
from protocol.configs.zookeeper import NETTY
from protocol.document_shape import Leaves, Path, place

_TLS: Final = "zookeeper.ssl."
_ENABLE: Final = "zookeeper.ssl.client.enable"
_SOCKET: Final = "zookeeper.clientCnxnSocket"
_CERTIFICATE: Final = "zookeeper.ssl.keystore.location"


def zookeeper_mistakes(leaves: Leaves) -> Iterator[str]:
    """Refuse what is half, is missing, or has nobody to log in or speak TLS at."""
    yield from _login_mistakes(leaves)
    # What is wrong with the configs of all brokers is told once.
    yield from dict.fromkeys(
        mistake
        for where, configs in _configs_of_brokers(leaves)
        for mistake in _tls_mistakes(leaves, where, configs)
    )


def _login_mistakes(leaves: Leaves) -> Iterator[str]:
    username, password = (leaves.get(("zookeeper", key)) for key in ("username", "password"))
    if (username is None) != (password is None):
        yield "zookeeper: username and password go together; set both, or none"
    if leaves.get(("zookeeper", "set_acl")) and username is None:
        shown = [
            _is_enabled(configs) and configs.get(_CERTIFICATE)
            for _, configs in _configs_of_brokers(leaves)
        ]
        if not all(shown):
            yield (
                "zookeeper.set_acl: needs zookeeper.username and password, or a certificate "
                f"({_CERTIFICATE}) of all brokers, who alone may change it"
            )
    if username is not None and leaves.get(("beside", "kafka")) is not None:
        yield "zookeeper.username: the ZooKeeper `beside` asks for no login; remove one of both"


def _tls_mistakes(leaves: Leaves, where: Path, configs: Mapping[str, str]) -> Iterator[str]:
    """Check what one broker has; ``where`` it is set, as far as it has any of its own."""
    named = [name for name in configs if name.startswith(_TLS) or name == _SOCKET]
    if not named:
        return
    if leaves.get(("zookeeper", "connect")) is None:
        yield f"{place(where)}.{named[0]}: is for a ZooKeeper; the file has no zookeeper.connect"
    elif _is_enabled(configs):
        if leaves.get(("beside", "kafka")) is not None:
            yield (
                f"{place(where)}.{_ENABLE}: the ZooKeeper `beside` speaks no TLS; remove one of "
                "both"
            )
        if configs.get(_SOCKET) != NETTY:
            yield f"{place(where)}.{_ENABLE}: needs {_SOCKET}: {NETTY}, as Kafka does"
    else:
        for name in named:
            if name not in (_ENABLE, _SOCKET):
                yield f"{place(where)}.{name}: has no effect without {_ENABLE}: true"


def _configs_of_brokers(leaves: Leaves) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """Give what holds for each broker, and where its keys for ZooKeeper are set."""
    of_all: dict[str, Any] = leaves.get(("configs",)) or {}
    for path in leaves:
        if path[0] == "brokers" and path[-1] == "id":
            where: Path = (*path[:-1], "configs")
            own: dict[str, Any] = leaves.get(where) or {}
            has_own = any(name.startswith("zookeeper.") for name in own)
            yield (where if has_own else ("configs",)), config_text({**of_all, **own})


def _is_enabled(configs: Mapping[str, str]) -> bool:
    return configs.get(_ENABLE, "").strip().lower() == "true"
