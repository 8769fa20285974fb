"""A cluster under attack: watched processes, bystanders, and what one attack did to them.

It knows no API; ``requests`` and the other parts bring the attacks.
"""

from __future__ import annotations

import json
import math
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

from benchmarks.hostile.watched import Piece, pieces_in
from jbodlab.asking.admin import ClusterAdmin
from jbodlab.processes.cluster import CONTROLLER, Cluster
from jbodlab.processes.free_ports import LOOPBACK
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.cluster_file.spec import TopicSpec

BROKER_ID: Final = 1
"""The broker that is attacked."""
TOPIC: Final = "bystander"
ANSWER_TIMEOUT_S: Final = 120
_SETTLE_S: Final = 0.3
FENCED: Final = "no heartbeat for"
"""What the controller logs of a broker that it fences."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one attack did."""

    node: str
    """"broker" or "controller"."""
    api: str
    attack: str
    request_bytes: int
    outcome: str
    """"answered", "closed" or "silent"."""
    taken_ms: float
    """Until that outcome."""
    piece_ms: float
    """The longest piece of the loop thread's processor time in any process of the cluster."""
    piece: str
    """Which process' callback that was."""
    p99_ms: float | None
    """Of all bystanders of the node that was attacked; None when none asked meanwhile."""
    longest_ms: float | None
    fenced_count: int

    def as_json(self) -> dict[str, Any]:
        """Return the row as a document."""
        return asdict(self)


class Bystander:
    """The process that asks beside the attacks."""

    def __init__(self, port: int, topic: str | None, file: Path) -> None:
        self._file = file
        command = [sys.executable, "-m", "benchmarks.hostile.bystander", str(port)]
        with file.open("wb") as out:
            self._child = subprocess.Popen(
                command + ([topic] if topic else []), stdin=subprocess.PIPE, stdout=out
            )

    def end(self) -> None:
        """End it and wait for it."""
        self._child.communicate()

    def taken_ms(self, since_s: float, until_s: float) -> list[float]:
        """Return what those took that were asked in between; call it after ``end``."""
        rows = map(json.loads, self._file.read_text().splitlines())
        return [taken_ms for asked_s, _, taken_ms in rows if since_s <= asked_s < until_s]


class HostileLab:
    """A running cluster that is attacked."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self._folder = folder
        self.cluster = cluster
        self._ends: dict[str, int] = {}

    def port(self, node: str) -> int:
        """Return the port of "broker", the one that is attacked, or "controller"."""
        spec = self.cluster.spec
        return spec.controller.port if node == CONTROLLER else spec.broker(BROKER_ID).port

    def measure(
        self, node: str, api: str, attack: str, request_bytes: int, strike: Callable[[], str]
    ) -> Row:
        """Have ``strike`` done beside a bystander of ``node``; it returns the outcome."""
        file = self._folder / "bystander.jsonl"
        bystander = Bystander(self.port(node), None if node == CONTROLLER else TOPIC, file)
        time.sleep(2 * _SETTLE_S)
        self._new_pieces()
        fenced = self._fenced_count()
        began_s = time.monotonic()
        outcome = strike()
        ended_s = time.monotonic()
        time.sleep(_SETTLE_S)
        until_s = time.monotonic()
        time.sleep(_SETTLE_S)
        bystander.end()
        taken_ms = sorted(bystander.taken_ms(began_s, until_s))
        node_of, worst = max(self._new_pieces(), key=_cost, default=("", Piece(0.0, "")))
        return Row(
            node=node,
            api=api,
            attack=attack,
            request_bytes=request_bytes,
            outcome=outcome,
            taken_ms=round(1000 * (ended_s - began_s), 1),
            piece_ms=worst.processor_ms,
            piece=f"{node_of} {worst.what}".strip(),
            p99_ms=taken_ms[math.ceil(0.99 * len(taken_ms)) - 1] if taken_ms else None,
            longest_ms=taken_ms[-1] if taken_ms else None,
            fenced_count=self._fenced_count() - fenced,
        )

    def _new_pieces(self) -> list[tuple[str, Piece]]:
        """Return what every process has noted since the last call."""
        found: list[tuple[str, Piece]] = []
        for file in sorted(self._folder.glob("*.pieces")):
            pieces, end = pieces_in(file, self._ends.get(file.stem, 0))
            self._ends[file.stem] = end
            found += [(file.stem, piece) for piece in pieces]
        return found

    def _fenced_count(self) -> int:
        log = self.cluster.run_dir / f"{CONTROLLER}.log"
        return log.read_text(errors="replace").count(FENCED)


def _cost(found: tuple[str, Piece]) -> float:
    return found[1].processor_ms


def exchange(port: int, frame: bytes, timeout_s: float = ANSWER_TIMEOUT_S) -> str:
    """Send one frame on a connection of its own; return what became of it."""
    with socket.create_connection((LOOPBACK, port), timeout=timeout_s) as stream:
        try:
            stream.sendall(frame)
            return _outcome(stream)
        except TimeoutError:
            return "silent"
        except OSError:
            return "closed"


def _outcome(stream: socket.socket) -> str:
    head = stream.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return "closed"
    left = int.from_bytes(head, "big")
    while left:
        data = stream.recv(min(left, 1 << 20))
        if not data:
            return "closed"
        left -= len(data)
    return "answered"


@contextmanager
def hostile_lab(folder: Path, config: Path | None = None) -> Generator[HostileLab]:
    """Start a cluster whose every process is watched, and end it.

    Args:
        folder: where it runs.
        config: the cluster file; None: of three brokers, open to all.
    """
    config = config or write_lab_spec(folder, LabShape())
    launcher = [sys.executable, "-m", "benchmarks.hostile.watched", str(folder)]
    cluster = Cluster(config, launcher)
    signal.signal(signal.SIGTERM, _end_by_signal)
    try:
        cluster.start()
        with ClusterAdmin(cluster.spec) as admin:
            admin.create_topic(
                TopicSpec(name=TOPIC, partitions=1, replication_factor=1, configs={}),
                assignment={0: [BROKER_ID]},
            )
        yield HostileLab(folder, cluster)
    finally:
        cluster.stop()


def _end_by_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """Leave by the way that ends the cluster, as SIGINT does by itself."""
    sys.exit(128 + number)
