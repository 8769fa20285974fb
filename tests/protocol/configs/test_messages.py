"""What is asked for and shown of configurations, as messages."""

from __future__ import annotations

import pytest

from protocol.configs.messages import (
    alter_response,
    described_entry,
    not_described,
)
from protocol.configs.parsing import (
    BrokerOverrides,
    describe_dynamic_configs,
    describe_topic_configs,
)
from protocol.configs.types import ConfigSource
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    AlterConfigsResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
)


def test_an_altered_resource_is_answered_with_its_error_or_none() -> None:
    asked = AlterConfigsResource(resource_type=4, resource_name="1")
    refused = alter_response(asked, KafkaError(ErrorCode.INVALID_CONFIG, "no"))
    done = alter_response(asked, None)

    assert (refused.error_code, refused.error_message) == (ErrorCode.INVALID_CONFIG, "no")
    assert (done.error_code, done.error_message) == (ErrorCode.NONE, None)
    assert (done.resource_type, done.resource_name) == (4, "1")


@pytest.mark.parametrize("wanted", [True, False])
def test_synonyms_and_documentation_are_shown_when_they_are_wanted(wanted: bool) -> None:
    request = DescribeConfigsRequest(include_synonyms=wanted, include_documentation=wanted)
    (config,) = describe_dynamic_configs(
        {"log.retention.ms": "5"}, ConfigSource.DYNAMIC_BROKER_CONFIG
    )
    entry = described_entry(config, request, 4)

    assert (entry.name, entry.value) == (config.name, config.value)
    assert bool(entry.synonyms) is (wanted and bool(config.synonyms))
    assert (entry.documentation is not None) is wanted


def test_version_0_says_that_a_value_is_a_default() -> None:
    configs = describe_topic_configs(
        {"retention.ms": "5"}, BrokerOverrides(static={}, dynamic={}, dynamic_default={})
    )
    by_version = [
        {c.name: described_entry(c, DescribeConfigsRequest(), version).is_default for c in configs}
        for version in (0, 1)
    ]

    assert by_version[0]["cleanup.policy"]
    assert not by_version[0]["retention.ms"]
    assert not any(by_version[1].values())


def test_a_resource_that_is_not_described_has_the_error_and_no_settings() -> None:
    asked = DescribeConfigsResource(resource_type=2, resource_name="t")
    result = not_described(asked, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    assert (result.error_code, result.error_message) == (3, "")
    assert (result.resource_type, result.resource_name, list(result.configs)) == (2, "t", [])
