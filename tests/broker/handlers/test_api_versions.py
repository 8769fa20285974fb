"""ApiVersions: names that a client may not carry are refused. The list: tests of the dispatcher."""

from __future__ import annotations

from typing import Any

import pytest

from broker.zookeeper.controller_behind import ControllerBehind
from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.fakes import FakeBroker
from tests.golden.vectors import load_vectors


@pytest.mark.parametrize(
    ("name", "version", "code"),
    [
        ("kafka-python", "3.0.0", ErrorCode.NONE),
        ("", "1", ErrorCode.INVALID_REQUEST),
        ("-kafka", "1", ErrorCode.INVALID_REQUEST),
        ("kafka", "1\n", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_software_names_are_checked_from_version_3_on(
    broker: FakeBroker, name: str, version: str, code: ErrorCode
):
    request = ApiVersionsRequest(client_software_name=name, client_software_version=version)
    assert (await broker.ask(request, 3)).error_code == code
    assert (await broker.ask(request, 2)).error_code == ErrorCode.NONE


async def features(
    broker: FakeBroker, release: str | None, version: int, *, oldest: str | None = None
):
    broker.context.release = release
    broker.context.cluster_release = oldest or release
    request = ApiVersionsRequest(client_software_name="kafka", client_software_version="1")
    answer = await broker.ask(request, version)
    supported = {one.name: (one.min_version, one.max_version) for one in answer.supported_features}
    finalized = {
        one.name: (one.min_version_level, one.max_version_level)
        for one in answer.finalized_features
    }
    return supported, finalized, answer.finalized_features_epoch


@pytest.mark.parametrize("recorded", load_vectors("features"), ids=lambda line: str(line)[:30])
async def test_features_are_told_as_apache_kafka_tells_them(
    broker: FakeBroker, recorded: dict[str, Any]
):
    supported, finalized, epoch = await features(broker, recorded["release"], recorded["version"])
    assert (
        finalized.items()
        <= {name: tuple(levels) for name, levels in recorded["finalized"].items()}.items()
    )
    assert bool(finalized) is bool(recorded["finalized"])
    assert supported == {
        name: tuple(recorded["supported"][name])
        for name in finalized
        if name in recorded["supported"]
    }
    assert (epoch >= 0) is recorded["is_epoch_known"]


async def test_without_a_release_features_are_those_of_the_newest(broker: FakeBroker):
    assert await features(broker, None, 4) == await features(broker, "4.3", 4)


async def test_features_are_finalized_that_all_brokers_support(broker: FakeBroker):
    """An older broker would not understand what a client does by the newer protocol."""
    supported, finalized, epoch = await features(broker, "4.3", 4, oldest="3.9")
    assert (sorted(supported), finalized) == (["group.version", "transaction.version"], {})
    assert epoch >= 0


async def test_beside_zookeeper_no_feature_is_supported(broker: FakeBroker):
    broker.context.controller_behind = ControllerBehind(None)
    supported, finalized, _ = await features(broker, None, 4, oldest="3.9")
    assert (supported, finalized) == ({}, {})
