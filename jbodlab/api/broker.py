"""The processes of a cluster: brokers with their log dirs, and the controller."""

from __future__ import annotations

from jbodlab.api.connections import Connections
from jbodlab.api.log_dir import LogDir
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import CONTROLLER
from protocol.faults.model import broker_node


class Node:
    """One process: it can be killed, paused and stopped, and has a log."""

    def __init__(self, connections: Connections, name: str) -> None:
        self._connections = connections
        self._processes = connections.processes
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}, {'running' if self.is_running else 'not running'}>"

    @property
    def is_running(self) -> bool:
        """Whether the process lives; one that stands still does."""
        return self._processes.is_running(self.name)

    @property
    def log(self) -> str:
        """All that it has written to its log."""
        file = self._processes.log_file(self.name)
        return file.read_text(errors="replace") if file.exists() else ""

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._order("is killed")
        self._processes.kill(self.name)

    def stop(self) -> None:
        """End it cleanly: a broker hands over its leaderships first."""
        self._order("is stopped")
        self._processes.stop([self.name])

    def pause(self) -> None:
        """Let it stand still (SIGSTOP); its connections and locks stay."""
        self._order("stands still")
        self._processes.pause(self.name)

    def resume(self) -> None:
        """Let it go on (SIGCONT)."""
        self._order("goes on")
        self._processes.resume(self.name)

    def _order(self, words: str) -> None:
        """Note an order.

        Raises:
            LabError: NOT_RUNNING.
        """
        if not self.is_running:
            raise LabError(ExitCode.NOT_RUNNING, f"{self.name} does not run: start() it first")
        self._connections.story.add(f"{self.name} {words}")


class Controller(Node):
    """The process that elects leaders."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections, CONTROLLER)

    def start(self) -> None:
        """Start it again; brokers find it by themselves."""
        self._connections.story.add(f"{self.name} is started")
        self._processes.start_controller()

    def restart(self) -> None:
        """Stop it cleanly and start it again."""
        self.stop()
        self.start()


class Broker(Node):
    """One broker; ``address`` is where clients reach it, as host:port."""

    def __init__(self, connections: Connections, broker_id: int) -> None:
        super().__init__(connections, broker_node(broker_id))
        self.id = broker_id
        self._spec = connections.processes.broker(broker_id)
        self.address = f"{self._spec.advertised_host}:{self._spec.advertised_port}"

    @property
    def log_dirs(self) -> tuple[LogDir, ...]:
        """Its log dirs, the first one first."""
        numbers = range(1, len(self._spec.log_dirs) + 1)
        return tuple(LogDir(self._connections, self._spec, number) for number in numbers)

    def log_dir(self, number: int) -> LogDir:
        """Return a log dir by its number, 1 for the first one.

        Raises:
            LabError: USAGE, with how many there are.
        """
        count = len(self._spec.log_dirs)
        if not 1 <= number <= count:
            raise LabError(
                ExitCode.USAGE, f"{self.name} has log dirs 1 to {count}, none with number {number}"
            )
        return LogDir(self._connections, self._spec, number)

    def start(self) -> None:
        """Start it and wait until it and the cluster know each other."""
        self._connections.story.add(f"{self.name} is started")
        self._processes.start_broker(self.id)

    def restart(self) -> None:
        """Stop it cleanly and start it again."""
        self.stop()
        self.start()
