"""What releases announce, held against what their own jars say.

``releases.jsonl.gz`` has a line per release: the answer to ApiVersions as the classes of
``kafka-clients`` of that version compute it, with unstable versions off, of all APIs. To 2.7 that
is every enabled ApiKeys; from 2.8 on ApiVersionsResponse.filterApis, to 3.9 for ZK_BROKER.
"""

from __future__ import annotations

import pytest

from protocol.apis import APIS
from protocol.releases import (
    RELEASES,
    is_read,
    is_since,
    release_position,
    shows,
    versions_as_of,
)
from tests.golden.vectors import load_vectors


@pytest.mark.parametrize("recorded", load_vectors("releases"), ids=lambda line: line["release"])
def test_a_release_announces_what_its_jar_says(recorded: dict[str, dict[str, list[int]]]) -> None:
    found = versions_as_of(str(recorded["release"]))
    assert {str(key): [each.low, each.high] for key, each in found.items()} == {
        key: versions for key, versions in recorded["apis"].items() if int(key) in APIS
    }


def test_there_is_a_record_of_every_release() -> None:
    assert [line["release"] for line in load_vectors("releases")] == list(RELEASES)


def test_every_announced_version_has_its_messages() -> None:
    for release in RELEASES:
        for key, versions in versions_as_of(release).items():
            assert versions.low in APIS[key].versions, (release, APIS[key].name)
            assert versions.high in APIS[key].versions, (release, APIS[key].name)


def test_apis_come_and_go() -> None:
    assert 34 not in versions_as_of("0.11")
    assert 34 in versions_as_of("1.0")
    assert 4 in versions_as_of("3.9")
    assert 4 not in versions_as_of("4.0")


@pytest.mark.parametrize("release", ["2.10", "5.0", "", "2.4.1"])
def test_an_unknown_release_is_refused_with_the_known_ones(release: str) -> None:
    with pytest.raises(ValueError, match=rf"no Kafka release {release}; known are 0\.11, .*4\.3"):
        versions_as_of(release)


def test_releases_are_in_order() -> None:
    assert release_position("0.11") < release_position("2.8") < release_position("4.0")


def test_no_release_is_the_newest() -> None:
    assert [is_since(each, "4.0") for each in ("0.11", "3.9", "4.0", "4.3", None)] == [
        *(False, False, True, True, True)
    ]


def test_without_a_release_the_rules_are_those_of_3_9() -> None:
    assert [shows(each, "4.0") for each in ("3.9", "4.0", "4.3", None)] == [
        *(False, True, True, False)
    ]


def test_kafka_4_announces_old_produce_versions_but_does_not_read_them() -> None:
    assert versions_as_of("4.3")[0].low == 0
    assert [version for version in range(14) if is_read("4.3", 0, version)] == list(range(3, 14))
    assert is_read("3.9", 0, 0)


def test_what_is_not_announced_is_not_read() -> None:
    assert is_read("2.4", 0, 8)
    assert not is_read("2.4", 0, 9)
    assert not is_read("0.11", 34, 0)
