"""The brokers and log dirs of a cluster, under the names that people and brokers have for them."""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterable
from pathlib import Path

from jbodlab.errors import ExitCode, LabError
from protocol.cluster_file.spec import BrokerSpec, LogDirSpec
from protocol.faults.model import CONTROLLER_NODE, broker_node


class Layout:
    """What a cluster file says of brokers and log dirs, wherever that file is.

    Args:
        brokers: of the cluster.
        config_path: its file, from whose folder people name log dirs.
    """

    def __init__(self, brokers: Iterable[BrokerSpec], config_path: Path) -> None:
        self.brokers = tuple(brokers)
        self.config_path = config_path

    @property
    def bootstrap_servers(self) -> list[str]:
        """Return ``host:port`` of every broker, as clients want it."""
        return [f"{broker.advertised_host}:{broker.advertised_port}" for broker in self.brokers]

    @property
    def names(self) -> list[str]:
        """Return the names of all processes, the controller first."""
        return [CONTROLLER_NODE, *(broker_node(broker.id) for broker in self.brokers)]

    @property
    def control_node(self) -> str | None:
        """Return which process brokers need in order to register; None: none of this cluster."""
        return CONTROLLER_NODE

    def broker(self, broker_id: int) -> BrokerSpec:
        """Return a broker of the cluster file.

        Raises:
            LabError: FAILED, with the brokers that there are.
        """
        for broker in self.brokers:
            if broker.id == broker_id:
                return broker
        known = ", ".join(str(broker.id) for broker in self.brokers)
        words = f"there is no broker {broker_id} in {self.config_path}, only {known}"
        raise LabError(ExitCode.FAILED, words)

    def log_dir(self, path: str) -> tuple[BrokerSpec, str]:
        """Return the broker of the log dir at ``path``, and its full path as the broker names it.

        Raises:
            LabError: FAILED, with the log dirs that there are.
        """
        owners = {each.path: broker for broker in self.brokers for each in broker.log_dirs}
        full_path = self.full_path(path, owners)
        if full_path is not None:
            return owners[full_path], full_path
        known = ", ".join(map(self.short, owners))
        words = f"{path} is no log dir of {self.config_path}; there are {known}"
        raise LabError(ExitCode.FAILED, words)

    def full_path(self, path: str, known: Collection[str]) -> str | None:
        """Return which of the ``known`` paths ``path`` means, from the cluster file's folder."""
        wanted = os.path.normpath(self.config_path.parent / path)
        return next((each for each in known if os.path.normpath(each) == wanted), None)

    def short(self, path: str) -> str:
        """Return ``path`` as people name it: from the cluster file's folder, if it is there."""
        return path.removeprefix(f"{self.config_path.parent}/")


def broker_at(
    broker_id: int, host: str, port: int, *, rack: str | None = None, log_dirs: Iterable[str] = ()
) -> BrokerSpec:
    """Return a broker of which is known where clients reach it, and perhaps its log dirs."""
    return BrokerSpec(
        id=broker_id,
        bind_host=host,
        port=port,
        advertised_host=host,
        advertised_port=port,
        control_port=0,
        rack=rack,
        log_dirs=tuple(LogDirSpec(path=path, capacity_bytes=None) for path in log_dirs),
        configs={},
    )
