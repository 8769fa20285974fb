"""Takes back what a test has stored about clients: ACLs, quotas, SCRAM credentials.

Delegation tokens stay: none but their owners may end them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jbodlab.asking.admin import ClusterAdmin
from protocol.acls.model import AclOperation, AclResourceType, PatternType, PermissionType
from protocol.client_quotas.filters import EVERY_QUOTA
from protocol.cluster_file.spec import ClusterSpec
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    EntryData,
    OpData,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    ScramCredentialDeletion,
)

_ACLS_VERSION: Final = 1
_QUOTAS_VERSION: Final = 0
_SCRAM_VERSION: Final = 0
_EVERY_ACL: Final = DeleteAclsFilter(
    resource_type_filter=AclResourceType.ANY,
    resource_name_filter=None,
    pattern_type_filter=PatternType.ANY,
    principal_filter=None,
    host_filter=None,
    operation=AclOperation.ANY,
    permission_type=PermissionType.ANY,
)


def forget_clients(admin: ClusterAdmin, spec: ClusterSpec) -> None:
    """Leave nothing of it; brokers go by that when this returns.

    Raises:
        KafkaError: the cluster's refusal.
        OSError: nobody answers.
    """
    if any(each.configs.get("authorizer.class.name") for each in spec.brokers):
        answer = admin.ask_any(DeleteAclsRequest(filters=[_EVERY_ACL]), _ACLS_VERSION)
        _check(answer.filter_results)
    _forget_quotas(admin)
    _forget_credentials(admin)


def _forget_quotas(admin: ClusterAdmin) -> None:
    told = admin.ask_any(EVERY_QUOTA, _QUOTAS_VERSION)
    _check([told])
    entries = [_without(each) for each in told.entries or ()]
    if entries:
        order = AlterClientQuotasRequest(entries=entries, validate_only=False)
        _check(admin.ask_any(order, _QUOTAS_VERSION).entries)


def _without(entry: EntryData) -> AlterClientQuotasRequestEntryData:
    entity = [
        AlterClientQuotasRequestEntityData(
            entity_type=each.entity_type, entity_name=each.entity_name
        )
        for each in entry.entity
    ]
    ops = [OpData(key=each.key, value=0.0, remove=True) for each in entry.values]
    return AlterClientQuotasRequestEntryData(entity=entity, ops=ops)


def _forget_credentials(admin: ClusterAdmin) -> None:
    told = admin.ask_any(DescribeUserScramCredentialsRequest(users=None), _SCRAM_VERSION)
    _check([told, *told.results])
    deletions = [
        ScramCredentialDeletion(name=result.user, mechanism=each.mechanism)
        for result in told.results
        for each in result.credential_infos
    ]
    if deletions:
        order = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=[])
        _check(admin.ask_any(order, _SCRAM_VERSION).results)


def _check(results: Iterable[Any]) -> None:
    """Raise the first error; Any: each answer has results of its own kind."""
    for each in results:
        if each.error_code:
            raise KafkaError(ErrorCode(each.error_code), each.error_message or "")
