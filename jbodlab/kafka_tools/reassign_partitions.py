"""``kafka-reassign-partitions``: moves replicas between brokers and log dirs.

Source: ReassignPartitionsCommand.java.
"""

from __future__ import annotations

from typing import Final

from jbodlab.kafka_tools.command import Tool, ToolCommand, connect, read_file
from jbodlab.kafka_tools.core.failures import ToolFailure, told
from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.core.reassignment_file import parse_plan, parse_topics
from jbodlab.kafka_tools.core.reassignment_start import parse_brokers
from jbodlab.kafka_tools.core.reassignment_words import OPTIONS, check_words
from jbodlab.kafka_tools.reassignment_actions import HowToExecute, Reassigner
from jbodlab.kafka_tools.report import Report

_TIMEOUT_MS: Final = 10_000


def _run(words: Words, report: Report) -> None:
    action = check_words(words)
    with connect(TOOL, words) as client:
        reassigner = Reassigner(client, report)
        match action:
            case "list":
                reassigner.list()
            case "generate":
                _generate(reassigner, words)
            case "execute":
                _execute(reassigner, words)
            case _:
                _verify_or_cancel(reassigner, words, action)


def _generate(reassigner: Reassigner, words: Words) -> None:
    text = read_file(words.value("topics-to-move-json-file"))
    brokers = parse_brokers(words.value("broker-list"))
    is_rack_aware = not words.has("disable-rack-aware")
    reassigner.generate(parse_topics(text), brokers, is_rack_aware=is_rack_aware)


def _execute(reassigner: Reassigner, words: Words) -> None:
    text = read_file(words.value("reassignment-json-file"))
    how = HowToExecute(
        is_additional=words.has("additional"),
        rate=words.number("throttle", -1, bits=64),
        log_dir_rate=words.number("replica-alter-log-dirs-throttle", -1, bits=64),
        timeout_ms=words.number("timeout", _TIMEOUT_MS, bits=64),
    )
    reassigner.execute(parse_plan(text), how)


def _verify_or_cancel(reassigner: Reassigner, words: Words, action: str) -> None:
    plan = parse_plan(read_file(words.value("reassignment-json-file")))
    keeps_throttles = words.has("preserve-throttles")
    if action == "verify":
        reassigner.verify(plan, keeps_throttles=keeps_throttles)
        return
    timeout_ms = words.number("timeout", _TIMEOUT_MS, bits=64)
    reassigner.cancel(plan, keeps_throttles=keeps_throttles, timeout_ms=timeout_ms)


def _show_bad_words(failure: ToolFailure, report: Report) -> None:
    report.complain(failure.message)


def _show_failure(failure: ToolFailure, report: Report) -> None:
    report.say(told([f"Error: {failure.message}", *failure.trace(), ""]))


TOOL: Final = Tool(
    name="kafka-reassign-partitions",
    client_id="reassign-partitions-tool",
    summary="Move replicas between brokers and log dirs.",
    options=OPTIONS,
    run=_run,
    show_bad_words=_show_bad_words,
    show_failure=_show_failure,
)
kafka_reassign_partitions: Final = ToolCommand(TOOL)
