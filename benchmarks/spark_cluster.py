"""A standalone Spark cluster on loopback, of the classes that PySpark brings: a master and workers.

It submits nothing. Whatever becomes of who started it, even a SIGKILL, its processes end.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO, Final

import pyspark

HOME: Final = Path(pyspark.__file__).parent
SUBMIT: Final = HOME / "bin" / "spark-submit"
_STARTED: Final = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED: Final = re.compile(r"Registering worker ")
_LAUNCHED: Final = re.compile(r"Launching executor \S+ on worker (\S+)")
_UNTIL_STDIN_ENDS: Final = '"$@" </dev/null & exec 2>&-; read _; kill -KILL 0'
"""A shell's program: the kernel closes its stdin when its parent is gone, and then its group ends.

The workers start executors in the same group.
"""
_DAEMON: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


class SparkCluster:
    """A master, and what it says. ``spark_cluster`` starts it."""

    def __init__(self, lines: Queue[str | None], wait_s_max: float) -> None:
        self._lines = lines
        self._wait_s_max = wait_s_max
        self._said: list[str] = []
        [self.url] = self.until(_STARTED, 1)

    def until(self, what: re.Pattern[str], count: int) -> list[str]:
        """Wait until the master's log has so many lines like that; return their first groups.

        Raises:
            TimeoutError: it has fewer when the master ends, or when all that time is over.
        """
        deadline = time.monotonic() + self._wait_s_max
        while len(found := self._found(what)) < count:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                line = None
            if line is None:
                last = "".join(self._said[-20:])
                raise TimeoutError(f"{len(found)} of {count} times {what.pattern!r} in:\n{last}")
            self._said.append(line)
        return found

    def workers_with_executors(self) -> set[str]:
        """Return the ids of the workers that have run tasks so far."""
        while not self._lines.empty():
            self._said.append(self._lines.get() or "")
        return set(self._found(_LAUNCHED))

    def _found(self, what: re.Pattern[str]) -> list[str]:
        matches = [match for line in self._said if (match := what.search(line))]
        return [match[match.lastindex or 0] for match in matches]


def spark_environment() -> dict[str, str]:
    """Return the environment of Spark's programs: this Spark, this Python, loopback only."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("SPARK_")},
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": _DAEMON,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


@contextmanager
def spark_cluster(folder: Path, workers: int, wait_s_max: float = 120.0) -> Generator[SparkCluster]:
    """Run a master and ``workers`` workers of one core each for a block.

    Executors write their logs below ``folder``.

    Raises:
        TimeoutError: not all were there in ``wait_s_max``.
    """
    place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with ExitStack() as stack:
        cluster = SparkCluster(stack.enter_context(_running("master.Master", place)), wait_s_max)
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder))
        for _ in range(workers):
            stack.enter_context(_running("worker.Worker", (*place, *size, cluster.url)))
        cluster.until(_REGISTERED, workers)
        yield cluster


@contextmanager
def _running(name: str, options: Sequence[str]) -> Generator[Queue[str | None]]:
    """Give the lines that the process logs, None after the last."""
    program = (str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}")
    process = subprocess.Popen(
        ["/bin/sh", "-c", _UNTIL_STDIN_ENDS, "sh", *program, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=spark_environment(),
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    lines: Queue[str | None] = Queue()
    reader = Thread(target=_pass_on, args=(process.stderr, lines))
    reader.start()
    try:
        yield lines
    finally:
        process.stdin.close()
        process.wait()
        reader.join()


def _pass_on(source: IO[str], lines: Queue[str | None]) -> None:
    with source:
        for line in source:
            lines.put(line)
    lines.put(None)
