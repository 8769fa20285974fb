"""``kafka-configs`` for users, clients and addresses: quotas, and users' SCRAM credentials.

Source: ConfigCommand.scala (3.9).
"""

from __future__ import annotations

import secrets
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.core.client_words import (
    ClientEntities,
    check_changes,
    completed,
    credential_line,
    credentials_of,
    limits_of,
    quota_line,
)
from jbodlab.kafka_tools.core.config_words import KINDS, Changes
from jbodlab.kafka_tools.questions import raise_for
from jbodlab.kafka_tools.report import Report
from protocol.client_quotas.filters import MatchType
from protocol.errors import ErrorCode
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    ComponentData,
    DescribeClientQuotasRequest,
    EntryData,
    OpData,
)
from protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)
from protocol.security.scram import salted_password

_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_NUMBERS: Final = {name: number for number, name in _MECHANISMS.items()}
_SALT_BYTES: Final = 16


def serve(
    client: ClusterClient, entities: ClientEntities, changes: Changes | None, report: Report
) -> None:
    """Tell quotas, and of users alone their credentials; with ``changes`` change either.

    Raises:
        KafkaError: the cluster's answer.
        ToolFailure: it cannot be changed so, or the cluster does not answer.
    """
    if changes is None:
        _describe(client, entities, report)
        return
    if check_changes(entities, changes):
        _alter_credentials(client, entities.names[0], changes)
    else:
        _alter_quotas(client, entities, changes)
    report.say(completed(entities))
    report.note("altered", dict(entities.pairs()))


def _describe(client: ClusterClient, entities: ClientEntities, report: Report) -> None:
    quotas: list[dict[str, object]] = []
    for entry in _quotas(client, entities):
        entity = {each.entity_type: each.entity_name for each in entry.entity}
        limits = {each.key: each.value for each in entry.values}
        report.say(quota_line(entity, limits))
        quotas.append({"entity": entity, "limits": limits})
    report.note("quotas", quotas)
    if "users" in entities.types and "clients" not in entities.types and "" not in entities.names:
        _describe_credentials(client, entities.names, report)


def _quotas(client: ClusterClient, entities: ClientEntities) -> list[EntryData]:
    names = dict(zip(entities.types, entities.names, strict=False))
    components: list[ComponentData] = []
    for each in entities.types:
        match = MatchType.SPECIFIED
        if each in names:
            match = MatchType.EXACT if names[each] else MatchType.DEFAULT
        name = names.get(each) or None
        components.append(ComponentData(entity_type=KINDS[each], match_type=match, match=name))
    answer = client.ask(DescribeClientQuotasRequest(components=components, strict=True))
    raise_for(answer.error_code, answer.error_message)
    return list(answer.entries or ())


def _alter_quotas(client: ClusterClient, entities: ClientEntities, changes: Changes) -> None:
    stored = {each.key: each.value for entry in _quotas(client, entities) for each in entry.values}
    limits = limits_of(changes, stored)
    entry = AlterClientQuotasRequestEntryData(
        entity=[
            AlterClientQuotasRequestEntityData(entity_type=kind, entity_name=name)
            for kind, name in entities.pairs()
        ],
        ops=[
            OpData(key=key, value=0.0 if value is None else value, remove=value is None)
            for key, value in limits.items()
        ],
    )
    request = AlterClientQuotasRequest(entries=[entry], validate_only=False)
    for result in client.ask(request).entries:
        raise_for(result.error_code, result.error_message)


def _describe_credentials(client: ClusterClient, users: tuple[str, ...], report: Report) -> None:
    asked = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users])
    answer = client.ask(asked)
    raise_for(answer.error_code, answer.error_message)
    found: dict[str, dict[str, int]] = {}
    for result in answer.results:
        if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        raise_for(result.error_code, result.error_message)
        own = {_MECHANISMS[each.mechanism]: each.iterations for each in result.credential_infos}
        report.say(credential_line(result.user, own.items()))
        found[result.user] = own
    report.note("credentials", found)


def _alter_credentials(client: ClusterClient, user: str, changes: Changes) -> None:
    upsertions: list[ScramCredentialUpsertion] = []
    for mechanism, iterations, password in credentials_of(changes):
        salt = secrets.token_bytes(_SALT_BYTES)
        upsertions.append(
            ScramCredentialUpsertion(
                name=user,
                mechanism=_NUMBERS[mechanism],
                iterations=iterations,
                salt=salt,
                salted_password=salted_password(mechanism, password, salt, iterations),
            )
        )
    deletions = [
        ScramCredentialDeletion(name=user, mechanism=_NUMBERS[each]) for each in changes.deleted
    ]
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    for result in client.ask(request).results:
        raise_for(result.error_code, result.error_message)
