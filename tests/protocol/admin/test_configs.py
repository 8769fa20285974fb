"""Settings as they are changed and asked for, and what became of changes."""

from __future__ import annotations

from protocol.admin.configs import (
    ConfigView,
    alter_configs_request,
    alter_outcomes,
    config_views,
    describe_configs_request,
    replace_configs_request,
)
from protocol.configs.types import AlterOperation, ConfigSource, ResourceType
from protocol.errors import ErrorCode
from protocol.messages.configs import (
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsResponse,
)


def test_a_value_is_set_and_none_deletes() -> None:
    request = alter_configs_request(ResourceType.TOPIC, {"a": {"x": "1", "y": None}, "b": {}})

    assert [(r.resource_type, r.resource_name) for r in request.resources] == [(2, "a"), (2, "b")]
    assert [(c.name, c.config_operation, c.value) for c in request.resources[0].configs] == [
        ("x", AlterOperation.SET, "1"),
        ("y", AlterOperation.DELETE, None),
    ]
    assert not request.validate_only


def test_values_take_the_place_of_all_others() -> None:
    request = replace_configs_request(ResourceType.BROKER, {"": {"x": "1"}, "2": {}})

    assert [(r.resource_type, r.resource_name) for r in request.resources] == [(4, ""), (4, "2")]
    assert [(c.name, c.value) for c in request.resources[0].configs] == [("x", "1")]
    assert not request.validate_only


def test_all_settings_or_some_are_asked_for() -> None:
    everything = describe_configs_request(ResourceType.TOPIC, ["a", "b"])
    assert [
        (each.resource_type, each.resource_name, each.configuration_keys)
        for each in everything.resources
    ] == [(2, "a", None), (2, "b", None)]
    assert not everything.include_synonyms

    some = describe_configs_request(ResourceType.BROKER, ["1"], keys=("x", "y"), with_synonyms=True)
    assert [each.configuration_keys for each in some.resources] == [["x", "y"]]
    assert some.include_synonyms


def test_each_resource_has_an_outcome_whichever_way_it_was_changed() -> None:
    responses = [
        AlterConfigsResourceResponse(
            error_code=code, error_message=message, resource_type=2, resource_name=name
        )
        for name, code, message in (("a", 0, None), ("b", 40, "why"))
    ]
    wanted = [(ErrorCode.NONE, None), (ErrorCode.INVALID_CONFIG, "why")]
    assert alter_outcomes(AlterConfigsResponse(responses=responses)) == wanted
    assert alter_outcomes(IncrementalAlterConfigsResponse(responses=responses)) == wanted


def test_settings_are_told_by_name_with_where_they_come_from() -> None:
    told = [
        DescribeConfigsResourceResult(
            name=name,
            value="1",
            config_source=source,
            is_sensitive=False,
            synonyms=[DescribeConfigsSynonym(name="log." + name, value="1", source=source)],
        )
        for name, source in (("c", 99), ("b", 5), ("a", 1))
    ]
    found = config_views(DescribeConfigsResult(configs=told))
    assert [(each.name, each.value, each.source) for each in found] == [
        ("a", "1", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("b", "1", ConfigSource.DEFAULT_CONFIG),
        ("c", "1", ConfigSource.UNKNOWN),
    ]
    assert [each.synonyms for each in found[:2]] == [
        (("log.a", "1", ConfigSource.DYNAMIC_TOPIC_CONFIG),),
        (("log.b", "1", ConfigSource.DEFAULT_CONFIG),),
    ]


def test_what_nobody_set_is_a_default() -> None:
    def view(source: ConfigSource) -> ConfigView:
        return ConfigView(name="a", value="1", source=source, is_sensitive=False, synonyms=())

    assert view(ConfigSource.DEFAULT_CONFIG).is_default
    assert not view(ConfigSource.STATIC_BROKER_CONFIG).is_default
