"""``kafka-log-dirs``: what lies in the log dirs of brokers, as JSON.

Source: LogDirsCommand.java.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.command import Tool, ToolCommand, connect, show_with_trace
from jbodlab.kafka_tools.core.failures import ToolFailure
from jbodlab.kafka_tools.core.log_dirs_json import brokers_document, compact_json, items, numbers
from jbodlab.kafka_tools.core.options import Option, Words, check_required
from jbodlab.kafka_tools.questions import describe_log_dirs
from jbodlab.kafka_tools.report import Report

OPTIONS: Final = (
    Option("bootstrap-server", "REQUIRED: brokers to begin with.", "host:port,..."),
    Option("describe", "Describe the log dirs of brokers."),
    Option("broker-list", 'The brokers, as in "0,1,2". All when it is left out.', "ids"),
    Option("topic-list", 'The topics, as in "a,b". All when it is left out.', "names"),
    Option("command-config", "Properties file for the connection.", "file"),
)


class _UnknownBrokers(ToolFailure):
    """Shown without a stack trace."""

    def trace(self) -> list[str]:
        """Return nothing."""
        return []


def _run(words: Words, report: Report) -> None:
    check_required(words, ["bootstrap-server", "describe"])
    brokers = numbers(words.value("broker-list"))
    topics = items(words.value("topic-list"))
    with connect(TOOL, words) as client:
        asked = brokers or sorted(client.nodes())
        _check_known(client, asked)
        report.say("Querying brokers for log directories information")
        found = {broker: describe_log_dirs(client, broker) for broker in asked}
    report.say(f"Received log directory information from brokers {','.join(map(str, asked))}")
    document = brokers_document(found, topics)
    report.say(compact_json(document))
    for key, value in document.items():
        report.note(key, value)


def _check_known(client: ClusterClient, asked: Sequence[int]) -> None:
    known = sorted(client.nodes())
    unknown = [broker for broker in asked if broker not in known]
    if unknown:
        raise _UnknownBrokers(
            "",
            "ERROR: The given brokers do not exist from --broker-list: "
            f"{','.join(map(str, unknown))}. Current existent brokers: "
            f"{','.join(map(str, known))}",
        )


TOOL: Final = Tool(
    name="kafka-log-dirs",
    client_id="log-dirs-tool",
    summary="Query what lies in the log dirs of brokers.",
    options=OPTIONS,
    run=_run,
    show_bad_words=show_with_trace,
    show_failure=show_with_trace,
)
kafka_log_dirs: Final = ToolCommand(TOOL)
