"""``kafka-leader-election``: has leaders elected.

Source: LeaderElectionCommand.java.
"""

from __future__ import annotations

from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.command import Tool, ToolCommand, connect, read_file, show_with_trace
from jbodlab.kafka_tools.core.elections import (
    OPTIONS,
    NotElected,
    check_words,
    describe_results,
    election_type,
    failures,
    parse_partitions,
)
from jbodlab.kafka_tools.core.failures import (
    RUNTIME,
    ToolFailure,
    answered,
    command_failed,
    executed,
)
from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.questions import raise_for
from jbodlab.kafka_tools.report import Report
from protocol.admin.elections import ElectionType, elect_outcomes, elect_request
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition

_TIMEOUTS_MS: Final = (15_000, 30_000)
_TEXTS: Final = {
    ErrorCode.REQUEST_TIMED_OUT: "Timeout waiting for election results",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Not authorized to perform leader election",
}


def _run(words: Words, report: Report) -> None:
    check_words(words)
    partitions = _partitions(words)
    kind = election_type(words.value("election-type"))
    with connect(TOOL, words, _TIMEOUTS_MS) as client:
        try:
            results = elect(client, kind, partitions)
        except KafkaError as error:
            text = _TEXTS.get(error.code, "Error while making request")
            report.say(text)
            raise command_failed(text, executed(error)) from error
    for line in describe_results(kind, results):
        report.say(line)
    failed = failures(results)
    codes = {str(each): error.code.name if error else "NONE" for each, error in results.items()}
    report.note("type", kind.name)
    report.note("partitions", codes)
    if failed:
        raise NotElected(list(failed.values()))


def elect(
    client: ClusterClient, kind: ElectionType, partitions: list[TopicPartition] | None
) -> dict[TopicPartition, KafkaError | None]:
    """Have leaders elected; return the partitions' errors, None for success.

    Args:
        client: the cluster.
        kind: which replicas may lead.
        partitions: None for all that need it.

    Raises:
        KafkaError: all were refused.
        ToolFailure: the controller does not answer.
    """
    request = elect_request(kind, partitions, timeout_ms=client.settings.request_timeout_ms)
    outcomes = elect_outcomes(client.ask_controller(request))
    raise_for(outcomes.whole.code)
    return {tp: _error(*outcome) for tp, outcome in outcomes.parts.items()}


def _partitions(words: Words) -> list[TopicPartition] | None:
    if words.has("topic"):
        return [TopicPartition(words.value("topic"), words.number("partition", 0))]
    if words.has("path-to-json-file"):
        return parse_partitions(_read(words.value("path-to-json-file")))
    return None


def _read(path: str) -> str:
    try:
        return read_file(path)
    except ToolFailure as failure:
        raise ToolFailure(RUNTIME, failure.headline, failure) from failure


def _error(code: int, message: str | None) -> KafkaError | None:
    return answered(code, message) if code != ErrorCode.NONE else None


TOOL: Final = Tool(
    name="kafka-leader-election",
    client_id="leader-election-tool",
    summary="Have leaders of partitions elected.",
    options=OPTIONS,
    run=_run,
    show_bad_words=show_with_trace,
    show_failure=show_with_trace,
    config_options=("command-config", "admin.config"),
)
kafka_leader_election: Final = ToolCommand(TOOL)
