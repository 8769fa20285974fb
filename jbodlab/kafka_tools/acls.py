"""``kafka-acls``: adds, removes and lists ACLs.

Source: AclCommand.scala (3.9), AclCommand.java (4.3).
"""

from __future__ import annotations

import sys
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.command import Tool, ToolCommand, connect
from jbodlab.kafka_tools.core.acl_words import (
    OPTIONS,
    Entry,
    acl_text,
    by_pattern,
    check_words,
    document,
    entries,
    entries_to_add,
    entry_lines,
    pattern_text,
    patterns,
    principals,
)
from jbodlab.kafka_tools.core.failures import ToolFailure, executed, told
from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.questions import raise_for
from jbodlab.kafka_tools.report import Report
from protocol.acls.model import AclBinding, AclOperation, PermissionType, ResourcePattern
from protocol.acls.requests import EVERY_ACL, bindings_of, creation_of, deleted_binding
from protocol.errors import KafkaError
from protocol.messages.acls import (
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsRequest,
)


def _run(words: Words, report: Report) -> None:
    action = check_words(words)
    with connect(TOOL, words) as client:
        try:
            _ACTIONS[action](client, words, report)
        except KafkaError as error:
            raise executed(error) from error


def _add(client: ClusterClient, words: Words, report: Report) -> None:
    added: dict[ResourcePattern, list[Entry]] = {}
    existing: dict[ResourcePattern, list[Entry]] = {}
    for pattern, wanted in entries_to_add(words).items():
        there = _described(client, [pattern]).get(pattern, [])
        existing[pattern] = [each for each in wanted if each in there]
        added[pattern] = [each for each in wanted if each not in there]
        for entry in sorted(existing[pattern]):
            report.say(f"Acl {acl_text(pattern, entry)} already exists.")
        if added[pattern]:
            lines = entry_lines(added[pattern])
            report.say(f"Adding ACLs for resource `{pattern_text(pattern)}`:{lines}")
            _create(client, pattern, added[pattern])
    report.note("added", document(added))
    report.note("existing", document(existing))


def _remove(client: ClusterClient, words: Words, report: Report) -> None:
    removed: list[AclBinding] = []
    for pattern, found in entries(words).items():
        what = f"delete all ACLs for resource filter `{pattern_text(pattern)}`"
        if found:
            from_filter = f" from resource filter `{pattern_text(pattern)}`"
            what = f"remove ACLs:{entry_lines(found)}{from_filter}"
        if words.has("force") or _is_confirmed(f"Are you sure you want to {what}? (y/n)", report):
            removed += _delete(client, pattern, found)
    report.note("removed", document(by_pattern(removed)))


def _list(client: ClusterClient, words: Words, report: Report) -> None:
    wanted = patterns(words, must_be_some=False)
    found = _described(client, wanted)
    asked = principals(words, "principal")
    report.note("acls", document(found))
    if not asked:
        _say(found, report)
    for principal in asked:
        report.say(f"ACLs for principal `{principal}`")
        own = {
            pattern: [each for each in of_pattern if each.principal == principal]
            for pattern, of_pattern in found.items()
        }
        _say({pattern: each for pattern, each in own.items() if each}, report)


def _say(found: dict[ResourcePattern, list[Entry]], report: Report) -> None:
    for pattern, of_pattern in sorted(found.items()):
        text = f"Current ACLs for resource `{pattern_text(pattern)}`:{entry_lines(of_pattern)}"
        report.say(text)


def _described(
    client: ClusterClient, wanted: list[ResourcePattern]
) -> dict[ResourcePattern, list[Entry]]:
    requests = [
        DescribeAclsRequest(
            resource_type_filter=pattern.resource_type,
            resource_name_filter=pattern.name,
            pattern_type_filter=pattern.pattern_type,
            principal_filter=None,
            host_filter=None,
            operation=AclOperation.ANY,
            permission_type=PermissionType.ANY,
        )
        for pattern in wanted
    ]
    found: dict[ResourcePattern, list[Entry]] = {}
    for request in requests or [EVERY_ACL]:
        answer = client.ask(request)
        raise_for(answer.error_code, answer.error_message)
        found |= by_pattern(bindings_of(answer.resources))
    return found


def _create(client: ClusterClient, pattern: ResourcePattern, found: list[Entry]) -> None:
    creations = [creation_of(AclBinding(pattern, *each)) for each in found]
    for result in client.ask(CreateAclsRequest(creations=creations)).results:
        raise_for(result.error_code, result.error_message)


def _delete(
    client: ClusterClient, pattern: ResourcePattern, found: list[Entry]
) -> list[AclBinding]:
    """Delete these, or all that a filter matches, and return those that there were."""
    every = (None, None, AclOperation.ANY, PermissionType.ANY)
    filters = [
        DeleteAclsFilter(
            resource_type_filter=pattern.resource_type,
            resource_name_filter=pattern.name,
            pattern_type_filter=pattern.pattern_type,
            principal_filter=principal,
            host_filter=host,
            operation=operation,
            permission_type=permission,
        )
        for principal, host, operation, permission in found or [every]
    ]
    gone: list[AclBinding] = []
    for result in client.ask(DeleteAclsRequest(filters=filters)).filter_results:
        raise_for(result.error_code, result.error_message)
        gone += [deleted_binding(acl) for acl in result.matching_acls]
    return gone


def _is_confirmed(question: str, report: Report) -> bool:
    report.say(question)
    return sys.stdin.readline().strip().lower() == "y"


def _show(failure: ToolFailure, report: Report) -> None:
    report.say(told([f"Error while executing ACL command: {failure.message}"]))


def _show_bad_words(failure: ToolFailure, report: Report) -> None:
    report.complain(failure.message)


_ACTIONS: Final = {"add": _add, "remove": _remove, "list": _list}
TOOL: Final = Tool(
    name="kafka-acls",
    client_id="acls-tool",
    summary="Add, remove, or list ACLs: who may do what.",
    options=OPTIONS,
    run=_run,
    show_bad_words=_show_bad_words,
    show_failure=_show,
)
kafka_acls: Final = ToolCommand(TOOL)
