"""Messages of DescribeConfigs (32), AlterConfigs (33), IncrementalAlterConfigs (44).

And of ListConfigResources (74).
"""

from __future__ import annotations

from collections.abc import Sequence

from protocol.wire.table import STRING, array, field, message, struct
from protocol.wire.types import BOOL, INT8, INT16, INT32


@struct
class DescribeConfigsResource:
    resource_type: int = field(INT8)
    """2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group."""
    resource_name: str = field(STRING)
    configuration_keys: Sequence[str] | None = field(array(STRING), nullable="0+")
    """None for all."""


@message(32, "request", versions="0-4", flexible="4+")
class DescribeConfigsRequest:
    """Source: DescribeConfigsRequest.json."""

    resources: Sequence[DescribeConfigsResource] = field(array(DescribeConfigsResource))
    include_synonyms: bool = field(BOOL, "1+")
    include_documentation: bool = field(BOOL, "3+")


@struct
class DescribeConfigsSynonym:
    name: str = field(STRING, "1+")
    value: str | None = field(STRING, "1+", nullable="0+")
    source: int = field(INT8, "1+")


@struct
class DescribeConfigsResourceResult:
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")
    """None for a sensitive one."""
    read_only: bool = field(BOOL)
    is_default: bool = field(BOOL, "0")
    config_source: int = field(INT8, "1+", default=-1, ignorable=True)
    """1 topic, 2 this broker, 3 all brokers, 4 static, 5 default, 6 broker logger."""
    is_sensitive: bool = field(BOOL)
    synonyms: Sequence[DescribeConfigsSynonym] = field(
        array(DescribeConfigsSynonym), "1+", ignorable=True
    )
    """Where the value may come from, the strongest first."""
    config_type: int = field(INT8, "3+", ignorable=True)
    """1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password."""
    documentation: str | None = field(STRING, "3+", nullable="0+", ignorable=True)


@struct
class DescribeConfigsResult:
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: Sequence[DescribeConfigsResourceResult] = field(array(DescribeConfigsResourceResult))


@message(32, "response", versions="0-4", flexible="4+")
class DescribeConfigsResponse:
    """Source: DescribeConfigsResponse.json."""

    throttle_time_ms: int = field(INT32)
    results: Sequence[DescribeConfigsResult] = field(array(DescribeConfigsResult))


@struct
class AlterableConfig:
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")


@struct
class AlterConfigsResource:
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: Sequence[AlterableConfig] = field(array(AlterableConfig))


@message(33, "request", versions="0-2", flexible="2+")
class AlterConfigsRequest:
    """Source: AlterConfigsRequest.json."""

    resources: Sequence[AlterConfigsResource] = field(array(AlterConfigsResource))
    """What is not named goes back to its default."""
    validate_only: bool = field(BOOL)


@struct
class AlterConfigsResourceResponse:
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="0+")
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)


@message(33, "response", versions="0-2", flexible="2+")
class AlterConfigsResponse:
    """Source: AlterConfigsResponse.json."""

    throttle_time_ms: int = field(INT32)
    responses: Sequence[AlterConfigsResourceResponse] = field(array(AlterConfigsResourceResponse))


@struct
class IncrementalAlterConfigsRequestAlterableConfig:
    name: str = field(STRING)
    config_operation: int = field(INT8)
    """0 set, 1 delete, 2 append to a list, 3 subtract from a list."""
    value: str | None = field(STRING, nullable="0+")


@struct
class IncrementalAlterConfigsRequestAlterConfigsResource:
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: Sequence[IncrementalAlterConfigsRequestAlterableConfig] = field(
        array(IncrementalAlterConfigsRequestAlterableConfig)
    )


@message(44, "request", versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest:
    """Source: IncrementalAlterConfigsRequest.json."""

    resources: Sequence[IncrementalAlterConfigsRequestAlterConfigsResource] = field(
        array(IncrementalAlterConfigsRequestAlterConfigsResource)
    )
    validate_only: bool = field(BOOL)


@message(44, "response", versions="0-1", flexible="1+")
class IncrementalAlterConfigsResponse:
    """Source: IncrementalAlterConfigsResponse.json."""

    throttle_time_ms: int = field(INT32)
    responses: Sequence[AlterConfigsResourceResponse] = field(array(AlterConfigsResourceResponse))


@message(74, "request", versions="0-1", flexible="0+")
class ListConfigResourcesRequest:
    """Source: ListConfigResourcesRequest.json; to 4.0 it is ListClientMetricsResources."""

    resource_types: Sequence[int] = field(array(INT8), "1+")
    """None of them for all that there are; in version 0 client metrics alone."""


@struct
class ConfigResource:
    resource_name: str = field(STRING)
    resource_type: int = field(INT8, "1+", default=16, ignorable=True)


@message(74, "response", versions="0-1", flexible="0+")
class ListConfigResourcesResponse:
    """Source: ListConfigResourcesResponse.json."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    config_resources: Sequence[ConfigResource] = field(array(ConfigResource))
