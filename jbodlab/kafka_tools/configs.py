"""``kafka-configs``: shows and changes settings of topics, brokers, loggers, groups and clients.

Source: ConfigCommand.scala.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from jbodlab.asking.java_properties import parse_properties
from jbodlab.kafka_tools import client_configs
from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.command import Tool, ToolCommand, connect
from jbodlab.kafka_tools.core.client_words import ClientEntities, client_entities
from jbodlab.kafka_tools.core.config_text import (
    check_changes,
    completed,
    entry_document,
    heading,
    line_of,
    shown,
)
from jbodlab.kafka_tools.core.config_words import (
    NAMED_BY_BROKER_ID,
    OPTIONS,
    Changes,
    Entity,
    check_action,
    check_words,
    parse_changes,
)
from jbodlab.kafka_tools.core.failures import (
    ILLEGAL_ARGUMENT,
    NO_SUCH_FILE,
    ToolFailure,
    executed,
    java_class,
    told,
)
from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.orders import alter_configs
from jbodlab.kafka_tools.questions import describe_configs, list_config_resources, list_topics
from jbodlab.kafka_tools.report import Report
from protocol.admin.configs import ConfigView
from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode, KafkaError

_SAID_IN_ONE_LINE: Final = (ILLEGAL_ARGUMENT, java_class(ErrorCode.INVALID_CONFIG))


def _run(words: Words, report: Report) -> None:
    check_action(words)
    entity = client_entities(words, report.arguments) or check_words(words)
    changes = parse_changes(words, _settings_file(words)) if words.has("alter") else None
    with connect(TOOL, words) as client:
        try:
            if isinstance(entity, ClientEntities):
                client_configs.serve(client, entity, changes, report)
            elif changes is None:
                _describe(client, entity, report, is_all=words.has("all"))
            else:
                _alter(client, entity, changes, report)
        except KafkaError as error:
            raise executed(error) from error


def _describe(client: ClusterClient, entity: Entity, report: Report, *, is_all: bool) -> None:
    described: list[dict[str, object]] = []
    for name in _names(client, entity):
        report.say(heading(entity, name, is_all=is_all))
        entries = shown(_settings_of(client, entity, name), entity, name, is_all=is_all)
        for entry in entries:
            report.say(line_of(entry))
        described.append({"name": name, "configs": [entry_document(each) for each in entries]})
    report.note(entity.type, described)


def _alter(client: ClusterClient, entity: Entity, changes: Changes, report: Report) -> None:
    name = entity.name or ""
    entries = _settings_of(client, entity, name)
    known = [each.name for each in shown(entries, entity, name, is_all=False)]
    check_changes(changes, entity, known)
    values: dict[str, str | None] = {**changes.added, **dict.fromkeys(changes.deleted)}
    alter_configs(client, entity.kind, {name: values})
    report.say(completed(entity))
    report.note("altered", {entity.singular: name, "configs": values})


def _names(client: ClusterClient, entity: Entity) -> list[str]:
    if entity.name is not None:
        return [entity.name]
    if entity.kind is ResourceType.TOPIC:
        return [name for name, _ in list_topics(client)]
    if entity.kind is ResourceType.GROUP:
        return list_config_resources(client, ResourceType.GROUP)
    return [*map(str, sorted(client.nodes())), ""]


def _settings_of(client: ClusterClient, entity: Entity, name: str) -> list[ConfigView]:
    broker_id = int(name) if name and entity.kind in NAMED_BY_BROKER_ID else None
    found = describe_configs(client, entity.kind, [name], broker_id=broker_id, with_synonyms=True)
    return found.get(name, [])


def _settings_file(words: Words) -> dict[str, str]:
    path = words.value("add-config-file")
    if not path:
        return {}
    try:
        return parse_properties(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ToolFailure(NO_SUCH_FILE, path) from error


def _show_bad_words(failure: ToolFailure, report: Report) -> None:
    report.complain(failure.message)


def _show_failure(failure: ToolFailure, report: Report) -> None:
    is_plain = failure.java_class in _SAID_IN_ONE_LINE or "joptsimple" in failure.java_class
    if is_plain:
        report.complain(failure.message)
        return
    arguments = " ".join(report.arguments)
    heading_line = f"Error while executing config command with args '{arguments}'"
    report.complain(told([heading_line, *failure.trace()]))


TOOL: Final = Tool(
    name="kafka-configs",
    client_id="config-command",
    summary="Show, change settings of topics, brokers, groups.",
    options=OPTIONS,
    run=_run,
    show_bad_words=_show_bad_words,
    show_failure=_show_failure,
)
kafka_configs: Final = ToolCommand(TOOL)
