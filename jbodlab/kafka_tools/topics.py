"""``kafka-topics``: lists, describes, creates, grows and deletes topics.

Source: TopicCommand.java.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.command import Tool, ToolCommand, connect, show_with_trace
from jbodlab.kafka_tools.core.failures import (
    TerseFailure,
    ToolFailure,
    from_kafka,
)
from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.core.topic_report import Described, lines_of, topic_document
from jbodlab.kafka_tools.core.topic_words import (
    OPTIONS,
    check_counts,
    check_found,
    check_words,
    chosen_topics,
    topic_id_of,
    wanted_topic,
    warning_for,
)
from jbodlab.kafka_tools.questions import (
    describe_configs,
    describe_topic_ids,
    describe_topics,
    describe_topics_in_pages,
    list_reassignments,
    list_topics,
)
from jbodlab.kafka_tools.report import Report
from jbodlab.kafka_tools.topic_orders import create_topic, delete_topics, grow_topics
from protocol.admin.cluster import TopicView
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import ZERO_UUID

_PAGE: Final = 2000


def _run(words: Words, report: Report) -> None:
    action = check_words(words)
    try:
        with connect(TOOL, words) as client:
            _act(client, action, words, report)
    except ToolFailure as failure:
        raise TerseFailure(f"Error while executing topic command : {failure.message}") from failure
    except KafkaError as error:
        message = from_kafka(error).message
        raise TerseFailure(f"Error while executing topic command : {message}") from error


def _act(client: ClusterClient, action: str, words: Words, report: Report) -> None:
    match action:
        case "create":
            _create(client, words, report)
        case "list":
            names = _chosen(client, words)
            report.say("\n".join(names))
            report.note("topics", names)
        case "alter":
            _grow(client, words, report)
        case "describe":
            _describe(client, words, report)
        case _:
            names = _existing(client, words)
            delete_topics(client, names)
            report.note("deleted", names)


def _create(client: ClusterClient, words: Words, report: Report) -> None:
    name = words.value("topic")
    topic = wanted_topic(words)
    warning = warning_for(name)
    if warning:
        report.say(warning)
    check_counts(topic)
    try:
        create_topic(client, name, topic)
    except KafkaError as error:
        if error.code is ErrorCode.TOPIC_ALREADY_EXISTS and words.has("if-not-exists"):
            return
        raise
    report.say(f"Created topic {name}.")
    report.note("created", {"topic": name, **asdict(topic)})


def _grow(client: ClusterClient, words: Words, report: Report) -> None:
    topic = wanted_topic(words)
    names = _existing(client, words)
    if names:
        sizes = {n: len(each.partitions) for n, each in describe_topics(client, names).items()}
        grow_topics(client, sizes, topic)
    report.note("altered", names)


def _describe(client: ClusterClient, words: Words, report: Report) -> None:
    topics = _described(client, words)
    configs = describe_configs(client, ResourceType.TOPIC, list(topics)) if topics else {}
    reassignments = list_reassignments(client) if topics else {}
    found = [
        Described(
            topic=topic,
            configs=configs[name],
            reassignments=reassignments,
            live_brokers=client.nodes(),
        )
        for name, topic in sorted(topics.items())
    ]
    for each in found:
        for line in lines_of(each, words):
            report.say(line)
    report.note("topics", [topic_document(each, words) for each in found])


def _described(client: ClusterClient, words: Words) -> dict[str, TopicView]:
    topic_id = words.value("topic-id")
    if topic_id:
        uuid = topic_id_of(topic_id)
        if uuid != ZERO_UUID:
            topics = describe_topic_ids(client, [uuid])
            check_found(list(topics), "TopicId", topic_id, words)
            return topics
    page = words.number("partition-size-limit-per-response", _PAGE)
    return describe_topics_in_pages(client, _existing(client, words), page)


def _existing(client: ClusterClient, words: Words) -> list[str]:
    names = _chosen(client, words)
    check_found(names, "Topic", words.value("topic"), words)
    return names


def _chosen(client: ClusterClient, words: Words) -> list[str]:
    pattern = words.value("topic") if words.has("topic") else None
    names = [name for name, _ in list_topics(client)]
    return chosen_topics(names, pattern, excludes_internal=words.has("exclude-internal"))


TOOL: Final = Tool(
    name="kafka-topics",
    client_id="topics-tool",
    summary="Create, delete, describe, or change topics.",
    options=OPTIONS,
    run=_run,
    show_bad_words=show_with_trace,
    show_failure=show_with_trace,
)
kafka_topics: Final = ToolCommand(TOOL)
