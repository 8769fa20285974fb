"""jbodlab as a target of the cluster benchmark: real processes in a folder of their own.

It starts and stops them through the same launcher as ``jbodlab up``; it measures nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import psutil

from jbodlab.processes.cluster import Cluster
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.metrics.rows import TABLE_VERSION, FailoverStep


class JbodlabTarget:
    """One controller and three brokers with three log dirs each, below ``root``."""

    name = "jbodlab"

    def __init__(
        self,
        root: Path,
        configs: Mapping[str, str] | None = None,
        shape: LabShape | None = None,
    ) -> None:
        """Write the cluster file; ``configs`` are broker keys beside the defaults."""
        shape = shape or LabShape(configs=configs or {})
        self._cluster = Cluster(write_lab_spec(root, shape))

    @property
    def bootstrap(self) -> str:
        """All brokers, as clients take them."""
        return ",".join(self._cluster.bootstrap_servers)

    def launch(self) -> None:
        """Start all processes and wait until every broker knows all."""
        self._cluster.start()

    def wait_until_up(self) -> None:
        """Nothing is left to wait for after ``launch``."""

    def stop(self) -> None:
        """End every process and wait for it."""
        self._cluster.stop()

    def log_dirs(self, broker_id: int) -> list[Path]:
        """Return the broker's log dirs in the order of its config."""
        broker = next(spec for spec in self._cluster.spec.brokers if spec.id == broker_id)
        return [Path(log_dir.path) for log_dir in broker.log_dirs]

    def resident_bytes(self) -> dict[str, int]:
        """Return the resident set of each process, by role."""
        return {name: process.rss_bytes() for name, process in self._cluster.processes.items()}

    def processor_s(self) -> float:
        """Return the processor time of all processes since they began."""
        times = [psutil.Process(each.pid).cpu_times() for each in self._cluster.processes.values()]
        return sum(each.user + each.system for each in times)

    def failure_noticed_ms(self, broker_id: int, log_dir: Path) -> int | None:
        """Return when (ms since the epoch) the broker noted the failure of ``log_dir``."""
        dump = Path(self._cluster.spec.metrics.dump_dir) / "failover_event" / f"v{TABLE_VERSION}"
        for file in sorted(dump.glob(f"*broker*{broker_id}/*.jsonl")):
            for row in map(json.loads, file.read_text().splitlines()):
                if row["step"] == FailoverStep.LOG_DIR_FAILED and str(log_dir) in row["detail"]:
                    return int(row["at_ms"])
        return None
