"""What every command shares: its options, and how it speaks. Holds no command."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec

import click
from rich.console import Console, RenderableType

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.control import ControlClient
from jbodlab.asking.elsewhere import Elsewhere, cluster_behind
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import CONTROLLER, Cluster
from jbodlab.processes.nodes import listens
from protocol.admin.cluster import PartitionView
from protocol.cluster_file.spec import BrokerSpec
from protocol.faults.model import broker_node

P = ParamSpec("P")
PIPE_WIDTH: Final = 200


class Lab:
    """The cluster a command is about, and where it writes: results to stdout, else to stderr."""

    def __init__(self, config_path: Path, *, is_json: bool, bootstrap: str | None = None) -> None:
        self.config_path = config_path
        self.bootstrap = bootstrap
        """The address of a cluster elsewhere, in place of that of the cluster file."""
        self.is_json = is_json
        # Into a pipe or a file a table takes the width it needs.
        self.console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
        self.errors = Console(stderr=True, highlight=False)

    @functools.cached_property
    def cluster(self) -> Cluster:
        """The cluster of ``--config``.

        Raises:
            LabError: BAD_CONFIG; USAGE with ``--bootstrap-server``.
        """
        if self.bootstrap is not None:
            raise LabError(
                ExitCode.USAGE,
                "this command needs the processes, disks or control endpoints of a cluster, which "
                "--bootstrap-server does not reach: run it where the cluster file is, or ask the "
                "HTTP API there (`jbodlab serve --host HOST --token-file FILE`)",
            )
        return Cluster(self.config_path)

    @functools.cached_property
    def brokers(self) -> tuple[BrokerSpec, ...]:
        """The brokers of the cluster; of one elsewhere without log dirs and control endpoints.

        Raises:
            LabError: BAD_CONFIG; USAGE or NOT_RUNNING for an address.
        """
        return self.cluster.spec.brokers if self.bootstrap is None else self._elsewhere.brokers

    @functools.cached_property
    def _elsewhere(self) -> Elsewhere:
        assert self.bootstrap is not None
        return cluster_behind(self.bootstrap)

    def short(self, path: str) -> str:
        """Return a path of a log dir as people name it."""
        return path if self.bootstrap is not None else self.cluster.short(path)

    def require_running(self) -> Cluster:
        """Return the cluster, when any broker of it can answer.

        Raises:
            LabError: NOT_RUNNING.
        """
        cluster = self.cluster
        living = [name for name in cluster.names[1:] if cluster.is_running(name)]
        if any(self.is_run_elsewhere(name) for name in cluster.names[1:]):
            return cluster
        if not living:
            raise LabError(
                ExitCode.NOT_RUNNING,
                f"no broker of {self.config_path} runs: start the cluster with `jbodlab up`",
            )
        if all(cluster.processes[name].is_paused for name in living):
            raise LabError(
                ExitCode.NOT_RUNNING,
                f"all brokers that run stand still ({', '.join(living)}): "
                "`jbodlab brokers resume ID` lets one go on",
            )
        return cluster

    def admin(self, *, timeout_ms: int = 30_000) -> ClusterAdmin:
        """Return questions to the cluster; brokers that stand still are asked last.

        Raises:
            LabError: NOT_RUNNING.
        """
        if self.bootstrap is not None:
            return ClusterAdmin(self._elsewhere, timeout_ms=timeout_ms)
        spec = self.require_running().spec
        brokers = tuple(sorted(spec.brokers, key=self._is_away))
        return ClusterAdmin(replace(spec, brokers=brokers), timeout_ms=timeout_ms)

    def control(self, broker: BrokerSpec) -> ControlClient:
        """Return the control endpoint of a broker that can answer.

        Raises:
            LabError: NOT_RUNNING.
        """
        self.require_broker(broker.id)
        return ControlClient(broker.id, broker.control_port)

    def is_run_elsewhere(self, name: str) -> bool:
        """Tell whether somebody else runs the node ``name``, as a container engine does."""
        return not self.cluster.is_running(name) and listens(self.cluster.spec, name)

    def require_broker(self, broker_id: int) -> None:
        """Go on when this broker can answer.

        Raises:
            LabError: FAILED: there is no such broker; NOT_RUNNING.
        """
        if self.bootstrap is not None:
            known = [broker.id for broker in self.brokers]
            if broker_id not in known:
                there = f"only {', '.join(map(str, known))}"
                raise LabError(ExitCode.FAILED, f"there is no broker {broker_id}, {there}")
            return
        broker = self.cluster.broker(broker_id)
        away = self.away(broker)
        if away is not None:
            raise LabError(ExitCode.NOT_RUNNING, away)

    def away(self, broker: BrokerSpec) -> str | None:
        """Say why a broker cannot answer, and what to do; None when it can, as far as is known."""
        if self.bootstrap is not None:
            return None
        name = broker_node(broker.id)
        if self.is_run_elsewhere(name):
            return None
        process = self.cluster.processes.get(name)
        if process is None or not process.is_running:
            return (
                f"broker {broker.id} does not run: start it with `jbodlab brokers start "
                f"{broker.id}`, or everything with `jbodlab up`"
            )
        if process.is_paused:
            return (
                f"broker {broker.id} stands still and answers nothing: "
                f"`jbodlab brokers resume {broker.id}` lets it go on"
            )
        return None

    def require_controller(self) -> None:
        """Go on when brokers can register: without it they wait for the controller.

        Raises:
            LabError: NOT_RUNNING.
        """
        if self.is_run_elsewhere(CONTROLLER):
            return
        if not self.cluster.is_running(CONTROLLER):
            raise LabError(
                ExitCode.NOT_RUNNING,
                "a broker cannot register, for the controller does not run: `jbodlab up` starts "
                "it, and every broker that does not run",
            )
        process = self.cluster.processes[CONTROLLER]
        if process.is_paused:
            raise LabError(
                ExitCode.NOT_RUNNING,
                "a broker cannot register, for the controller stands still: "
                f"`kill -CONT {process.pid}` lets it go on",
            )

    def awake(self) -> list[BrokerSpec]:
        """Return the brokers that can answer; the others are told about on stderr."""
        away = [broker for broker in self.brokers if self._is_away(broker)]
        if away:
            names = ", ".join(str(broker.id) for broker in away)
            self.warn(f"not asked, for it does not answer: broker {names}")
        return [broker for broker in self.brokers if broker not in away]

    def _is_away(self, broker: BrokerSpec) -> bool:
        return self.away(broker) is not None

    def emit(self, content: Any, shown: RenderableType) -> None:
        """Write the result: ``content`` with ``--json``, else ``shown``."""
        if self.is_json:
            click.echo(json.dumps(content, indent=2))
        else:
            self.console.print(shown)

    @contextmanager
    def paths_shortened(self) -> Generator[None]:
        """Name log dirs as people do in what goes wrong within the block."""
        try:
            yield
        except LabError as error:
            if self.bootstrap is not None:
                raise
            words = str(error).replace(f"{self.cluster.config_path.parent}/", "")
            raise LabError(error.exit_code, words) from error

    def warn(self, words: str) -> None:
        """Write one line beside the result, on stderr."""
        click.echo(f"jbodlab: {words}", err=True)

    def working(self, what: str) -> Any:
        """Return a context manager that shows on stderr that something takes a moment."""
        return self.errors.status(what)


def lab_command(function: Callable[Concatenate[Lab, P], None]) -> Callable[P, None]:
    """Give a command the options that all have, and its Lab as the first argument."""

    @click.option(
        "--config",
        "config_path",
        type=click.Path(path_type=Path, dir_okay=False),
        default="cluster.yaml",
        show_default=True,
        help="The cluster file.",
    )
    @click.option(
        "--bootstrap-server",
        "bootstrap",
        metavar="HOST:PORT,...",
        help="Any Kafka cluster, in place of that of the cluster file.",
    )
    @click.option("--json", "is_json", is_flag=True, help="Write the result as JSON.")
    @functools.wraps(function)
    def command(
        config_path: Path,
        bootstrap: str | None,
        is_json: bool,  # noqa: FBT001 - click passes it by name
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        lab = Lab(config_path, is_json=is_json, bootstrap=bootstrap)
        function(lab, *args, **kwargs)

    # click calls it by keyword with the three options added; P cannot say that.
    return command  # pyright: ignore[reportReturnType]


def partition_content(view: PartitionView) -> dict[str, Any]:
    """Return a partition as metadata tells it, for a JSON document: without eligible leaders."""
    content = asdict(view)
    del content["elr"], content["last_known_elr"]
    return content
