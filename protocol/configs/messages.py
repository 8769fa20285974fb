"""From configurations to the messages that show them.

It parses and checks nothing: `protocol.configs.parsing` does.
"""

from __future__ import annotations

from typing import Final

from protocol.configs.parsing import DescribedConfig
from protocol.configs.types import ConfigSource
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsRequestAlterConfigsResource,
)

CHANGED_BROKER_CONFIGS: Final = ""
"""The row of an UpdateMetadata that tells brokers to ask for their own configs."""
CHANGED_GROUP_CONFIGS: Final = ":groups"
"""The row of an UpdateMetadata that tells brokers to ask for groups' configs; no topic's name."""
CHANGED_ACLS: Final = ":acls"
"""The row that tells brokers with an authorizer to ask for the ACLs."""
CHANGED_CLIENT_QUOTAS: Final = ":quotas"
"""The row that tells brokers to ask for clients' quotas."""
CHANGED_SCRAM_CREDENTIALS: Final = ":scram"
"""The row that tells brokers with a listener of SASL to ask for the stored SCRAM credentials."""
CHANGED_DELEGATION_TOKENS: Final = ":tokens"
"""The row that tells brokers with a secret key for tokens to ask for the delegation tokens."""
DELEGATION_TOKENS: Final = 126
"""The type of resource, none of Kafka's, under which brokers keep tokens at the controller.

A resource for each, with ``TOKEN`` as its only config.
"""
TOKEN: Final = "token"
SCRAM_CREDENTIALS: Final = 127
"""The type of resource, none of Kafka's, under which the controller tells them to brokers alone."""


def alter_response(
    asked: AlterConfigsResource | IncrementalAlterConfigsRequestAlterConfigsResource,
    error: KafkaError | None,
) -> AlterConfigsResourceResponse:
    """Return the answer for one resource that was to be altered."""
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message or None,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
    )


def described_entry(
    config: DescribedConfig, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResourceResult:
    """Show one setting, with as much as ``request`` wants."""
    synonyms = config.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=config.name,
        value=config.value,
        read_only=config.is_read_only,
        is_default=version == 0 and config.source is ConfigSource.DEFAULT_CONFIG,
        config_source=config.source,
        is_sensitive=config.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in synonyms
        ],
        config_type=config.type,
        documentation=config.documentation if request.include_documentation else None,
    )


def not_described(asked: DescribeConfigsResource, error: KafkaError) -> DescribeConfigsResult:
    """Return the answer for one resource that cannot be described."""
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
    )
