"""The processes that load the cluster, one per client library, and what they told."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

from benchmarks.peer.kafka import BUILD_DIR, PeerMissingError, fetch
from tests.restarts.script import Told, told_of

PARTITIONS = 3
"""Of each topic: one is led by each broker where nothing moved."""
END_S = 180
_OF_EPOCHS = re.compile(r"IDEMPSTATE|epoch bump|Epoch:[1-9]|[Ff]atal")
"""What librdkafka writes of another epoch, in which it sends again what was not answered."""
LINES_MAX = 40
_JAVA = Path(__file__).with_name("JavaLoad.java")
_FAST_JVM = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class Client(StrEnum):
    """Whose idempotent producer it is."""

    LIBRDKAFKA = "librdkafka"
    JAVA = "java"
    AIOKAFKA = "aiokafka"


def command_of(client: Client, folder: Path) -> list[str]:
    """Return what starts a load; its arguments follow.

    Args:
        client: which.
        folder: for what is compiled.

    Raises:
        PeerMissingError: there is no JDK, no Maven, or no download.
    """
    if client is not Client.JAVA:
        return [sys.executable, "-m", f"tests.restarts.{client}_load"]
    libs = fetch(BUILD_DIR)
    compiler = shutil.which("javac")
    if compiler is None:
        raise PeerMissingError("javac is not on PATH; install the JDK or leave the Java client out")
    (clients,) = libs.glob("kafka-clients-*.jar")
    compile_ = [compiler, "-nowarn", "-d", str(folder), "-cp", str(clients), str(_JAVA)]
    subprocess.run(compile_, check=True, capture_output=True)
    (folder / "log4j.properties").write_text("log4j.rootLogger=OFF\n")
    return ["java", *_FAST_JVM, "-cp", f"{folder}:{libs}/*", "JavaLoad"]


class Load:
    """One process under way: ``start`` it, ask how far it is, ``end`` it."""

    def __init__(self, client: Client, command: Sequence[str], errors: Path) -> None:
        """``errors`` gets what the process writes to stderr."""
        self.client = client
        self.topics = [f"{client}-rf1", f"{client}-rf3"]
        self.fatal: list[str] = []
        self.ended: list[Told] = []
        """One per producer and partition."""
        self._command = list(command)
        self._errors = errors
        self._acked: dict[tuple[str, int], int] = {}
        self._process: subprocess.Popen[str] | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)

    def start(self, bootstrap: str, rate: int) -> None:
        """Begin to send ``rate`` records a second."""
        words = [*self._command, bootstrap, str(rate), str(PARTITIONS), *self.topics]
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._reader.start()

    def said_of_epochs(self) -> list[str]:
        """Return what it wrote of producer epochs: why a record may be there twice."""
        lines = self._errors.read_text(errors="replace").splitlines()
        return [line for line in lines if _OF_EPOCHS.search(line)][-LINES_MAX:]

    @property
    def acked(self) -> dict[tuple[str, int], int]:
        """How many records of each partition are acknowledged, as told last."""
        return dict(self._acked)

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def advance(self, count: int) -> Callable[[], bool]:
        """Return a question: whether each partition got ``count`` records more since now."""
        before = self.acked
        places = [(topic, number) for topic in self.topics for number in range(PARTITIONS)]
        return lambda: all(
            self._acked.get(place, 0) >= before.get(place, 0) + count for place in places
        )

    def end(self) -> None:
        """Let it deliver what it has, tell all, and end.

        Raises:
            TimeoutError: it did not within ``END_S``.
        """
        process = self._process
        assert process is not None
        assert process.stdin is not None
        process.stdin.close()
        self._reader.join(END_S)
        if self._reader.is_alive():
            raise TimeoutError(f"{self.client} did not deliver within {END_S} s")
        process.wait(END_S)

    def kill(self) -> None:
        """End the process at once."""
        process = self._process
        if process is None:
            return
        process.kill()
        process.wait(END_S)
        self._reader.join(END_S)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self) -> None:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        for line in process.stdout:
            told = told_of(line)
            if told.word == "acked":
                self._acked[told.place] = told.count
            elif told.word == "ended":
                self.ended.append(told)
            else:
                self.fatal.append(told.text)
