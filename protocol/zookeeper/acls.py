"""ACLs as they stand in ZooKeeper. Source: AclEntry.scala, ZkAclStore of Kafka 3.9."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Final, TypeVar

from protocol.acls.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from protocol.zookeeper.paths import ACL_CHANGES, ACL_FOLDERS
from protocol.zookeeper.znodes import AclChangeZnode, AclEntry, AclsZnode, encode

_CHANGE: Final = "acl_changes_"
EnumT = TypeVar("EnumT", bound=IntEnum)


def _by_word(kind: type[EnumT]) -> dict[str, EnumT]:
    """Return the members that an ACL can have by Kafka's word, such as ``TransactionalId``."""
    return {
        "".join(part.capitalize() for part in member.name.split("_")): member
        for member in kind
        if member.name not in {"UNKNOWN", "ANY", "MATCH"}
    }


RESOURCE_TYPES: Final[Mapping[str, AclResourceType]] = _by_word(AclResourceType)
_OPERATIONS: Final = _by_word(AclOperation)
_PERMISSIONS: Final = _by_word(PermissionType)
_PATTERNS: Final[Mapping[str, PatternType]] = dict(
    zip(ACL_FOLDERS, (PatternType.LITERAL, PatternType.PREFIXED), strict=True)
)


_TYPE_WORDS: Final = {kind: word for word, kind in RESOURCE_TYPES.items()}
_OPERATION_WORDS: Final = {each: word for word, each in _OPERATIONS.items()}
_PERMISSION_WORDS: Final = {each: word for word, each in _PERMISSIONS.items()}


def acl_path(pattern: ResourcePattern) -> str:
    """Return where the ACLs of a pattern stand."""
    folder = next(each for each in ACL_FOLDERS if _PATTERNS[each] is pattern.pattern_type)
    return f"{folder}/{_TYPE_WORDS[pattern.resource_type]}/{pattern.name}"


def revised_acls(
    before: AclsZnode | None, added: Iterable[AclBinding], removed: Iterable[AclBinding]
) -> AclsZnode | None:
    """Return what a pattern's znode is to have after a change; None: it is to go, or to stay away.

    Entries stay in their order, those too whose words nobody knows here.
    """
    entries = dict.fromkeys(() if before is None else before.acls)
    entries.update(dict.fromkeys(map(_entry, added)))
    for each in map(_entry, removed):
        entries.pop(each, None)
    return AclsZnode(acls=list(entries)) if entries else None


def acl_change(pattern: ResourcePattern) -> tuple[str, bytes]:
    """Return prefix and body of the znode that tells brokers of a change."""
    literal, extended = ACL_CHANGES
    if pattern.pattern_type is PatternType.LITERAL:
        body = f"{_TYPE_WORDS[pattern.resource_type]}:{pattern.name}".encode()
        return f"{literal}/{_CHANGE}", body
    change = AclChangeZnode(
        resource_type=pattern.resource_type.name,
        name=pattern.name,
        pattern_type=pattern.pattern_type.name,
    )
    return f"{extended}/{_CHANGE}", encode(change)


def _entry(acl: AclBinding) -> AclEntry:
    return AclEntry(
        principal=acl.principal,
        permission_type=_PERMISSION_WORDS[acl.permission],
        operation=_OPERATION_WORDS[acl.operation],
        host=acl.host,
    )


def acls_of(folder: str, resource_type: str, name: str, znode: AclsZnode) -> Iterator[AclBinding]:
    """Give the ACLs of one resource, without those whose words nobody knows."""
    pattern = ResourcePattern(RESOURCE_TYPES[resource_type], name, _PATTERNS[folder])
    for entry in znode.acls:
        operation = _OPERATIONS.get(entry.operation)
        permission = _PERMISSIONS.get(entry.permission_type)
        if operation is not None and permission is not None:
            yield AclBinding(pattern, entry.principal, entry.host, operation, permission)
