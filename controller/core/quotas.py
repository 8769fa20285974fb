"""AlterClientQuotas, DescribeClientQuotas: decides, journals, tells the brokers.

What a quota does to clients is the brokers' affair. The answer to a change waits for the brokers,
which answer once they go by it. Source: ClientQuotaControlManager.java.
"""

from __future__ import annotations

from controller.core.events import RequestArrived
from controller.core.quota_records import ClientQuotaRemoved, ClientQuotaSet
from controller.core.step import Step
from protocol.client_quotas.entities import (
    QuotaEntity,
    Quotas,
    check_quota,
    entity_text,
    quota_entity,
)
from protocol.client_quotas.filters import asked_filter, described
from protocol.configs.messages import CHANGED_CLIENT_QUOTAS
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntityData,
    AlterClientQuotasResponseEntryData,
    DescribeClientQuotasRequest,
)
from protocol.refusals import refuse_describe_client_quotas

_Names = tuple[tuple[str, str | None], ...]
_Change = ClientQuotaSet | ClientQuotaRemoved


def alter_client_quotas(step: Step, event: RequestArrived) -> None:
    """Serve AlterClientQuotas v0-1: an entity changes whole or not at all, each by itself."""
    request: AlterClientQuotasRequest = event.request
    changes: list[_Change] = []
    errors: dict[_Names, KafkaError | None] = {}
    for entry in request.entries:
        names = _names(entry)
        try:
            if names in errors:
                raise _duplicate(names)
            changes += _changes(step.state.client_quotas, names, entry)
        except KafkaError as error:
            errors[names] = error
        else:
            errors[names] = None
    if changes and not request.validate_only:
        _change(step, changes)
    step.answer_when_told(event.token, _answer(errors))


def describe_client_quotas(step: Step, event: RequestArrived) -> None:
    """Serve DescribeClientQuotas v0-1, to brokers as well."""
    request: DescribeClientQuotasRequest = event.request
    try:
        response = described(step.state.client_quotas, asked_filter(request))
    except KafkaError as error:
        response = refuse_describe_client_quotas(request, 0, error)
    step.answer(event.token, response)


def _changes(
    stored: Quotas, names: _Names, entry: AlterClientQuotasRequestEntryData
) -> list[_Change]:
    """Return what an entry changes; a removal of what is not there changes nothing.

    Raises:
        KafkaError: INVALID_REQUEST.
    """
    wanted: dict[str, float | None] = {}
    for op in entry.ops:
        if op.key in wanted:
            raise _duplicate(names)  # Kafka's words for a key that comes twice, too.
        wanted[op.key] = None if op.remove else op.value
    entity = quota_entity(names)
    limits = stored.get(entity, {})
    found: list[_Change] = []
    for key, value in wanted.items():
        if value is None:
            found += [ClientQuotaRemoved(entity, key)] if key in limits else []
            continue
        check_quota(entity, key, value)
        if limits.get(key) != value:
            found.append(ClientQuotaSet(entity, key, value))
    return found


def _change(step: Step, changes: list[_Change]) -> None:
    for change in changes:
        step.change(change)
    entities: dict[QuotaEntity, None] = dict.fromkeys(change.entity for change in changes)
    first = entity_text(next(iter(entities)))
    text = f"quotas of {len(entities)} entities changed, the first one {first}"
    step.tell_all(CHANGED_CLIENT_QUOTAS, text)


def _names(entry: AlterClientQuotasRequestEntryData) -> _Names:
    named = {each.entity_type: each.entity_name for each in entry.entity}
    return tuple(named.items())


def _duplicate(names: _Names) -> KafkaError:
    text = f"Ignoring duplicate entity {entity_text(names)}"
    return KafkaError(ErrorCode.INVALID_REQUEST, text)


def _answer(errors: dict[_Names, KafkaError | None]) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponseEntryData(
                error_code=ErrorCode.NONE if error is None else error.code,
                error_message=None if error is None else error.message,
                entity=[
                    AlterClientQuotasResponseEntityData(entity_type=kind, entity_name=name)
                    for kind, name in names
                ],
            )
            for names, error in errors.items()
        ]
    )
