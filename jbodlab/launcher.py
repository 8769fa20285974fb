"""``python -m jbodlab.launcher FD``: imports what nodes need once, then forks a node per order.

What was loaded before the forks stays shared among the nodes: the collector of garbage leaves it
alone from then on. Nothing here starts a thread or a loop. Orders are JSON lines on the socket
``FD``, each answered by a number; ``jbodlab.processes.launching`` is their other end. The launcher
ends when that hangs up, and its nodes live on.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from socket import socket
from typing import Any, Final

import msgspec
import setproctitle

if __name__ == "__main__":
    # What is imported stays: looking for garbage among it would be a fifth of the start.
    gc.disable()

from broker.__main__ import main as run_broker
from controller.__main__ import main as run_controller
from jbodlab.processes.launching import Order
from protocol.cluster_file.spec import parse_cluster_spec
from protocol.stack_dumps import tell_stacks

_CLUSTER_FILE: Final = """
cluster_id: none
controller: {id: 100, port: 1, data_dir: c}
brokers: [{id: 1, port: 2, control_port: 3, log_dirs: [{path: d}]}]
"""
"""To be read once: what reads such a file is loaded by that, and not again in every child."""


def main() -> Any:
    """Take orders until the caller hangs up; in a child, run what was ordered, to its exit code."""
    parse_cluster_spec(_CLUSTER_FILE, base_dir=Path(), source="")
    gc.freeze()
    with socket(fileno=int(sys.argv[1])) as channel:
        order = _ordered(channel)
    if order is None:
        return 0
    _become(order)
    gc.enable()
    return _main_of(order.module)(order.arguments)


def _ordered(channel: socket) -> Order | None:
    """Fork at each order; return it in the child, and None in the launcher when all is done."""
    with channel.makefile("rwb") as lines:
        for line in lines:
            order = msgspec.json.decode(line, type=Order)
            answer = _exit_code_of(order.ended_pid) if order.ended_pid else os.fork()
            if not answer and not order.ended_pid:
                return order
            lines.write(b"%d\n" % answer)
            lines.flush()
    return None


def _exit_code_of(pid: int) -> int:
    """Reap a child that has ended; return its exit code, negative when a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _become(order: Order) -> None:
    """Give this child the session, streams, folder, environment and title that it is to have."""
    os.setsid()
    os.chdir(order.folder)
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(order.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    for number, stream in enumerate((nothing, log, log)):
        os.dup2(stream, number)
    os.close(nothing)
    os.close(log)
    setproctitle.setproctitle(order.title)  # First: it looks for the environment that exec gave.
    setproctitle.setthreadtitle(Path(sys.executable).name)  # The title took the name's place, too.
    os.environ.clear()
    os.environ.update(order.environ)
    tell_stacks()


def _main_of(module: str) -> Callable[[list[str]], Any]:
    """Return what ``python -m module`` calls."""
    if module == run_broker.__module__.removesuffix(".__main__"):
        return run_broker
    if module == run_controller.__module__.removesuffix(".__main__"):
        return run_controller
    # The HTTP API: its modules serve it alone.
    from jbodlab.cli import main as run_command  # noqa: PLC0415

    return run_command


if __name__ == "__main__":
    sys.exit(main())
