"""Which names a plan knows, and what is wrong with one that it does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from protocol.document_shape import did_you_mean
from protocol.errors import ErrorCode
from simulation.core.actions import CreateTopic
from simulation.core.plan import Plan
from simulation.core.references import (
    ALL,
    Means,
    partition_named,
    partition_of_log_dir,
    role_and_partition,
)

NO_SUCH: Final = "no-such"
"""A topic whose name begins so is meant not to exist."""
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_NEW_NAME: Final = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")


class KnownNames:
    """The names that one plan gives."""

    def __init__(self, plan: Plan) -> None:
        created = [action.name for action in plan.actions if isinstance(action, CreateTopic)]
        self._topics = [*(topic.name for topic in plan.cluster.topics), *created]
        self._nodes = plan.cluster.node_names
        self._log_dirs = plan.cluster.log_dir_names
        self._workloads = [workload.name for workload in plan.workloads]
        self._faults = plan.fault_names

    def mistake(self, means: Means, text: str) -> str | None:
        """Return what is wrong with ``text`` as such a name, or None."""
        checks: dict[Means, Callable[[], str | None]] = {
            Means.NODE: lambda: self._node(means, text),
            Means.BROKER: lambda: self._node(means, text),
            Means.LOG_DIR: lambda: self._log_dir(text),
            Means.PARTITIONS: lambda: self._partitions(text),
            Means.TOPIC: lambda: self._topic(text),
            Means.WORKLOAD: lambda: _unknown("workload", text, self._workloads),
            Means.FAULT: lambda: _unknown("fault", text, [ALL, *self._faults]),
            Means.FILE: lambda: _file_mistake(text),
        }
        return checks.get(means, lambda: _form_mistake(means, text))()

    def _node(self, means: Means, text: str) -> str | None:
        role = role_and_partition(text)
        if role is not None:
            return self._topic(role[1].topic)
        known = self._nodes if means is Means.NODE else self._nodes[1:]
        if text in known:
            return None
        return (
            f"must be one of {', '.join(known)}, leader of orders-0 or follower of orders-0, "
            f"is {text!r}"
        )

    def _log_dir(self, text: str) -> str | None:
        partition = partition_of_log_dir(text)
        if partition is not None:
            return self._topic(partition.topic)
        if text in {ALL, *self._log_dirs} or text.startswith("/"):
            return None
        return f"must be one of {', '.join(self._log_dirs)} or as in of orders-0, is {text!r}"

    def _partitions(self, text: str) -> str | None:
        partition = partition_named(text)
        if text == ALL:
            return None
        return self._topic(text if partition is None else partition.topic)

    def _topic(self, text: str) -> str | None:
        return None if text.startswith(NO_SUCH) else _unknown("topic", text, self._topics)


def _unknown(kind: str, text: str, known: Sequence[str]) -> str | None:
    if text in known:
        return None
    return f"there is no {kind} {text}{did_you_mean(text, list(known))}"


def _file_mistake(text: str) -> str | None:
    if text == "." or all(part not in {"", ".", ".."} for part in text.split("/")):
        return None
    return f"must be a path below the log dir, is {text!r}"


def _form_mistake(means: Means, text: str) -> str | None:
    if means is Means.CODE:
        names = [code.name for code in ErrorCode]
        return None if text in names else f"no code of Kafka's: {text}{did_you_mean(text, names)}"
    if means is Means.NEW_TOPIC:
        if partition_named(text) is not None:
            return f"must not end in a hyphen and a number, as partitions do, is {text!r}"
        ok, wanted = _TOPIC, "1 to 249 letters, digits, '.', '_' or '-'"
    else:
        ok, wanted = _NEW_NAME, "lower-case words joined by '-' or '_'"
    return None if ok.fullmatch(text) else f"must be {wanted}, is {text!r}"
