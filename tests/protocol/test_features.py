"""Features of releases, as brokers of 3.9.2 (with ZooKeeper) and 4.3.1 were recorded to tell them.

Both answered ApiVersions v4 as new clusters; of 4.3.1's features those that are known here.
"""

from __future__ import annotations

import pytest

from protocol.features import features_as_of, finalized_level
from protocol.releases import RELEASES

RECORDED = {
    "3.9": {},
    "4.3": {
        "eligible.leader.replicas.version": (0, 1, 1),
        "group.version": (0, 1, 1),
        "share.version": (0, 1, 1),
        "streams.version": (0, 1, 1),
        "transaction.version": (0, 2, 2),
    },
}
"""Lowest, highest and finalized level."""


@pytest.mark.parametrize("release", RECORDED)
def test_levels_are_those_of_the_release(release: str) -> None:
    for feature in features_as_of(release):
        found = (feature.min_level, feature.max_level, feature.finalized_level)
        assert found == RECORDED[release][feature.name]


def test_the_protocol_of_consumer_groups_begins_with_4_0() -> None:
    with_groups = [
        release
        for release in RELEASES
        if "group.version" in {feature.name for feature in features_as_of(release)}
    ]
    assert with_groups == ["4.0", "4.1", "4.2", "4.3"]


def test_what_a_release_does_not_have_is_at_its_lowest_level() -> None:
    levels = [finalized_level(release, "transaction.version") for release in ("3.9", "4.0", None)]
    assert levels == [0, 2, 2]
    assert finalized_level("4.3", "share.version") == 0


def test_without_a_release_features_are_those_of_the_newest() -> None:
    assert features_as_of(None) == features_as_of(RELEASES[-1])


def test_a_release_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="known are"):
        features_as_of("9.9")
