"""Decides whether a principal may do something, as Kafka's StandardAuthorizer does.

It knows ACLs and super users, no API and no connection. Source: StandardAuthorizerData.java,
Authorizer.authorizeByResourceType.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from protocol.acls.model import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclOperation,
    AclResourceType,
    PatternType,
    PermissionType,
)

IMPLIES: Final[dict[AclOperation, frozenset[AclOperation]]] = {
    AclOperation.DESCRIBE: frozenset(
        {
            AclOperation.DESCRIBE,
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.DELETE,
            AclOperation.ALTER,
        }
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset(
        {AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}
    ),
}
"""Operation -> those that allow it when they are allowed; a denied one denies only itself."""
DECISIONS_MAX: Final = 4_096
"""So many are remembered until other ACLs come; the oldest goes first."""
NAME_CHARACTERS_MAX: Final = 255
"""A decision about a longer name is not remembered: clients choose names."""
_ANY_NAME: Final = "hardcode"
"""The name that Kafka asks about to let super users through, whatever the ACLs of a type say."""


_Asked: TypeAlias = tuple[str, str, AclOperation, AclResourceType, str]


class Rule(NamedTuple):
    """What came out, and why."""

    is_allowed: bool
    reason: str
    """Kafka's words for the authorizer's log: a super user, an ACL, the default."""


class _OfType:
    """The ACLs of one resource type; each lookup looks at those of one principal only."""

    __slots__ = ("by_principal", "lengths", "literal", "prefixed")

    def __init__(self) -> None:
        self.literal: dict[str, dict[str, list[AclBinding]]] = {}
        """Name -> principal -> ACLs."""
        self.prefixed: dict[str, dict[str, list[AclBinding]]] = {}
        self.lengths: tuple[int, ...] = ()
        """Of the prefixes, sorted: one look each, where Kafka steps back through sorted names."""
        self.by_principal: dict[str, list[AclBinding]] = {}

    def add(self, binding: AclBinding) -> None:
        is_literal = binding.pattern.pattern_type == PatternType.LITERAL
        names = self.literal if is_literal else self.prefixed
        name = binding.pattern.name
        names.setdefault(name, {}).setdefault(binding.principal, []).append(binding)
        self.by_principal.setdefault(binding.principal, []).append(binding)

    def finish(self) -> None:
        self.lengths = tuple(sorted({len(prefix) for prefix in self.prefixed}))

    def covering(self, name: str) -> Iterator[dict[str, list[AclBinding]]]:
        """Give the ACLs of each pattern that the name matches, by principal."""
        found = self.literal.get(name)
        if found is not None:
            yield found
        if not name.startswith(WILDCARD):  # Kafka does not count "*" for these, as found on 3.9.2
            found = self.literal.get(WILDCARD)
            if found is not None:
                yield found
        size = len(name)
        for length in self.lengths:
            if length > size:
                return
            found = self.prefixed.get(name[:length])
            if found is not None:
                yield found


class Authorizer:
    """Decides by the ACLs that it was given last."""

    def __init__(self, *, super_users: Iterable[str] = (), allows_if_no_acl: bool = False) -> None:
        """Allow nobody but super users before ``replace`` gave the first ACLs, be it none.

        Args:
            super_users: principals such as ``User:admin``, who may do everything.
            allows_if_no_acl: whether everybody may do what no ACL of a resource is about
                (``allow.everyone.if.no.acl.found``).
        """
        self._super_users = frozenset(super_users)
        self._allows_if_no_acl = allows_if_no_acl
        self._types: dict[int, _OfType] = {}
        self._decisions: dict[_Asked, Rule] = {}
        """Who asks, asks again: with its words for the log a decision costs ten times a look."""
        self._is_loaded = False

    def replace(self, bindings: Iterable[AclBinding]) -> None:
        """Decide by these ACLs from now on."""
        types: dict[int, _OfType] = {}
        for binding in bindings:
            types.setdefault(binding.pattern.resource_type, _OfType()).add(binding)
        for of_type in types.values():
            of_type.finish()
        self._types = types
        self._decisions.clear()
        self._is_loaded = True

    def is_allowed(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str,
    ) -> bool:
        """Tell whether ``principal``, connected from ``host``, may do it."""
        return self.rule(principal, host, operation, resource_type, name).is_allowed

    def rule(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str,
    ) -> Rule:
        """Return the same, with the reason."""
        asked = (principal, host, operation, resource_type, name)
        found = self._decisions.get(asked)
        if found is None:
            found = self._decided(*asked)
            if len(name) <= NAME_CHARACTERS_MAX:
                if len(self._decisions) >= DECISIONS_MAX:
                    del self._decisions[next(iter(self._decisions))]
                self._decisions[asked] = found
        return found

    def _decided(
        self,
        principal: str,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str,
    ) -> Rule:
        if principal in self._super_users:
            return Rule(is_allowed=True, reason="SuperUser")
        of_type = self._types.get(resource_type)
        if of_type is None:
            return self._without_acl()
        allowing: AclBinding | None = None
        has_acls = False
        for acls in of_type.covering(name):
            has_acls = True
            for who in (principal, WILDCARD_PRINCIPAL):
                for acl in acls.get(who, ()):
                    if not _is_about(acl, host, operation):
                        continue
                    if acl.permission != PermissionType.ALLOW:
                        return Rule(is_allowed=False, reason=f"MatchingAcl(acl={_shown(acl)})")
                    allowing = acl
        if allowing is not None:
            return Rule(is_allowed=True, reason=f"MatchingAcl(acl={_shown(allowing)})")
        return _DENIED if has_acls else self._without_acl()

    def is_allowed_somewhere(
        self, principal: str, host: str, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        """Tell whether it is allowed on at least one resource of the type, which need not exist.

        As in Kafka no operation implies another here, and with ``allows_if_no_acl`` one resource
        without ACLs is enough.
        """
        if self.is_allowed(principal, host, operation, resource_type, _ANY_NAME):
            return True
        of_type = self._types.get(resource_type)
        if of_type is None:
            return False
        whos = dict.fromkeys((principal, WILDCARD_PRINCIPAL))
        about = [
            acl
            for who in whos
            for acl in of_type.by_principal.get(who, ())
            if acl.host in (host, WILDCARD) and acl.operation in (operation, AclOperation.ALL)
        ]
        return _leaves_some(about)

    def _without_acl(self) -> Rule:
        return _ALLOWED_BY_DEFAULT if self._allows_if_no_acl and self._is_loaded else _DENIED


_DENIED: Final = Rule(is_allowed=False, reason="DefaultDeny")
_ALLOWED_BY_DEFAULT: Final = Rule(is_allowed=True, reason="DefaultAllow")


def _is_about(acl: AclBinding, host: str, operation: AclOperation) -> bool:
    if acl.host not in (WILDCARD, host):
        return False
    if acl.operation in (AclOperation.ALL, operation):
        return True
    if acl.permission != PermissionType.ALLOW:
        return False
    return operation in IMPLIES and acl.operation in IMPLIES[operation]


def _leaves_some(about: list[AclBinding]) -> bool:
    """Tell whether an allowed pattern is left when the denied ones are taken away."""
    denied = [acl.pattern for acl in about if acl.permission == PermissionType.DENY]
    allowed = [acl.pattern for acl in about if acl.permission == PermissionType.ALLOW]
    literal = {each.name for each in denied if each.pattern_type == PatternType.LITERAL}
    prefixed = {each.name for each in denied if each.pattern_type == PatternType.PREFIXED}
    if WILDCARD in literal:
        return False
    for pattern in allowed:
        is_literal = pattern.pattern_type == PatternType.LITERAL
        if is_literal and pattern.name == WILDCARD:
            return True
        if is_literal and pattern.name in literal:
            continue
        name = pattern.name
        if not any(name[:length] in prefixed for length in range(1, len(name) + 1)):
            return True
    return False


def _shown(acl: AclBinding) -> str:
    pattern = acl.pattern
    return (
        f"StandardAcl(resourceType={pattern.resource_type.name}, resourceName={pattern.name}, "
        f"patternType={pattern.pattern_type.name}, principal={acl.principal}, host={acl.host}, "
        f"operation={acl.operation.name}, permissionType={acl.permission.name})"
    )
