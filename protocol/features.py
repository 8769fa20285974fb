"""Which features a Kafka release supports and finalizes: its answer to ApiVersions, KIP-584.

A feature is a protocol of a whole cluster; clients look at what is finalized. Only those that
something here reads are known. To 3.9 a cluster with ZooKeeper has none. What a new cluster of
each release finalizes stands here: levels are not changed at run time.
Source: Feature.java, GroupVersion.java; recorded from brokers of 3.9.2 and 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from protocol.releases import release_position


class Feature(NamedTuple):
    """One feature of one release."""

    name: str
    min_level: int
    max_level: int
    finalized_level: int


_KRAFT_ALONE_SINCE: Final = "4.0"
_FEATURES: Final = (Feature("group.version", 0, 1, finalized_level=1),)
"""Those of every release since 4.0; a level of group.version above 0: KIP-848."""


def features_as_of(release: str | None) -> Sequence[Feature]:
    """Return the features of ``release``, such as "4.3"; None stands for the newest.

    Raises:
        ValueError: No release that is known.
    """
    if release is None or release_position(release) >= release_position(_KRAFT_ALONE_SINCE):
        return _FEATURES
    return ()
