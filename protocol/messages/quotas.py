"""Messages of DescribeClientQuotas (48), AlterClientQuotas (49)."""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, FLOAT64, INT8, INT16, INT32


@struct
class ComponentData:
    entity_type: str = field(STRING)
    match_type: int = field(INT8)
    match: str | None = field(STRING, nullable="0+")


@message(48, "request", versions="0-1", flexible="1+")
class DescribeClientQuotasRequest:
    """Source: DescribeClientQuotasRequest.json."""

    components: Sequence[ComponentData] = field(array(ComponentData))
    strict: bool = field(BOOL)


@struct
class EntityData:
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")


@struct
class ValueData:
    key: str = field(STRING)
    value: float = field(FLOAT64)


@struct
class EntryData:
    entity: Sequence[EntityData] = field(array(EntityData))
    values: Sequence[ValueData] = field(array(ValueData))


@message(48, "response", versions="0-1", flexible="1+")
class DescribeClientQuotasResponse:
    """Source: DescribeClientQuotasResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    entries: Sequence[EntryData] | None = field(array(EntryData), nullable="0+")


@struct
class AlterClientQuotasRequestEntityData:
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")


@struct
class OpData:
    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOL)


@struct
class AlterClientQuotasRequestEntryData:
    entity: Sequence[AlterClientQuotasRequestEntityData] = field(
        array(AlterClientQuotasRequestEntityData)
    )
    ops: Sequence[OpData] = field(array(OpData))


@message(49, "request", versions="0-1", flexible="1+")
class AlterClientQuotasRequest:
    """Source: AlterClientQuotasRequest.json."""

    entries: Sequence[AlterClientQuotasRequestEntryData] = field(
        array(AlterClientQuotasRequestEntryData)
    )
    validate_only: bool = field(BOOL)


@struct
class AlterClientQuotasResponseEntityData:
    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")


@struct
class AlterClientQuotasResponseEntryData:
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    entity: Sequence[AlterClientQuotasResponseEntityData] = field(
        array(AlterClientQuotasResponseEntityData)
    )


@message(49, "response", versions="0-1", flexible="1+")
class AlterClientQuotasResponse:
    """Source: AlterClientQuotasResponse.json."""

    throttle_time_ms: int = field(INT32)
    entries: Sequence[AlterClientQuotasResponseEntryData] = field(
        array(AlterClientQuotasResponseEntryData)
    )
