"""Which features a Kafka release supports and finalizes: its answer to ApiVersions, KIP-584.

A feature is a protocol of a whole cluster; clients look at what is finalized. Only those that
something here reads are known. To 3.9 a cluster with ZooKeeper has none: brokers from 3.7 on
announce the requests of group.version all the same, and answer UNSUPPORTED_VERSION. What a new
cluster of each release finalizes stands here: levels are not changed at run time.
Source: Feature.java, GroupVersion.java; recorded from brokers of 3.9.2 and 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from protocol.releases import is_since, release_position


class Feature(NamedTuple):
    """One feature of one release."""

    name: str
    min_level: int
    max_level: int
    finalized_level: int


_KRAFT_ALONE_SINCE: Final = "4.0"
GROUP_VERSION: Final = "group.version"
TRANSACTION_VERSION: Final = "transaction.version"
_FEATURES: Final = (
    Feature(GROUP_VERSION, 0, 1, finalized_level=1),
    Feature(TRANSACTION_VERSION, 0, 2, finalized_level=2),
)
"""Those of every release since 4.0. Level 1 of group.version is KIP-848; of transaction.version
level 1 allows tagged fields in the log, and level 2 is KIP-890."""


def finalized_level(release: str | None, name: str) -> int:
    """Return the level of the feature ``name``; 0 where the release does not have it.

    Raises:
        ValueError: As ``features_as_of``.
    """
    levels = {feature.name: feature.finalized_level for feature in features_as_of(release)}
    return levels.get(name, 0)


def cluster_release(releases: Iterable[str | None]) -> str | None:
    """Return by which release a cluster of brokers of ``releases`` finalizes: that of the oldest.

    None, the newest, where all are. Source: FeatureControlManager.updateFeature, which refuses a
    level that some broker does not support.
    """
    named = [release for release in releases if release is not None]
    return min(named, key=release_position, default=None)


def features_as_of(release: str | None) -> Sequence[Feature]:
    """Return the features of ``release``, such as "4.3"; None stands for the newest.

    Raises:
        ValueError: No release that is known.
    """
    if is_since(release, _KRAFT_ALONE_SINCE):
        return _FEATURES
    return ()
