"""Files of kafka-reassign-partitions and what its output has in common; it runs nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tests.kafka_tools.tools import KafkaTools, Printed

Places: TypeAlias = Mapping[int, str]
"""Brokers in the order of the replicas, with a log dir or ``any``."""

EXECUTE = "kafka-reassign-partitions --execute"
VERIFY = "kafka-reassign-partitions --verify"
CANCEL = "kafka-reassign-partitions --cancel"
LIST = "kafka-reassign-partitions --list"


def document(plan: Mapping[tuple[str, int], Sequence[int] | Places]) -> dict[str, Any]:
    """Return a plan as the tool reads it; brokers without log dirs leave them out."""
    partitions: list[dict[str, Any]] = []
    for (topic, number), replicas in plan.items():
        row: dict[str, Any] = {
            "topic": topic,
            "partition": number,
            "replicas": list(replicas),
        }
        if isinstance(replicas, Mapping):
            row["log_dirs"] = list(replicas.values())
        partitions.append(row)
    return {"version": 1, "partitions": partitions}


class PlanFile:
    """The file that the next command reads."""

    def __init__(self, tools: KafkaTools, path: Path) -> None:
        self._tools = tools
        self._path = path

    def write(self, plan: Mapping[tuple[str, int], Sequence[int] | Places]) -> None:
        """Write a plan."""
        self._path.write_text(json.dumps(document(plan)))

    def write_text(self, text: str) -> None:
        """Write anything."""
        self._path.write_text(text)

    def run(self, command: str) -> Printed:
        """Run an action with the file."""
        option = "--topics-to-move" if "--generate" in command else "--reassignment"
        return self._tools.run(f"{command} {option}-json-file", str(self._path))

    def succeed(self, command: str) -> list[str]:
        """Run an action that must succeed; return its lines."""
        printed = self.run(command)
        assert (printed.code, printed.err) == (0, ""), printed
        return printed.lines


def error(printed: Printed) -> str:
    """Return the message of a failure that the tool shows with its stack."""
    assert (printed.code, printed.err) == (1, "")
    first = next(line for line in printed.lines if line.startswith("Error: "))
    return first.removeprefix("Error: ")


def terse_error(printed: Printed) -> str:
    """Return the message of a failure that the tool shows alone."""
    assert (printed.code, printed.err) == (1, "")
    return printed.out.rstrip("\n")
