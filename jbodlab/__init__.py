"""A Kafka cluster made to have its disks broken: ``Cluster`` is the door for scripts and tests.

What is named here is loaded when it is asked for, so that the command line starts without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jbodlab.api.broker import Broker, Controller
    from jbodlab.api.cluster import Cluster
    from jbodlab.api.fault import Fault
    from jbodlab.api.log_dir import LogDir
    from jbodlab.errors import LabError

__all__ = ["Broker", "Cluster", "Controller", "Fault", "LabError", "LogDir"]


def __getattr__(name: str) -> Any:
    """Load what a user of the package names."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Here, not above: the command line imports this package, too.
    from jbodlab.api import broker, cluster, fault, log_dir  # noqa: PLC0415
    from jbodlab.errors import LabError  # noqa: PLC0415

    names = {
        "Broker": broker.Broker,
        "Cluster": cluster.Cluster,
        "Controller": broker.Controller,
        "Fault": fault.Fault,
        "LabError": LabError,
        "LogDir": log_dir.LogDir,
    }
    return names[name]
