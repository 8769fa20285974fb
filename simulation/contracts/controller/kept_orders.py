"""What changes of quotas, passwords and ACLs promise: what was asked for is so, no more, no less.

Source: ClientQuotaControlManager.java, ScramControlManager.java, AclControlManager.java.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any

from controller.core.acls import create_acls, delete_acls
from controller.core.events import RequestArrived
from controller.core.quotas import alter_client_quotas
from controller.core.scram import MECHANISMS, alter_credentials
from controller.core.step import Step
from protocol.acls.model import AclBinding
from protocol.client_quotas.entities import quota_entity
from protocol.errors import ErrorCode
from protocol.messages.acls import AclCreation, DeleteAclsMatchingAcl
from protocol.messages.quotas import AlterClientQuotasRequest
from protocol.messages.scram import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from protocol.security.scram import credential_of
from simulation.contracts.contract import Broken, of_function
from simulation.contracts.controller.told import answer_of

Check = Generator[None, None, Broken]


@of_function(alter_client_quotas)
def quotas_altered(step: Step, event: RequestArrived) -> Check:
    """A limit is the one that was asked for, or none; what is refused, or only asked, stays."""
    request: AlterClientQuotasRequest = event.request
    wanted = {entity: dict(limits) for entity, limits in step.state.client_quotas.items()}
    names = [_names(entry.entity) for entry in request.entries]
    yield
    codes = {_names(each.entity): each.error_code for each in answer_of(step, event.token).entries}
    if set(codes) != set(names):
        return f"{request} is answered {codes}"
    once = [name for name, count in Counter(names).items() if count == 1]
    done = [] if request.validate_only else [name for name in once if not codes[name]]
    for name, entry in zip(names, request.entries, strict=True):
        if name not in done:
            continue
        limits = wanted.setdefault(quota_entity(name), {})
        limits.update((op.key, op.value) for op in entry.ops)
        for op in entry.ops:
            if op.remove:
                del limits[op.key]
    # Of an entity that is named twice the first wish is granted, and the second one answered.
    twice = [quota_entity(name) for name in codes if name not in once and not request.validate_only]
    for entity in {*wanted, *step.state.client_quotas}.difference(twice):
        found, due = step.state.client_quotas.get(entity, {}), wanted.get(entity, {})
        if found != due:
            return f"{request}: {entity} has {dict(found)}, not {due}"
    return None


# Any: parts of an entity in a request, or in an answer.
def _names(parts: Sequence[Any]) -> tuple[tuple[str, str | None], ...]:
    return tuple({each.entity_type: each.entity_name for each in parts}.items())


@of_function(alter_credentials)
def credentials_altered(step: Step, event: RequestArrived) -> Check:
    """A user has the password that was asked for, or none; what is refused stays."""
    request: AlterUserScramCredentialsRequest = event.request
    wanted = {user: dict(own) for user, own in step.state.scram_credentials.items()}
    yield
    results = answer_of(step, event.token).results
    codes = {each.user: each.error_code for each in results}
    changes = (*request.deletions, *request.upsertions)
    named = Counter(each.name for each in changes)
    if len(results) != len(named) or set(codes) != set(named):
        return f"{sorted(named)} are answered: {codes}"
    for change in changes:
        if codes[change.name] != ErrorCode.NONE:
            continue
        if named[change.name] > 1:
            return f"{change.name} is named twice and taken"
        own = wanted.setdefault(change.name, {})
        mechanism = MECHANISMS[change.mechanism]
        if isinstance(change, ScramCredentialUpsertion):
            salted, salt = bytes(change.salted_password), bytes(change.salt)
            own[mechanism] = credential_of(mechanism, salted, salt, change.iterations)
        elif own.pop(mechanism, None) is None:
            return f"{change.name} had no password by {mechanism}, and its deletion is taken"
    found = {user: dict(own) for user, own in step.state.scram_credentials.items() if own}
    left = {user: own for user, own in wanted.items() if own}
    return None if found == left else f"{sorted(codes)}: there are {found}, not {left}"


@of_function(create_acls)
def acls_created(step: Step, event: RequestArrived) -> Check:
    """An ACL that is taken is there, beside all that were there before."""
    before = set(map(_row, step.state.acls))
    yield
    results = answer_of(step, event.token).results
    asked = event.request.creations
    if len(results) != len(asked):
        return f"{asked} are answered: {results}"
    wanted = {
        _told(each, each.resource_pattern_type)
        for each, result in zip(asked, results, strict=True)
        if result.error_code == ErrorCode.NONE
    }
    found = set(map(_row, step.state.acls))
    return None if found == before | wanted else f"{wanted} come to {before}: {found}"


@of_function(delete_acls)
def acls_deleted(step: Step, event: RequestArrived) -> Check:
    """What a filter is told to have matched is gone, and nothing else is."""
    before = set(map(_row, step.state.acls))
    yield
    results = answer_of(step, event.token).filter_results
    if len(results) != len(event.request.filters):
        return f"{event.request.filters} are answered: {results}"
    told = {_told(each, each.pattern_type) for result in results for each in result.matching_acls}
    found = set(map(_row, step.state.acls))
    return None if found == before - told else f"told are {told} of {before}: {found}"


def _told(row: AclCreation | DeleteAclsMatchingAcl, pattern_type: int) -> tuple[object, ...]:
    resource = row.resource_type, row.resource_name, pattern_type
    return (*resource, row.principal, row.host, row.operation, row.permission_type)


def _row(acl: AclBinding) -> tuple[object, ...]:
    return (*acl.pattern, *acl[1:])
