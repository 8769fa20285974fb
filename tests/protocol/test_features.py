"""Features of releases, as new brokers of 3.9.2 (with ZooKeeper) and 4.3.1 tell them.

``tests/golden/features.jsonl.gz`` has their answers to ApiVersions.
"""

from __future__ import annotations

import pytest

from protocol.features import cluster_release, features_as_of, finalized_level
from protocol.releases import RELEASES
from tests.golden.vectors import load_vectors

RECORDED = {line["release"]: line for line in load_vectors("features") if line["version"] == 4}


@pytest.mark.parametrize("release", RECORDED)
def test_levels_are_those_of_the_release(release: str) -> None:
    supported, finalized = RECORDED[release]["supported"], RECORDED[release]["finalized"]
    known = {feature.name: feature for feature in features_as_of(release)}
    assert bool(known) is bool(finalized)
    for name, feature in known.items():
        assert [feature.min_level, feature.max_level] == supported[name]
        assert [feature.finalized_level] * 2 == finalized[name]


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


@pytest.mark.parametrize(
    ("releases", "oldest"),
    [
        ([None, None], None),
        ([None, "3.9", "4.3"], "3.9"),
        (["4.3", "0.11", "2.4"], "0.11"),
        (["4.3", None], "4.3"),
    ],
)
def test_a_cluster_finalizes_what_its_oldest_broker_does(
    releases: list[str | None], oldest: str | None
) -> None:
    assert cluster_release(releases) == oldest


def test_a_release_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="known are"):
        features_as_of("9.9")
