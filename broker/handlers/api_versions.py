"""Serves: ApiVersions (18), what this broker understands.

Differs from Kafka: the list holds exactly what is served; of that, with ``emulate``, what the
release has. Features are those that change what is served. An unknown version is answered by the
dispatcher, in version 0.
Versions: 0-4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from broker.context import Context
from broker.handlers import handlers_of, handles, served
from protocol.errors import ErrorCode, KafkaError
from protocol.features import Feature, features_as_of
from protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

_CLIENT_INFO_SINCE: Final = 3
_LOWEST_LEVEL_0_SINCE: Final = 4
"""Clients before it fail on features whose lowest level is 0. Source: KIP-1022."""
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def refuse(_request: ApiVersionsRequest, _version: int, error: KafkaError) -> ApiVersionsResponse:
    """Put the code at the top."""
    return ApiVersionsResponse(error_code=error.code, api_keys=[])


@handles(ApiVersionsRequest, "0-4", refuse=refuse)
async def handle(
    context: Context, request: ApiVersionsRequest, version: int
) -> ApiVersionsResponse:
    """Name every API served with its versions; refuse names that a client may not carry."""
    if version >= _CLIENT_INFO_SINCE:
        for text in (request.client_software_name, request.client_software_version):
            if _SOFTWARE.fullmatch(text) is None:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"{text!r} is no software name.")
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=versions.low, max_version=versions.high)
            for key, versions in served(context.release, handlers_of(context)).items()
        ],
        supported_features=[
            _supported(each)
            for each in _features_of(context)
            if each.min_level > 0 or version >= _LOWEST_LEVEL_0_SINCE
        ],
        finalized_features_epoch=0,
        finalized_features=[_finalized(each) for each in features_as_of(context.cluster_release)],
    )


def _features_of(context: Context) -> Sequence[Feature]:
    """Return those that the broker supports: beside ZooKeeper there are none, as in 3.9."""
    has_zookeeper = context.controller_behind is not None
    return features_as_of(context.cluster_release if has_zookeeper else context.release)


def _supported(feature: Feature) -> SupportedFeatureKey:
    return SupportedFeatureKey(
        name=feature.name, min_version=feature.min_level, max_version=feature.max_level
    )


def _finalized(feature: Feature) -> FinalizedFeatureKey:
    level = feature.finalized_level
    return FinalizedFeatureKey(name=feature.name, max_version_level=level, min_version_level=level)
