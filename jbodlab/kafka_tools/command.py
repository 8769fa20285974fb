"""A tool as a click command: reads the words Kafka's way, runs it, turns failures into exit codes.

It knows no tool.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click

from jbodlab.asking.java_properties import parse_properties
from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.failures import (
    CONFIG,
    IO,
    NO_SUCH_FILE,
    TerseFailure,
    ToolFailure,
    UsageFailure,
    from_kafka,
    told,
)
from jbodlab.kafka_tools.core.options import (
    EVERYWHERE,
    JSON,
    Option,
    Words,
    option_list,
    read_words,
)
from jbodlab.kafka_tools.core.properties import client_settings
from jbodlab.kafka_tools.report import Report
from protocol.errors import KafkaError
from protocol.security.client import security_by
from protocol.security.tls import SecurityConfigError

TIMEOUTS_MS: Final = (30_000, 60_000)
"""Of a request, and of a question with its retries."""
_OK: Final = 0
_FAILED: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """What one of Kafka's tools is."""

    name: str
    """Of the command, as ``kafka-topics``."""
    client_id: str
    """That brokers see."""
    summary: str
    options: tuple[Option, ...]
    run: Callable[[Words, Report], None]
    """May raise ToolFailure, TerseFailure, UsageFailure and KafkaError."""
    show_bad_words: Callable[[ToolFailure, Report], None]
    """Shows words that are no command line."""
    show_failure: Callable[[ToolFailure, Report], None]
    """Shows what ended the tool."""
    config_options: tuple[str, ...] = ("command-config",)


class ToolCommand(click.Command):
    """Takes all words as they are, ``--help`` among them."""

    def __init__(self, tool: Tool) -> None:
        super().__init__(tool.name, help=tool.summary, add_help_option=False)
        self._tool = tool

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep every word for the tool's own table."""
        ctx.args = args
        return args

    def invoke(self, ctx: click.Context) -> Any:
        """Run the tool and leave with its exit code."""
        ctx.exit(run_tool(self._tool, ctx.args))


def run_tool(tool: Tool, arguments: list[str]) -> int:
    """Run a tool and return its exit code, 0 or 1."""
    report = Report(is_json=f"--{JSON.name}" in arguments, arguments=arguments)
    table = (*tool.options, *EVERYWHERE)
    try:
        words = read_words(arguments, table)
    except ToolFailure as failure:
        tool.show_bad_words(failure, report)
        return _FAILED
    if words.has("version"):
        report.say(version("jbodlab"))
        return _OK
    if not words or words.has("help"):
        report.complain(f"{tool.summary}\n{option_list(table)}")
        return _FAILED
    return _run(tool, words, report)


def connect(tool: Tool, words: Words, timeouts_ms: tuple[int, int] = TIMEOUTS_MS) -> ClusterClient:
    """Return a client for the cluster of a command line; it connects when first used.

    Raises:
        ToolFailure: the file of ``--command-config`` cannot be read or makes no sense.
    """
    path = next((words.value(each) for each in tool.config_options if words.has(each)), None)
    properties = parse_properties(read_file(path)) if path else {}
    settings = client_settings(
        properties, words.value("bootstrap-server"), tool.client_id, timeouts_ms
    )
    try:
        security = security_by(properties, time.time_ns() // 1_000_000)
    except SecurityConfigError as error:
        raise ToolFailure(CONFIG, str(error)) from error
    return ClusterClient(settings, security=security)


def read_file(path: str) -> str:
    """Return a file's text.

    Raises:
        ToolFailure: it cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        missing = ToolFailure(NO_SUCH_FILE, path)
        raise ToolFailure(IO, f"Unable to read file {path}", missing) from error
    except (OSError, UnicodeDecodeError) as error:
        raise ToolFailure(IO, f"Unable to read file {path}", ToolFailure(IO, str(error))) from error


def show_with_trace(failure: ToolFailure, report: Report) -> None:
    """Show a failure on stderr: its message, then what it comes from."""
    report.complain(told([failure.message, *failure.trace()]))


def _run(tool: Tool, words: Words, report: Report) -> int:
    try:
        tool.run(words, report)
    except UsageFailure as failure:
        report.note("error", str(failure))
        report.complain(f"{failure}\n{option_list((*tool.options, *EVERYWHERE))}")
        return _FAILED
    except TerseFailure as failure:
        report.say(str(failure))
        return _failed(report, str(failure))
    except KafkaError as error:
        failure = from_kafka(error)
        tool.show_failure(failure, report)
        return _failed(report, failure.message)
    except ToolFailure as failure:
        tool.show_failure(failure, report)
        return _failed(report, failure.message)
    report.finish()
    return _OK


def _failed(report: Report, message: str) -> int:
    report.note("error", told([message]))
    report.finish()
    return _FAILED
