"""A cluster that is known by an address alone: its brokers, as one of them names them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jbodlab.asking.layout import Layout, broker_at
from jbodlab.asking.rpc import BlockingClient
from jbodlab.errors import ExitCode, LabError
from protocol.admin.cluster import metadata_request
from protocol.security.client import OPEN, ClientSecurity

TIMEOUT_MS: Final = 10_000
_METADATA_VERSION: Final = 9
_PORT_MAX: Final = 65_535


def cluster_behind(
    bootstrap: str, *, security: ClientSecurity = OPEN, timeout_ms: int = TIMEOUT_MS
) -> Layout:
    """Ask the first of ``HOST:PORT,...`` that answers which brokers there are; return those alone.

    Raises:
        LabError: USAGE for what is no address, NOT_RUNNING when none answers.
    """
    failures: list[str] = []
    for address in bootstrap.split(","):
        host, port = _host_and_port(address.strip())
        client = BlockingClient(host, port, timeout_ms=timeout_ms, security=security)
        try:
            told = client.request(metadata_request([]), _METADATA_VERSION)
        except OSError as error:
            failures.append(f"{address}: {error}")
            continue
        finally:
            client.close()
        nodes = sorted(told.brokers, key=lambda node: node.node_id)
        specs = (broker_at(node.node_id, node.host, node.port) for node in nodes)
        return Layout(specs, Path(bootstrap))
    words = "; ".join(failures)
    raise LabError(ExitCode.NOT_RUNNING, f"no Kafka broker answers at --bootstrap-server ({words})")


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) <= _PORT_MAX:
        words = f"--bootstrap-server: {address!r} is not HOST:PORT, as in localhost:9092"
        raise LabError(ExitCode.USAGE, words)
    return host.removeprefix("[").removesuffix("]"), int(port)
