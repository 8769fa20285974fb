"""What the parts of a scripted cluster ask through, each call with connections of its own.

So calls may come from several threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from jbodlab.api.story import Story
from jbodlab.asking.admin import ClusterAdmin, default_replication_factor
from jbodlab.asking.control import ControlClient
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import Cluster as ClusterProcesses
from protocol.cluster_file.spec import BrokerSpec, TopicSpec
from protocol.errors import KafkaError

DEADLINE_MS: Final = 60_000
"""Of whatever is waited for, unless a call says otherwise: a busy machine takes its time."""


class Connections:
    """Ways to the processes of one cluster."""

    def __init__(self, processes: ClusterProcesses) -> None:
        self.processes = processes
        self.story = Story()

    @contextmanager
    def admin(self) -> Generator[ClusterAdmin]:
        """Lend a client of all brokers.

        Raises:
            LabError: FAILED with the cluster's refusal, NOT_RUNNING when nobody answers.
        """
        try:
            with ClusterAdmin(self.processes.spec) as admin:
                yield admin
        except KafkaError as error:
            raise LabError(ExitCode.FAILED, f"the cluster refuses: {error}") from error
        except OSError as error:
            raise LabError(ExitCode.NOT_RUNNING, str(error)) from error

    def control(self, broker: BrokerSpec) -> ControlClient:
        """Return a client of a broker's control endpoint."""
        return ControlClient(broker.id, broker.control_port)

    def create_topic(
        self,
        name: str,
        partitions: int,
        replication_factor: int | None,
        configs: Mapping[str, str],
        assignment: Mapping[int, Sequence[int]],
    ) -> None:
        """Create a topic; without a replication factor it is the default one.

        Raises:
            LabError: as ``admin``.
        """
        if replication_factor is None:
            replication_factor = default_replication_factor(len(self.processes.spec.brokers))
        topic = TopicSpec(
            name=name,
            partitions=partitions,
            replication_factor=replication_factor,
            configs=configs,
        )
        with self.admin() as admin:
            admin.create_topic(topic, assignment=assignment)

    def short(self, path: str) -> str:
        """Return a path as it stands in the cluster file."""
        return self.processes.short(path)

    def wait_until(self, holds: Callable[[], bool], what: str, deadline_ms: int | None) -> float:
        """Ask until ``holds`` says so; return how long that took, in ms.

        A broker that does not answer counts as "not yet".

        Raises:
            LabError: TIMED_OUT, or PROCESS_DIED when a process ends that ran before.
        """

        def is_so(_: ClusterAdmin) -> bool:
            try:
                return holds()
            except LabError as error:
                if error.exit_code is ExitCode.USAGE:
                    raise
                return False

        deadline_ms = DEADLINE_MS if deadline_ms is None else deadline_ms
        return self.processes.wait_until(is_so, what, deadline_ms)
