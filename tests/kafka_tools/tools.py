"""Kafka's own tools, unmodified, one JVM per release that runs one command after the other.

``KafkaTools.run("kafka-topics --list")`` is what the script of that name would do. It starts no
cluster and knows no expected output.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from benchmarks.peer.kafka import fetch

RELEASES: Final = ("3.9.2", "4.3.1")
DEADLINE_S: Final = 300
"""For one command, the first with the start of its JVM; less than pytest gives a test."""
JVM_FLAGS: Final = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
)
"""For a JVM that runs for a minute."""
_SERVER: Final = Path(__file__).with_name("ToolServer.java")
_LOG4J: Final = """\
log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.appender.stderr.Target=System.err
"""
_LOGGER_NOTE: Final = re.compile(r"SLF4J:|\[.*\] WARN .* Bootstrap broker .* disconnected ")
_BOOTSTRAP_OPTION: Final = {"kafka-replica-verification": "--broker-list"}
_WITHOUT_BOOTSTRAP: Final = frozenset({"kafka-dump-log", "kafka-producer-perf-test"})
"""The first needs no cluster, the second takes it as a property."""
_ENDLESS: Final = frozenset({"kafka-replica-verification"})
"""Some of their threads go on when they are interrupted: only the end of the JVM ends them."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What one command did: compare it with ``Printed(code, out)`` where stderr is empty."""

    code: int
    out: str
    err: str = ""

    @property
    def lines(self) -> list[str]:
        """What it wrote to stdout, line by line."""
        return self.out.splitlines()


def main_class(tool: str, release: str) -> str:
    """Return the class behind a script."""
    tools = "org.apache.kafka.tools"
    is_new = not release.startswith("3.")
    return {
        "kafka-broker-api-versions": f"{tools if is_new else 'kafka.admin'}."
        "BrokerApiVersionsCommand",
        "kafka-acls": f"{tools if is_new else 'kafka.admin'}.AclCommand",
        "kafka-client-metrics": f"{tools}.ClientMetricsCommand",
        "kafka-cluster": f"{tools}.ClusterTool",
        "kafka-configs": "kafka.admin.ConfigCommand",
        "kafka-consumer-groups": f"{tools}.consumer.group.ConsumerGroupCommand",
        "kafka-console-consumer": f"{tools}.consumer.ConsoleConsumer",
        "kafka-console-producer": f"{tools if is_new else 'kafka.tools'}.ConsoleProducer",
        "kafka-consumer-perf-test": f"{tools}.ConsumerPerformance",
        "kafka-delegation-tokens": f"{tools}.DelegationTokenCommand",
        "kafka-delete-records": f"{tools}.DeleteRecordsCommand",
        "kafka-dump-log": f"{tools if is_new else 'kafka.tools'}.DumpLogSegments",
        "kafka-e2e-latency": f"{tools}.EndToEndLatency",
        "kafka-features": f"{tools}.FeatureCommand",
        "kafka-get-offsets": f"{tools}.GetOffsetShell",
        "kafka-leader-election": f"{tools}.LeaderElectionCommand",
        "kafka-log-dirs": f"{tools}.LogDirsCommand",
        "kafka-metadata-quorum": f"{tools}.MetadataQuorumCommand",
        "kafka-producer-perf-test": f"{tools}.ProducerPerformance",
        "kafka-reassign-partitions": f"{tools}.reassign.ReassignPartitionsCommand",
        "kafka-replica-verification": f"{tools}.ReplicaVerificationTool",
        "kafka-share-groups": f"{tools}.consumer.group.ShareGroupCommand",
        "kafka-streams-groups": f"{tools}.streams.StreamsGroupCommand",
        "kafka-topics": f"{tools}.TopicCommand",
        "kafka-transactions": f"{tools}.TransactionsCommand",
        "kafka-verifiable-consumer": f"{tools}.VerifiableConsumer",
        "kafka-verifiable-producer": f"{tools}.VerifiableProducer",
    }[tool]


class KafkaTools:
    """The tools of one release. ``close`` ends their JVM."""

    def __init__(self, release: str, build_dir: Path, folder: Path, bootstrap: str) -> None:
        """Fetch the jars where they are missing, compile the server, start the JVM.

        Args:
            release: one of ``RELEASES``.
            build_dir: where the jars are kept between runs.
            folder: for what its JVM logs and how.
            bootstrap: the cluster's brokers, as the tools take them.

        Raises:
            PeerMissingError: no Java, no Maven, or no download.
        """
        self.release = release
        self.bootstrap = bootstrap
        libs = fetch(build_dir, release)
        classes = _compiled(libs, build_dir, release)
        (folder / "log4j.properties").write_text(_LOG4J)
        class_path = os.pathsep.join([str(folder), str(classes), f"{libs}/*"])
        self._jvm_log = (folder / "jvm.log").open("wb")
        self._server = ["java", "-Xmx128m", *JVM_FLAGS, "-cp", class_path, "ToolServer"]
        self._jvm = self._launch()

    def _launch(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self._server, stdin=pipe, stdout=pipe, stderr=self._jvm_log, text=True
        )

    def run(self, command: str, *more: str, stdin: str = "", until: str = "") -> Printed:
        """Run one command line; ``--bootstrap-server`` is added where it is not named.

        Args:
            command: the script's name and options, quoted as in a shell.
            more: further words, taken as they are: paths, JSON.
            stdin: what the tool reads.
            until: for a tool without end: it is interrupted once it has written this.
        """
        tool, *words = [*shlex.split(command), *more]
        option = _BOOTSTRAP_OPTION.get(tool, "--bootstrap-server")
        if option not in words and tool not in _WITHOUT_BOOTSTRAP:
            words = [option, self.bootstrap, *words]
        return self.run_bare(tool, words, stdin, until)

    def run_bare(
        self, tool: str, words: Sequence[str], stdin: str = "", until: str = ""
    ) -> Printed:
        """Run a tool with exactly these words."""
        sent = (stdin, until, main_class(tool, self.release), *words)
        line = " ".join(map(_encoded, sent))
        answers, commands = _pipes(self._jvm)
        # A tool that hangs is ended with its JVM: the read below then finds no answer, and the
        # tools after it run in another.
        hung = threading.Timer(DEADLINE_S, self._jvm.kill)
        hung.start()
        try:
            commands.write(line + "\n")
            commands.flush()
            answer = answers.readline()
        finally:
            hung.cancel()
        if not answer or (until and tool in _ENDLESS):
            self._end_jvm()
            self._jvm = self._launch()
        assert answer, f"{tool} {shlex.join(words)} did not end within {DEADLINE_S} s"
        code, out, err = answer.split()
        return Printed(int(code), _decoded(out), _without_logger_notes(_decoded(err)))

    def close(self) -> None:
        """End the JVM."""
        self._end_jvm()
        self._jvm_log.close()

    def _end_jvm(self) -> None:
        for pipe in _pipes(self._jvm):
            pipe.close()
        self._jvm.kill()
        self._jvm.wait()


def _compiled(libs: Path, build_dir: Path, release: str) -> Path:
    """Return the folder of the server's classes, compiled once for all runs that find them."""
    compiler = shutil.which("javac")
    assert compiler is not None, "java without javac: install the JDK"
    classes = build_dir / f"tool-server-{release}-{zlib.crc32(_SERVER.read_bytes()):08x}"
    if not classes.is_dir():
        (clients,) = libs.glob("kafka-clients-*.jar")
        folder = Path(tempfile.mkdtemp(dir=build_dir))
        command = [compiler, "-nowarn", "-d", str(folder), "-cp", str(clients), str(_SERVER)]
        subprocess.run(command, check=True, capture_output=True)
        try:
            folder.rename(classes)  # Other lanes may compile it at this moment, and find it whole.
        except OSError:
            shutil.rmtree(folder)
    return classes


def _pipes(jvm: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert jvm.stdout is not None
    assert jvm.stdin is not None
    return jvm.stdout, jvm.stdin


def _encoded(word: str) -> str:
    """Return base64 behind a sign, so that an empty word is a word, too."""
    return "=" + base64.b64encode(word.encode()).decode()


def _without_logger_notes(err: str) -> str:
    """Drop what the logging library says once, about itself: 4.3's jars name no logger for it.

    And the notes of clients that wait longer on a busy machine than a tool lets them, which no
    option changes: they ask again.
    """
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not _LOGGER_NOTE.match(line))


def _decoded(word: str) -> str:
    return base64.b64decode(word[1:]).decode()
