"""Kafka's tools and ours on one cluster: the same command by both, and what they print.

A cluster is a jbodlab or a real Apache Kafka. It knows no expected output: Kafka's is expected.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner

from jbodlab.cli import main
from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.properties import ClientSettings
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.deadlines import DEADLINE_S
from tests.kafka_tools.tools import KafkaTools, Printed

JAVA, OURS = "java", "ours"
"""Parts of topic names: each side has a topic of its own."""


class Both:
    """One cluster with both sets of tools."""

    def __init__(
        self, java: KafkaTools, log_dirs: Callable[[int], list[str]], folder: Path
    ) -> None:
        self.java = java
        self.log_dirs = log_dirs
        self._file = folder / "input.json"

    def ours(self, command: str, *more: str) -> Printed:
        """Run our command."""
        tool, *words = [*shlex.split(command), *more]
        if "--bootstrap-server" not in words:
            words = ["--bootstrap-server", self.java.bootstrap, *words]
        result = CliRunner().invoke(main, [tool, *words])
        assert result.exception is None or isinstance(result.exception, SystemExit), result
        return Printed(result.exit_code, result.stdout, result.stderr)

    def write(self, content: object) -> str:
        """Write a file as JSON, or a text as it is; return its name."""
        self._file.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(self._file)

    def same(self, command: str) -> Printed:
        """Run a command that changes nothing with both; they print the same."""
        java, ours = self.java.run(command), self.ours(command)
        assert plain(ours) == plain(java), f"{command} prints {ours}, Kafka's {java}"
        return ours

    def same_in_the_end(self, command: str) -> None:
        """As ``same``, as soon as every broker has heard of what was changed before.

        Each of the tools asks a broker of its own choice.
        """
        end = time.monotonic() + DEADLINE_S
        while plain(self.ours(command)) != plain(java := self.java.run(command)):
            assert time.monotonic() < end, f"{command} prints {java}"

    def alike(self, command: str, content: object = None) -> Printed:
        """Run a command with both, each about a topic of its own; they print the same.

        Args:
            command: with TOPIC for the topic's name and FILE for the file.
            content: of the file; TOPIC in it as well.
        """
        printed = self._by_both(command, content)
        assert printed[OURS] == printed[JAVA], command
        return printed[OURS]

    def words_alike(self, command: str) -> list[str]:
        """As ``alike``, of tables whose lines differ; return the words of stdout."""
        printed = self._by_both(command, None)
        words = printed[OURS].out.split()
        assert (printed[OURS].code, words) == (printed[JAVA].code, printed[JAVA].out.split())
        return words

    def _by_both(self, command: str, content: object) -> dict[str, Printed]:
        printed: dict[str, Printed] = {}
        for side, run in ((JAVA, self.java.run), (OURS, self.ours)):
            file = self.write(json.loads(json.dumps(content).replace("TOPIC", f"TOPIC-{side}")))
            words = command.replace("TOPIC", f"TOPIC-{side}").replace("FILE", file)
            printed[side] = plain(run(words), side)
        return printed

    def create(self, command: str) -> None:
        """Have both create their topics; wait until all replicas are in sync, as every broker says.

        Each of the tools asks a broker of its own choice afterwards.
        """
        self.alike(f"kafka-topics --create {command}")
        end = time.monotonic() + DEADLINE_S
        topic = re.findall(r"--topic (\S+)", command)[0]
        for side in (JAVA, OURS):
            name = topic.replace("TOPIC", f"TOPIC-{side}")
            check = f"kafka-topics --describe --topic {name}"
            while self._has_gaps(check) or not self._all_say_the_same(name):
                assert time.monotonic() < end, f"{name} is not in sync after {DEADLINE_S} s"

    def until(self, command: str, text: str) -> None:
        """Repeat our command until it prints a text."""
        end = time.monotonic() + DEADLINE_S
        while text not in (printed := self.ours(command)).out:
            assert time.monotonic() < end, f"{command} prints {printed.out}"

    def until_without(self, command: str, text: str) -> None:
        """Repeat our command until it prints a text no more."""
        end = time.monotonic() + DEADLINE_S
        while text in (printed := self.ours(command)).out:
            assert time.monotonic() < end, f"{command} prints {printed.out}"

    def _all_say_the_same(self, topic: str) -> bool:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(topic_id=bytes(16), name=topic)],
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        settings = ClientSettings(
            bootstrap=self.java.bootstrap,
            client_id="test",
            request_timeout_ms=10_000,
            api_timeout_ms=10_000,
        )
        with ClusterClient(settings) as client:
            told = [client.ask_broker(broker, request).topics for broker in client.nodes()]
        return all(topics == told[0] for topics in told)

    def _has_gaps(self, check: str) -> bool:
        described, missing = self.ours(check), self.ours(f"{check} --under-replicated-partitions")
        return described.code != 0 or "Leader: none" in described.out or missing.out != ""


def plain(printed: Printed, side: str = "") -> Printed:
    """Return what two tools must have in common: no stack frames, exceptions, ids, orders."""
    return Printed(printed.code, _plain(printed.out, side), _plain(printed.err, side))


def _plain(text: str, side: str) -> str:
    lines: list[str] = []
    for line in _rows_in_order(text.splitlines()):
        if line.startswith("Option    "):
            break  # the list of options has our own words
        if not re.match(r"\tat |\t\.\.\. \d+ more| at \[Source|\[.*\] ERROR | \(org\.apache", line):
            words = _without_java(line)
            if words == line or not any(words in earlier for earlier in lines):
                lines.append(_in_order(words))
    plain = "\n".join(line for line in lines if line)
    plain = plain.replace("are active.Clearing", "are active.\nClearing")
    plain = plain.replace(". Enable debug logging for additional detail.", "")
    plain = re.sub(r'"log_dirs":\[[^\]]*\]', '"log_dirs":[]', plain)
    plain = re.sub(r"TopicId: \S+", "TopicId: ID", plain)
    return plain.replace(f"-{side}", "") if side else plain


def _rows_in_order(lines: list[str]) -> list[str]:
    """Sort the rows of offsets, which Kafka prints in any order."""
    starts = [at for at, line in enumerate(lines) if line.startswith("GROUP ") and " LAG " in line]
    for start in starts:
        end = lines.index("", start) if "" in lines[start:] else len(lines)
        lines[start + 1 : end] = sorted(lines[start + 1 : end])
    return lines


def _without_java(line: str) -> str:
    """Leave out the names of exceptions, which Kafka's tools print and ours do not."""
    line = line.replace("java.nio.file.NoSuchFileException: ", "there is no file ")
    line = re.sub(r"(?:[a-z]\w*\.)+[A-Z]\w*Exception: ", "", line)
    return re.sub(r'^(Caused by: |\tSuppressed: |Exception in thread "main" )', "", line)


def _in_order(line: str) -> str:
    """Sort the parts of a line that Kafka prints in any order."""
    for start in ("Configs: ", "for partitions ", "elected for partitions "):
        head, found, rest = line.partition(start)
        if found:
            return head + found + ",".join(sorted(re.split(r", ?", rest)))
    return line
