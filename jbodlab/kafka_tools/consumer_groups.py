"""``kafka-consumer-groups``: lists, describes and deletes groups; sets and deletes offsets.

Source: ConsumerGroupCommand.java.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.command import Tool, ToolCommand, connect, show_with_trace
from jbodlab.kafka_tools.core.failures import RUNTIME, ToolFailure, default_text, told
from jbodlab.kafka_tools.core.group_report import (
    OffsetRow,
    deletion_lines,
    listing_lines,
    member_document,
    member_lines,
    missing,
    offset_document,
    offset_lines,
    offset_rows,
    remark,
    reset_document,
    reset_lines,
    state_lines,
)
from jbodlab.kafka_tools.core.group_words import (
    NO_ACTION,
    OPTIONS,
    all_named,
    check_scope,
    check_words,
    named_partitions,
    wanted_states,
    wanted_types,
)
from jbodlab.kafka_tools.core.offset_resets import plan_lines
from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.group_questions import (
    commit,
    delete_group,
    delete_offsets,
    describe_committed,
    describe_group,
    find_leaders,
    list_groups,
    list_offsets,
)
from jbodlab.kafka_tools.offset_resets import WantedOffsets
from jbodlab.kafka_tools.questions import describe_topics
from jbodlab.kafka_tools.report import Report
from protocol.admin.cluster import BrokerView
from protocol.admin.groups import DEAD, GroupView
from protocol.errors import ErrorCode, KafkaError
from protocol.ids import TopicPartition
from protocol.messages.offsets import LATEST

_TIMEOUT_MS: Final = 5000
_RESETTABLE: Final = ("Empty", DEAD)
_OF_PARTITIONS: Final = (
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class _Told(ToolFailure):
    """Failures that are told as they are, each in a line; the rest of the command was done."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(RUNTIME, "\n".join(lines))


def _run(words: Words, report: Report) -> None:
    action = check_words(words)
    timeout_ms = words.number("timeout", _TIMEOUT_MS)
    if action == "reset-offsets":
        if not words.given(("dry-run", "execute")):
            report.complain(NO_ACTION)
        check_scope(words)
    with connect(TOOL, words, (timeout_ms, timeout_ms)) as client:
        _ACTIONS[action](client, words, report)


def _list(client: ClusterClient, words: Words, report: Report) -> None:
    states, types = wanted_states(words), wanted_types(words)
    groups = [
        each
        for each in list_groups(client)
        if (not states or each.state in states) and (not types or each.type in types)
    ]
    lines = listing_lines(groups, has_type=words.has("type"), has_state=words.has("state"))
    for line in lines:
        report.say(line)
    report.note(
        "groups",
        [
            {"group": each.group, "type": each.type or None, "state": each.state or None}
            for each in groups
        ],
    )


def _describe(client: ClusterClient, words: Words, report: Report) -> None:
    found = [describe_group(client, group) for group in _wanted_groups(client, words)]
    documents: list[object] = []
    for view, coordinator in sorted(found, key=lambda each: each[0].group):
        if view.state == DEAD:
            continue
        said = remark(view)
        if said:
            report.complain(said)
        documents.append(_describe_one(client, view, coordinator, words, report))
    report.note("groups", documents)
    absent = [missing(view) for view, _ in found if missing(view)]
    if absent:
        raise _Told(absent)


def _describe_one(
    client: ClusterClient,
    view: GroupView,
    coordinator: BrokerView,
    words: Words,
    report: Report,
) -> dict[str, object]:
    """Write about one group as the command line wants it; return its document."""
    document: dict[str, object] = {
        "group": view.group,
        "state": view.state,
        "assignor": view.assignor,
        "coordinator": coordinator.id,
    }
    if words.has("state"):
        lines = state_lines(view, coordinator)
        document["members"] = len(view.members)
    elif words.has("members"):
        lines = member_lines(view, is_verbose=words.has("verbose"))
        document["members"] = [member_document(each) for each in view.members]
    else:
        rows = _offset_rows(client, view)
        lines = offset_lines(rows)
        document["offsets"] = [offset_document(row) for row in rows]
    for line in lines:
        report.say(line)
    return document


def _offset_rows(client: ClusterClient, view: GroupView) -> list[OffsetRow]:
    committed = describe_committed(client, view.group)
    partitions = {*committed, *(tp for member in view.members for tp in member.assignment)}
    # Where nobody leads nobody knows the end; the others are still worth a line.
    led = [tp for tp, leader in find_leaders(client, sorted(partitions)).items() if leader >= 0]
    return offset_rows(view, committed, list_offsets(client, led, LATEST))


def _delete(client: ClusterClient, words: Words, report: Report) -> None:
    deleted: list[str] = []
    failed: list[str] = []
    for group in _wanted_groups(client, words):
        try:
            delete_group(client, group)
        except KafkaError as error:
            failed.append(f"* Group '{group}' could not be deleted due to: {error.message}")
        else:
            deleted.append(group)
    names = ", ".join(deleted)
    report.note("deleted", deleted)
    if not failed:
        report.say(f"Deletion of requested consumer groups ('{names}') was successful.")
        return
    if deleted:
        report.say(f"\nThese consumer groups were deleted successfully: '{names}'")
    raise _Told(["Deletion of some consumer groups failed:", *failed])


def _reset(client: ClusterClient, words: Words, report: Report) -> None:
    wanted = WantedOffsets(client, words, report)
    resets: dict[str, dict[TopicPartition, int]] = {}
    failed: list[str] = []
    for group in _wanted_groups(client, words):
        view, _ = describe_group(client, group)
        if view.state not in _RESETTABLE:
            failed.append(
                f"Assignments can only be reset if the group '{group}' is inactive, but the "
                f"current state is {view.state}."
            )
            continue
        offsets = wanted.of_group(group)
        if offsets is None:
            failed.append(f"No reset plan for group {group} found")
            continue
        if words.has("execute"):
            commit(client, group, offsets)
        resets[group] = offsets
    is_export = words.has("export")
    has_groups = len(words.values("group")) != 1
    lines = plan_lines(resets, has_groups=has_groups) if is_export else reset_lines(resets)
    for line in lines:
        report.say(line)
    report.note("executed", words.has("execute"))
    report.note("offsets", reset_document(resets))
    if failed:
        raise _Told(failed)


def _delete_offsets(client: ClusterClient, words: Words, report: Report) -> None:
    group, topics = words.value("group"), words.values("topic")
    named = named_partitions(topics)
    found = describe_topics(client, named.whole_topics)
    sizes = {name: [each.tp for each in topic.partitions] for name, topic in found.items()}
    partitions = all_named(named, sizes)
    outcomes = delete_offsets(client, group, partitions)
    codes = {tp: outcomes.of(tp).code for tp in partitions}
    codes |= {
        TopicPartition(topic, -1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        for topic in named.whole_topics
        if topic not in sizes
    }
    failed = [code for code in (outcomes.whole.code, *codes.values()) if code]
    if not failed:
        report.say(
            f"Request succeed for deleting offsets with topic {', '.join(topics)} group {group}"
        )
    statuses = {
        tp: f"Error: {default_text(code)}" if code else "Successful" for tp, code in codes.items()
    }
    for line in deletion_lines(statuses):
        report.say(line)
    report.note(
        "offsets",
        [{"topic": tp.topic, "partition": tp.partition, "error": codes[tp].name} for tp in codes],
    )
    if failed:
        raise _Told([_deletion_error(group, failed[0])])


def _deletion_error(group: str, code: ErrorCode) -> str:
    match code:
        case ErrorCode.INVALID_GROUP_ID:
            return f"'{group}' is not valid."
        case ErrorCode.GROUP_ID_NOT_FOUND:
            return f"'{group}' does not exist."
        case ErrorCode.GROUP_AUTHORIZATION_FAILED:
            return f"Access to '{group}' is not authorized."
        case ErrorCode.NON_EMPTY_GROUP:
            return (
                f"Deleting offsets of a consumer group '{group}' is forbidden if the group is not "
                "empty."
            )
        case _ if code in _OF_PARTITIONS:
            return "Encounter some partition level error, see the follow-up details:"
        case _:
            return f"Encounter some unknown error: {code.name}"


def _wanted_groups(client: ClusterClient, words: Words) -> list[str]:
    if words.has("all-groups"):
        return [each.group for each in list_groups(client)]
    return list(dict.fromkeys(words.values("group")))


def _show_failure(failure: ToolFailure, report: Report) -> None:
    message = told([failure.message])
    if not isinstance(failure, _Told):
        message = f"Executing consumer group command failed due to {message}"
    report.complain(f"\nError: {message}")


_ACTIONS: Final = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "reset-offsets": _reset,
    "delete-offsets": _delete_offsets,
}
TOOL: Final = Tool(
    name="kafka-consumer-groups",
    client_id="consumer-groups-tool",
    summary="List, describe, delete groups and reset offsets.",
    options=OPTIONS,
    run=_run,
    show_bad_words=show_with_trace,
    show_failure=_show_failure,
)
kafka_consumer_groups: Final = ToolCommand(TOOL)
