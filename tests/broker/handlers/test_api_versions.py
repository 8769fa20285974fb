"""ApiVersions: names that a client may not carry are refused. The list: tests of the dispatcher."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.fakes import FakeBroker


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


async def features(broker: FakeBroker, release: str | None, version: int):
    broker.context.release = release
    request = ApiVersionsRequest(client_software_name="kafka", client_software_version="1")
    answer = await broker.ask(request, version)
    supported = {one.name: (one.min_version, one.max_version) for one in answer.supported_features}
    finalized = {
        one.name: (one.min_version_level, one.max_version_level)
        for one in answer.finalized_features
    }
    return supported, finalized, answer.finalized_features_epoch


@pytest.mark.parametrize("release", ["4.0", "4.3", None])
async def test_features_are_finalized_at_the_level_of_a_new_cluster(
    broker: FakeBroker, release: str | None
):
    supported, finalized, epoch = await features(broker, release, 4)
    assert supported["group.version"] == (0, 1)
    assert finalized["group.version"] == (1, 1)
    assert epoch >= 0, "clients look at no levels of an epoch below 0"


async def test_older_clients_see_levels_but_no_feature_that_begins_without_one(
    broker: FakeBroker,
):
    supported, finalized, _ = await features(broker, "4.3", 3)
    assert supported == {}
    assert "group.version" in finalized


async def test_releases_with_zookeeper_have_no_features(broker: FakeBroker):
    assert await features(broker, "3.9", 4) == ({}, {}, 0)
