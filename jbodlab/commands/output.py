"""What every command shares: its options, and how it speaks. Holds no command."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import click
from rich.console import Console, RenderableType

from jbodlab.asking.admin import ClusterAdmin
from jbodlab.asking.client_settings import kafka_python_settings, read_command_config
from jbodlab.asking.control import ControlClient
from jbodlab.asking.elsewhere import cluster_behind
from jbodlab.asking.lab_elsewhere import TOKEN_VARIABLE, LabApi, LabElsewhere
from jbodlab.asking.lab_values import NodeState
from jbodlab.asking.layout import Layout
from jbodlab.asking.own_security import security_at
from jbodlab.commands.widths import PIPE_WIDTH
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import Cluster
from jbodlab.processes.node_status import node_state
from protocol.admin.cluster import PartitionView
from protocol.cluster_file.spec import BrokerSpec
from protocol.faults.model import CONTROLLER_NODE, broker_node
from protocol.security.client import OPEN, ClientSecurity

P = ParamSpec("P")


class Lab:
    """The cluster a command is about, and where it writes: results to stdout, else to stderr.

    That is the one of a cluster file, one behind an HTTP API, or any behind a Kafka broker.
    """

    def __init__(
        self,
        config_path: Path,
        *,
        is_json: bool,
        bootstrap: str | None = None,
        command_config: Path | None = None,
        api: LabApi | None = None,
    ) -> None:
        self.config_path = config_path
        self.bootstrap = bootstrap
        """The address of a cluster elsewhere, in place of that of the cluster file."""
        self.command_config = command_config
        """A properties file with what a cluster elsewhere is asked with."""
        self.api = api
        """The HTTP API of a lab elsewhere, likewise."""
        self.is_json = is_json
        # Into a pipe or a file a table takes the width it needs.
        self.console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
        self.errors = Console(stderr=True, highlight=False)

    def again(self) -> Lab:
        """Return a Lab that has looked at nothing yet: processes come and go."""
        return Lab(
            self.config_path,
            is_json=self.is_json,
            bootstrap=self.bootstrap,
            api=self.api,
            command_config=self.command_config,
        )

    @functools.cached_property
    def cluster(self) -> Cluster:
        """The cluster of ``--config``.

        Raises:
            LabError: BAD_CONFIG; USAGE with ``--bootstrap-server`` or ``--api``.
        """
        if self.api is not None:
            words = "this command needs the files and processes of a cluster, which --api does not"
            raise LabError(ExitCode.USAGE, f"{words} reach: run it where the cluster file is")
        self._refuse_bootstrap()
        if self.command_config is not None:
            words = "--command-config goes with --bootstrap-server: the cluster file says it all"
            raise LabError(ExitCode.USAGE, words)
        return Cluster(self.config_path)

    @property
    def is_own(self) -> bool:
        """Whether it is the cluster of ``--config``."""
        return self.bootstrap is None and self.api is None

    @functools.cached_property
    def elsewhere(self) -> LabElsewhere | None:
        """The lab behind ``--api``."""
        return None if self.api is None else LabElsewhere(self.api)

    @functools.cached_property
    def layout(self) -> Layout:
        """The brokers, and unless it is known by ``--bootstrap-server`` alone their log dirs.

        Raises:
            LabError: BAD_CONFIG; USAGE, NOT_RUNNING or FAILED for an address.
        """
        if self.bootstrap is not None:
            return cluster_behind(self.bootstrap, security=self._security)
        return self.elsewhere or self.cluster

    @property
    def brokers(self) -> tuple[BrokerSpec, ...]:
        """The brokers of the cluster."""
        return self.layout.brokers

    @property
    def _security(self) -> ClientSecurity:
        """What a cluster elsewhere is asked with."""
        return OPEN if self.command_config is None else read_command_config(self.command_config)

    # Any: kafka-python has no types.
    def client_settings(self) -> dict[str, Any]:
        """Return arguments for kafka-python's clients, but for the addresses.

        Raises:
            LabError: USAGE for the file of ``--command-config``.
        """
        own = security_at(self.cluster.brokers[0]) if self.is_own else self._security
        return kafka_python_settings(own)

    def short(self, path: str) -> str:
        """Return a path of a log dir as people name it."""
        return path if self.bootstrap is not None else self.layout.short(path)

    def disks(self) -> Layout:
        """Return the layout of a cluster whose log dirs are known.

        Raises:
            LabError: as ``layout``; USAGE with ``--bootstrap-server``.
        """
        self._refuse_bootstrap()
        return self.layout

    @property
    def _named(self) -> str:
        """The cluster, as whoever gave the command names it."""
        return str(self.config_path) if self.api is None else self.api.url

    def require_running(self) -> None:
        """Go on when any broker can answer.

        Raises:
            LabError: NOT_RUNNING.
        """
        names = [broker_node(each.id) for each in self.brokers]
        states = {name: self._state(name) for name in names}
        if "running" in states.values():
            return
        paused = [name for name, state in states.items() if state == "paused"]
        words = (
            f"all brokers that run stand still ({', '.join(paused)}): "
            "`jbodlab brokers resume ID` lets one go on"
            if paused
            else f"no broker of {self._named} runs: start the cluster with `jbodlab up`"
        )
        raise LabError(ExitCode.NOT_RUNNING, words)

    def admin(self, *, timeout_ms: int = 30_000) -> ClusterAdmin:
        """Return questions to the cluster; brokers that stand still are asked last.

        Raises:
            LabError: NOT_RUNNING.
        """
        self.require_running()
        brokers = sorted(self.brokers, key=self._is_away)
        return ClusterAdmin(
            Layout(brokers, self.layout.config_path),
            timeout_ms=timeout_ms,
            security=None if self.is_own else self._security,
        )

    def has_control(self, broker: BrokerSpec) -> bool:
        """Tell whether a broker's control endpoint can be reached: Apache Kafka has none."""
        return self.bootstrap is None and (self.elsewhere is not None or broker.control_port > 0)

    def control(self, broker: BrokerSpec) -> ControlClient:
        """Return the control endpoint of a broker that can answer.

        Raises:
            LabError: NOT_RUNNING; USAGE with ``--bootstrap-server``.
        """
        self._refuse_bootstrap()
        self.require_broker(broker.id)
        if self.elsewhere is not None:
            return self.elsewhere.control(broker.id)
        if not self.has_control(broker):
            own = ", ".join(str(each.id) for each in self.brokers if each.control_port)
            words = (
                f"broker {broker.id} is Apache Kafka's, whose disks jbodlab cannot break or heal"
            )
            raise LabError(ExitCode.USAGE, f"{words}: take one of broker {own}")
        return ControlClient(broker.id, broker.control_port)

    def require_broker(self, broker_id: int) -> None:
        """Go on when this broker can answer.

        Raises:
            LabError: FAILED: there is no such broker; NOT_RUNNING.
        """
        away = self.away(self.layout.broker(broker_id))
        if away is not None:
            raise LabError(ExitCode.NOT_RUNNING, away)

    def away(self, broker: BrokerSpec) -> str | None:
        """Say why a broker cannot answer, and what to do; None when it can, as far as is known."""
        state = self._state(broker_node(broker.id))
        if state == "down":
            return (
                f"broker {broker.id} does not run: start it with `jbodlab brokers start "
                f"{broker.id}`, or everything with `jbodlab up`"
            )
        if state == "paused":
            return (
                f"broker {broker.id} stands still and answers nothing: "
                f"`jbodlab brokers resume {broker.id}` lets it go on"
            )
        return None

    def state(self, broker_id: int) -> NodeState:
        """Return how the process of a broker is.

        Raises:
            LabError: FAILED: there is no such broker; USAGE with ``--bootstrap-server``.
        """
        self._refuse_bootstrap()
        return self._state(broker_node(self.layout.broker(broker_id).id))

    def restart_broker(self, broker_id: int) -> None:
        """Stop a broker cleanly and start it, here or elsewhere."""
        with self.working(f"restarting broker {broker_id}"):
            if self.elsewhere is not None:
                self.elsewhere.order(broker_id, "restart")
            else:
                self.cluster.restart_broker(broker_id)

    def require_controller(self) -> None:
        """Go on when brokers can register: without it they wait for the controller.

        Raises:
            LabError: NOT_RUNNING.
        """
        node = self.layout.control_node
        if node is None:
            return
        state, words = self._state(node), "the controller" if node == CONTROLLER_NODE else node
        if state == "down":
            raise LabError(
                ExitCode.NOT_RUNNING,
                f"a broker cannot register, for {words} does not run: `jbodlab up` starts "
                "it, and every broker that does not run",
            )
        if state == "paused":
            pid = self.cluster.processes[node].pid if self.api is None else "PID"
            raise LabError(
                ExitCode.NOT_RUNNING,
                f"a broker cannot register, for {words} stands still: "
                f"`kill -CONT {pid}` lets it go on",
            )

    def awake_own(self) -> list[BrokerSpec]:
        """Return the brokers that can answer and are jbodlab's, whose disks it breaks."""
        return [each for each in self.awake() if self.has_control(each)]

    def awake(self) -> list[BrokerSpec]:
        """Return the brokers that can answer; the others are told about on stderr."""
        away = [broker for broker in self.brokers if self._is_away(broker)]
        if away:
            names = ", ".join(str(broker.id) for broker in away)
            self.warn(f"not asked, for it does not answer: broker {names}")
        return [broker for broker in self.brokers if broker not in away]

    def _state(self, name: str) -> NodeState:
        """Return how a node is; of one that is known by an address alone that is not known."""
        if self.bootstrap is not None:
            return "running"
        return (
            node_state(self.cluster, name) if self.elsewhere is None else self.elsewhere.state(name)
        )

    def _is_away(self, broker: BrokerSpec) -> bool:
        return self.away(broker) is not None

    def _refuse_bootstrap(self) -> None:
        """Go on with a cluster whose processes, disks and control endpoints can be reached.

        Raises:
            LabError: USAGE.
        """
        if self.bootstrap is not None:
            raise LabError(
                ExitCode.USAGE,
                "this command needs the processes, disks or control endpoints of a cluster, which "
                "--bootstrap-server does not reach: run it where the cluster file is, or ask the "
                "HTTP API there (`--api URL`, of `jbodlab serve --host HOST --token-file FILE`)",
            )

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
            words = str(error).replace(f"{self.layout.config_path.parent}/", "")
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
    @click.option(
        "--command-config",
        "command_config",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Security for brokers elsewhere, as a properties file of Kafka's clients.",
    )
    @click.option(
        "--api",
        "api_url",
        metavar="URL",
        envvar="JBODLAB_API",
        show_envvar=True,
        help=f"A lab elsewhere, by its HTTP API; its token behind #token=, or in {TOKEN_VARIABLE}.",
    )
    @click.option("--json", "is_json", is_flag=True, help="Write the result as JSON.")
    @functools.wraps(function)
    def command(
        config_path: Path,
        bootstrap: str | None,
        command_config: Path | None,
        api_url: str | None,
        is_json: bool,  # noqa: FBT001 - click passes it by name
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        if bootstrap is not None:
            api_url = None
        lab = Lab(
            config_path,
            is_json=is_json,
            bootstrap=bootstrap,
            api=None if api_url is None else LabApi(api_url, os.environ.get(TOKEN_VARIABLE)),
            command_config=command_config,
        )
        function(lab, *args, **kwargs)

    # click calls it by keyword with these options added; P cannot say that.
    return command  # pyright: ignore[reportReturnType]


def partition_content(view: PartitionView) -> dict[str, Any]:
    """Return a partition as metadata tells it, for a JSON document: without eligible leaders."""
    content = asdict(view)
    del content["elr"], content["last_known_elr"]
    return content
