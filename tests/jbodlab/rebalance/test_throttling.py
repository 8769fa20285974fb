from __future__ import annotations

from pathlib import Path

import pytest

from jbodlab.rebalance.core.throttles import Throttles
from jbodlab.rebalance.throttling import put_on, take_off
from protocol.configs.names import FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from protocol.errors import ErrorCode, KafkaError
from protocol.messages.configs import (
    AlterConfigsResourceResponse,
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from tests.jbodlab.asking.test_admin import admin_of
from tests.jbodlab.fake_node import Answer

THROTTLES = Throttles(
    lists={"t": {LEADER_REPLICAS: ("0:1",), FOLLOWER_REPLICAS: ("0:3",)}}, rates={1: (LEADER_RATE,)}
)


class Configs:
    """A cluster's own values by resource name; refuses with ``code``."""

    def __init__(self, code: ErrorCode = ErrorCode.NONE) -> None:
        self.code = code
        self.own: dict[str, dict[str, str]] = {"t": {FOLLOWER_REPLICAS: "7:7"}, "1": {}}
        self.unheard: list[dict[str, str]] = []
        """What broker 1 still goes by, look for look."""

    @property
    def answers(self) -> dict[type, Answer]:
        return {
            DescribeConfigsRequest: self.describe,
            IncrementalAlterConfigsRequest: self.alter,
        }

    def describe(self, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        (resource,) = request.resources
        own = self.own[resource.resource_name]
        if resource.resource_name == "1" and self.unheard:
            own = self.unheard.pop()
        configs = [
            DescribeConfigsResourceResult(name=name, value=value, config_source=1)
            for name, value in own.items()
        ]
        configs.append(
            DescribeConfigsResourceResult(name=LEADER_REPLICAS, value="9:9", config_source=5)
        )
        result = DescribeConfigsResult(
            error_code=self.code, resource_type=2, resource_name="t", configs=configs
        )
        return DescribeConfigsResponse(results=[result])

    def alter(self, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        (resource,) = request.resources
        own = self.own[resource.resource_name]
        for config in resource.configs:
            if config.config_operation == 1:
                own.pop(config.name, None)
            else:
                own[config.name] = config.value or ""
        response = AlterConfigsResourceResponse(
            error_code=self.code, error_message="no", resource_type=2, resource_name="t"
        )
        return IncrementalAlterConfigsResponse(responses=[response])


def test_throttles_are_put_on_and_taken_off_beside_what_others_set(tmp_path: Path) -> None:
    configs = Configs()
    with admin_of(tmp_path, configs.answers) as admin:
        put_on(admin, THROTTLES, 500)
        assert configs.own == {
            "t": {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "7:7,0:3"},
            "1": {LEADER_RATE: "500"},
        }
        take_off(admin, THROTTLES)
    assert configs.own == {"t": {FOLLOWER_REPLICAS: "7:7"}, "1": {}}


def test_a_rate_is_put_on_when_its_broker_goes_by_it(tmp_path: Path) -> None:
    configs = Configs()
    configs.unheard = [{}, {LEADER_RATE: "7"}]
    with admin_of(tmp_path, configs.answers) as admin:
        put_on(admin, THROTTLES, 500)
    assert configs.unheard == []


@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.BROKER_ID_NOT_REGISTERED]
)
def test_what_is_gone_needs_no_taking_off(tmp_path: Path, code: ErrorCode) -> None:
    with admin_of(tmp_path, Configs(code).answers) as admin:
        take_off(admin, THROTTLES)
        with pytest.raises(KafkaError):
            put_on(admin, THROTTLES, 500)


def test_a_refusal_is_told(tmp_path: Path) -> None:
    with (
        admin_of(tmp_path, Configs(ErrorCode.INVALID_CONFIG).answers) as admin,
        pytest.raises(KafkaError, match="INVALID_CONFIG"),
    ):
        take_off(admin, THROTTLES)
