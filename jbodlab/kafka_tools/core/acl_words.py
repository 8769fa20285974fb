"""The command line of ``kafka-acls``: its options, which go together, and the ACLs that they mean.

Source: AclCommand.scala (3.9), AclCommand.java (4.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from jbodlab.kafka_tools.core.failures import ILLEGAL_ARGUMENT, ToolFailure, UsageFailure
from jbodlab.kafka_tools.core.options import Option, Words, check_forbidden
from protocol.acls.model import (
    CLUSTER_NAME,
    OPERATIONS,
    WILDCARD,
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.security.delegation_tokens import principal_from_text

OPTIONS: Final = (
    Option("add", "Add ACLs."),
    Option("allow-host", "From where --allow-principal may; from everywhere without it.", "host"),
    Option("allow-principal", "Who may, as User:alice; User:* is everybody.", "principal"),
    Option("bootstrap-server", "REQUIRED: brokers to begin with.", "host:port,..."),
    Option("cluster", "About the cluster."),
    Option("command-config", "Properties file for the connection.", "file"),
    Option("consumer", "What a consumer needs: READ, DESCRIBE of --topic, READ of --group."),
    Option("delegation-token", "About a delegation token.", "id"),
    Option("deny-host", "From where --deny-principal may not.", "host"),
    Option("deny-principal", "Who may not, whatever else allows it.", "principal"),
    Option("force", "Ask nothing before ACLs are removed."),
    Option("group", "About a group; * is all groups.", "group"),
    Option("idempotent", "With --producer: IDEMPOTENT_WRITE of the cluster."),
    Option("list", "List ACLs."),
    Option("operation", "What may be done, as Read; All without it.", "operation"),
    Option("principal", "With --list: ACLs of these alone.", "principal"),
    Option(
        "producer",
        "What a producer needs: WRITE, DESCRIBE, CREATE of --topic, WRITE, DESCRIBE of "
        "--transactional-id.",
    ),
    Option("remove", "Remove ACLs."),
    Option(
        "resource-pattern-type",
        "literal or prefixed; to list and remove also any, and match: all that are about the name.",
        "type",
    ),
    Option("topic", "About a topic; * is all topics.", "topic"),
    Option("transactional-id", "About a transactional id.", "id"),
    Option("user-principal", "About tokens of a user.", "principal"),
)
ACTIONS: Final = ("add", "remove", "list")
_KINDS: Final = {
    "topic": AclResourceType.TOPIC,
    "group": AclResourceType.GROUP,
    "transactional-id": AclResourceType.TRANSACTIONAL_ID,
    "delegation-token": AclResourceType.DELEGATION_TOKEN,
    "user-principal": AclResourceType.USER,
}
_CLUSTER: Final = ResourcePattern(AclResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
_NO_RESOURCE: Final = (
    "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
    "--delegation-token <Delegation Token ID>"
)
_FOR_CONSUMERS: Final = (
    "With --consumer you must specify a --topic and a --group and no --cluster or "
    "--transactional-id option should be specified."
)


class Entry(NamedTuple):
    """Who may do what, or may not, from where."""

    principal: str
    host: str
    operation: AclOperation
    permission: PermissionType


def check_words(words: Words) -> str:
    """Check which options go together, and return the action.

    Raises:
        UsageFailure: one is missing or one too many.
    """
    if not words.has("bootstrap-server"):
        raise UsageFailure("One of --bootstrap-server or --bootstrap-controller must be specified")
    given = words.given(ACTIONS)
    if len(given) != 1:
        raise UsageFailure("Command must include exactly one action: --list, --add, --remove. ")
    hosts_and_principals = ("allow-host", "deny-host", "allow-principal", "deny-principal")
    check_forbidden(words, "list", ("producer", "consumer", *hosts_and_principals))
    for role in ("producer", "consumer"):
        check_forbidden(words, role, ("operation", "deny-principal", "deny-host"))
    if words.has("principal") and not words.has("list"):
        raise UsageFailure("The --principal option is only available if --list is set")
    if words.has("producer") and not words.has("topic"):
        raise UsageFailure("With --producer you must specify a --topic")
    if words.has("idempotent") and not words.has("producer"):
        raise UsageFailure("The --idempotent option is only available if --producer is set")
    is_alone = words.has("consumer") and not words.has("producer")
    has_more = is_alone and words.given(("cluster", "transactional-id"))
    if words.has("consumer") and (has_more or len(words.given(("topic", "group"))) < 2):
        raise UsageFailure(_FOR_CONSUMERS)
    return given[0]


def patterns(words: Words, *, must_be_some: bool) -> list[ResourcePattern]:
    """Return the resources that the options name.

    Raises:
        UsageFailure: there are none, or they are of no type of pattern.
    """
    kind = _pattern_type(words)
    found = [
        ResourcePattern(of, name.strip(), kind)
        for option, of in _KINDS.items()
        for name in words.values(option)
    ]
    if kind is PatternType.LITERAL and words.given(("cluster", "idempotent")):
        found.append(_CLUSTER)
    if not found and must_be_some:
        raise UsageFailure(_NO_RESOURCE)
    return list(dict.fromkeys(found))


def principals(words: Words, option: str) -> list[str]:
    """Return the principals that follow an option.

    Raises:
        ToolFailure: one has no type or no name.
    """
    try:
        found = [str(principal_from_text(each.strip())) for each in words.values(option)]
    except ValueError as error:
        raise ToolFailure(ILLEGAL_ARGUMENT, str(error)) from error
    return list(dict.fromkeys(found))


def entries_to_add(words: Words) -> dict[ResourcePattern, list[Entry]]:
    """Return what is to be added.

    Raises:
        UsageFailure: nothing is, or it cannot be.
    """
    kind = _pattern_type(words)
    if kind not in (PatternType.LITERAL, PatternType.PREFIXED):
        text = f"A '--resource-pattern-type' value of '{kind.name}' is not valid when adding acls."
        raise UsageFailure(text)
    found = entries(words)
    if not all(found.values()):
        raise UsageFailure(
            "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
        )
    return found


def entries(words: Words) -> dict[ResourcePattern, list[Entry]]:
    """Return by resource what the options say; nothing stands for all ACLs of a resource.

    Raises:
        UsageFailure: no resource is named, or one does not know an operation.
    """
    op, kinds = AclOperation, AclResourceType
    named = patterns(words, must_be_some=True)
    wanted: dict[ResourcePattern, list[AclOperation]] = {}

    def need(kind: AclResourceType, *operations: AclOperation) -> None:
        for pattern in named:
            if pattern.resource_type is kind:
                wanted.setdefault(pattern, []).extend(operations)

    if words.has("producer"):
        need(kinds.TOPIC, op.WRITE, op.DESCRIBE, op.CREATE)
        need(kinds.TRANSACTIONAL_ID, op.WRITE, op.DESCRIBE)
        if words.has("idempotent"):
            wanted[_CLUSTER] = [op.IDEMPOTENT_WRITE]
    if words.has("consumer"):
        need(kinds.TOPIC, op.READ, op.DESCRIBE)
        need(kinds.GROUP, op.READ)
    if not words.given(("producer", "consumer")):
        asked = [_operation(each.strip()) for each in words.values("operation")] or [op.ALL]
        wanted = dict.fromkeys(named, asked)
    found = {pattern: _entries(words, operations) for pattern, operations in wanted.items()}
    for pattern, each in found.items():
        _check_operations(pattern.resource_type, each)
    return found


def pattern_text(pattern: ResourcePattern) -> str:
    """Return Kafka's text of a resource, or of a filter of resources."""
    kind, name, of = pattern
    return f"ResourcePattern(resourceType={kind.name}, name={name}, patternType={of.name})"


def entry_lines(found: Iterable[Entry]) -> str:
    """Return Kafka's lines of what belongs to one resource."""
    return " \n " + "\n".join(f"\t{_entry_text(each)}" for each in sorted(found)) + " \n"


def acl_text(pattern: ResourcePattern, entry: Entry) -> str:
    """Return Kafka's text of one ACL."""
    return f"(pattern={pattern_text(pattern)}, entry={_entry_text(entry)})"


def by_pattern(acls: Iterable[AclBinding]) -> dict[ResourcePattern, list[Entry]]:
    """Return ACLs by resource."""
    found: dict[ResourcePattern, list[Entry]] = {}
    for acl in acls:
        entry = Entry(acl.principal, acl.host, acl.operation, acl.permission)
        found.setdefault(acl.pattern, []).append(entry)
    return found


def document(found: dict[ResourcePattern, list[Entry]]) -> list[dict[str, str]]:
    """Return ACLs for programs."""
    return [
        {
            "resource_type": pattern.resource_type.name,
            "name": pattern.name,
            "pattern_type": pattern.pattern_type.name,
            "principal": entry.principal,
            "host": entry.host,
            "operation": entry.operation.name,
            "permission_type": entry.permission.name,
        }
        for pattern, of_pattern in found.items()
        for entry in sorted(of_pattern)
    ]


def _entry_text(entry: Entry) -> str:
    return (
        f"(principal={entry.principal}, host={entry.host}, operation={entry.operation.name}, "
        f"permissionType={entry.permission.name})"
    )


def _entries(words: Words, operations: list[AclOperation]) -> list[Entry]:
    sides = (("allow", PermissionType.ALLOW), ("deny", PermissionType.DENY))
    found = [
        Entry(principal, host.strip(), operation, permission)
        for side, permission in sides
        for principal in principals(words, f"{side}-principal")
        for operation in operations
        for host in words.values(f"{side}-host") or (WILDCARD,)
    ]
    return list(dict.fromkeys(found))


def _check_operations(kind: AclResourceType, found: list[Entry]) -> None:
    known = (*OPERATIONS[kind], AclOperation.ALL)
    if any(each.operation not in known for each in found):
        names = ", ".join(each.name for each in known)
        raise UsageFailure(f"ResourceType {kind.name} only supports operations {names}")


def _operation(text: str) -> AclOperation:
    by_name = {each.name.title().replace("_", ""): each for each in AclOperation}
    by_name |= {each.name: each for each in AclOperation}
    return by_name.get(text, AclOperation.UNKNOWN)


def _pattern_type(words: Words) -> PatternType:
    text = words.value("resource-pattern-type", "literal")
    found = {each.name: each for each in PatternType if each}.get(text.upper())
    if found is None:
        raise UsageFailure(f"Cannot parse argument '{text}' of option resource-pattern-type")
    return found
