"""Fuzzes the listeners of real processes: ``python -m tests.fuzz.listeners --seconds 600``.

A cluster of three brokers is sent golden requests, whole and damaged, and bytes that are none: to
the brokers' and the controller's listeners and, as HTTP, to the control endpoints. It looks at what
the processes wrote: no traceback, nothing unexpected, and every process still runs and serves.
"""

from __future__ import annotations

import argparse
import random
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from broker.dispatcher import HANDLERS as BROKER_HANDLERS  # with every handler registered
from controller.handlers.dispatcher import HANDLERS as CONTROLLER_HANDLERS
from jbodlab.asking.rpc import BlockingClient
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.free_ports import LOOPBACK
from jbodlab.processes.lab_spec import LabShape, write_lab_spec
from protocol.apis import BY_NAME
from protocol.connection import ClientConnection
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.wire.table import Versions
from tests.golden.message_vectors import message_vectors

FRAMES_PER_CONNECTION: Final = 20
ANSWER_TIMEOUT_S: Final = 0.05
PATIENT_MS: Final = 60_000
_LENGTHS: Final = [
    bytes.fromhex(each) for each in ("7fffffff", "80000000", "ffffffff", "ffffffff0f", "00", "01")
]
_NOT_ALLOWED: Final = re.compile(r"Traceback|ended unexpectedly|Task exception|was never retrieved")
_PATHS: Final = (
    "/status", "/log-dirs", "/faults", "/faults/clear", "/log-dirs/fail", "/log-dirs/heal",
    "/log-dirs/restart", "/log-dirs/replace", "/partitions/restart", "/replicas", "/metrics", "/",
)  # fmt: skip
_BODIES: Final = (
    b"", b"{}", b"[]", b"null", b"{\"path\": 1}", b"{\"path\": \"x\"}", b"{\"topic\": \"t\"}",
    b"\xff\xfe", b"[" * 3000, b"{\"path\": \"" + b"a" * 9000 + b"\"}", b"1e999", b"\"\\ud800\"",
)  # fmt: skip


@dataclass(frozen=True)
class Bounds:
    """When to end, whichever comes first."""

    frames: int | None = None
    seconds: float | None = None


def golden_frames(served: Mapping[int, Versions]) -> list[bytes]:
    """Return a request of each API and version served that has a golden message, without size."""
    frames: list[bytes] = []
    for (api, kind), vectors in sorted(message_vectors().items()):
        if kind != "request" or api not in BY_NAME:
            continue
        key = BY_NAME[api].key
        frames += [
            b"".join(
                ClientConnection("fuzz").send_request(
                    key, vector["version"], [bytes.fromhex(vector["hex"])]
                )
            )[4:]
            for vector in vectors
            if key in served and vector["version"] in served[key]
        ]
    return frames


def damaged(frame: bytes, chance: random.Random) -> bytes:
    """Return a frame with some bytes changed, put in, taken out or cut off; four in ten whole."""
    data = bytearray(frame)
    for _ in range(chance.choice([0, 0, 0, 0, 1, 1, 1, 2, 3, 8])):
        position = chance.randrange(2, max(3, len(data)))
        match chance.choice(["flip", "length", "insert", "cut", "remove"]):
            case "flip":
                data[position : position + 1] = bytes([chance.randrange(256)])
            case "length":
                length = chance.choice(_LENGTHS)
                data[position : position + len(length)] = length
            case "insert":
                data[position:position] = chance.randbytes(chance.randrange(9))
            case "cut":
                del data[position:]
            case _:
                del data[position : position + chance.randrange(1, 9)]
    return bytes(data)


def sized(frame: bytes, chance: random.Random) -> bytes:
    """Return a frame with its size before it, in one of fifty a wrong one."""
    size = len(frame)
    if chance.randrange(50) == 0:
        size = chance.choice([-1, 0, size + 1, max(0, size - 1), 2**31 - 1, -(2**31)])
    return size.to_bytes(4, "big", signed=True) + frame


def http_request(chance: random.Random) -> bytes:
    """Return a request to a control endpoint, or what resembles one. None ends the broker."""
    path, body = chance.choice(_PATHS), chance.choice(_BODIES)
    length = chance.choice([len(body), len(body), len(body), 0, -1, 10**12])
    head = f"{chance.choice(['GET', 'POST', 'PUT', 'X'])} {path} HTTP/1.1\r\nHost: localhost\r\n"
    head += chance.choice(["Content-Type: application/json\r\n"] * 4 + [""])
    whole = f"{head}Content-Length: {length}\r\n\r\n".encode() + body
    return whole if chance.randrange(3) else damaged(whole, chance).replace(b"shutdown", b"")


def attack(port: int, messages: Sequence[bytes]) -> None:
    """Send messages on one connection, read what comes back, hang up in the middle or the end."""
    with (
        suppress(OSError),
        socket.create_connection((LOOPBACK, port), timeout=ANSWER_TIMEOUT_S) as stream,
    ):
        for message in messages:
            stream.sendall(message)
        with suppress(TimeoutError):
            while stream.recv(1 << 16):
                pass


def rounds(seed: int) -> Iterator[tuple[str, list[bytes]]]:
    """Yield without end which listener is attacked and what it is sent."""
    chance = random.Random(seed)
    golden = {
        "broker": golden_frames({key: each.versions for key, each in BROKER_HANDLERS.items()}),
        "controller": golden_frames(
            {key: each.versions for key, each in CONTROLLER_HANDLERS.items()}
        ),
    }
    while True:
        listener = chance.choice(["broker", "broker", "broker", "controller", "controller", "http"])
        if listener == "http":
            yield listener, [http_request(chance)]
        elif chance.randrange(20) == 0:
            yield listener, [chance.randbytes(chance.randrange(1, 400))]
        else:
            count = chance.randrange(1, FRAMES_PER_CONNECTION)
            frames = [damaged(chance.choice(golden[listener]), chance) for _ in range(count)]
            yield listener, [sized(frame, chance) for frame in frames]


def fuzz(cluster: Cluster, seed: int, bounds: Bounds) -> int:
    """Attack until a bound is met; return how many messages were sent."""
    broker = cluster.spec.brokers[0]
    ports = {
        "broker": broker.port,
        "controller": cluster.spec.controller.port,
        "http": broker.control_port,
    }
    sent = 0
    until_s = time.monotonic() + (bounds.seconds or 0)
    for listener, messages in rounds(seed):
        if bounds.frames is not None and sent >= bounds.frames:
            break
        if bounds.seconds is not None and time.monotonic() >= until_s:
            break
        attack(ports[listener], messages)
        sent += len(messages)
    return sent


def findings(cluster: Cluster) -> list[str]:
    """Return what is wrong: processes that ended or do not serve, and lines that say too much."""
    found = [f"{name} has ended" for name in cluster.names if not cluster.is_running(name)]
    nodes = [("controller", cluster.spec.controller.port)]
    nodes += [(f"broker-{broker.id}", broker.port) for broker in cluster.spec.brokers]
    for name, port in nodes:
        client = BlockingClient(LOOPBACK, port)
        try:
            client.request(ApiVersionsRequest(), 0)
        except OSError as error:
            found.append(f"{name} does not serve: {error}")
        finally:
            client.close()
    for name in cluster.names:
        found += _findings_of_log(cluster.run_dir / f"{name}.log")
    return found


def _findings_of_log(file: Path) -> list[str]:
    lines = file.read_text(errors="replace").splitlines()
    return [
        f"{file.stem}: " + "\n    ".join(lines[max(0, number - 1) : number + 40])
        for number, line in enumerate(lines)
        if _NOT_ALLOWED.search(line)
    ]


def run(folder: Path, seed: int, bounds: Bounds) -> tuple[int, list[str]]:
    """Fuzz a cluster of its own in ``folder``; return what was sent and what is wrong."""
    shape = LabShape(session_timeout_ms=PATIENT_MS)
    cluster = Cluster(write_lab_spec(folder, shape))
    with running(cluster):
        sent = fuzz(cluster, seed, bounds)
        return sent, findings(cluster)


def main() -> int:
    """Fuzz for as long as asked; end with 1 when something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="run in this folder and keep it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jbodlab-fuzz-") as folder:
        bounds = Bounds(seconds=options.seconds)
        sent, found = run(options.keep or Path(folder), options.seed, bounds)
    sys.stdout.write("\n".join([*found, f"seed {options.seed}: {sent} sent, {len(found)} found\n"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
