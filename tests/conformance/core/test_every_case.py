from __future__ import annotations

import pytest

from conformance.card import GROUPS
from conformance.core.catalogue import CLIENT_APIS, variants
from conformance.core.every_case import EVERY_CASE
from conformance.trial import RELEASES, load_expectations


def test_every_case_says_what_it_is_about_and_has_a_group_of_the_card() -> None:
    assert [each.name for each in EVERY_CASE if not each.about] == []
    assert [each.name for each in EVERY_CASE if each.group not in GROUPS] == []


@pytest.mark.parametrize("release", RELEASES)
def test_what_was_recorded_is_the_catalogue_whole_and_nothing_else(release: str) -> None:
    """Messages that jbodlab gained since are asked for when somebody records again."""
    expectations = load_expectations(release)
    wanted = list(variants(EVERY_CASE, expectations.announced))
    asked = {name.partition("/")[2] for name in expectations.seen if name.startswith("minimal/")}
    gained = [
        each.name
        for each in wanted
        if each.name not in expectations.seen and f"{each.case.api}@v{each.version}" in asked
    ]
    assert gained == []
    assert sorted(expectations.seen.keys() - {each.name for each in wanted}) == []
    assert len(expectations.seen) > 1000


@pytest.mark.parametrize("release", RELEASES)
def test_every_api_of_clients_is_asked_at_every_version(release: str) -> None:
    seen = load_expectations(release).seen
    asked = {name.partition("@")[0] for name in seen}
    announced = [each for each in CLIENT_APIS if f"minimal/{each}" in asked]
    assert len(announced) > 45


@pytest.mark.parametrize("release", RELEASES)
def test_kafka_answers_everything_that_is_recorded(release: str) -> None:
    seen = load_expectations(release).seen
    assert [name for name, each in seen.items() if "silence" in str(each)] == []
    assert [name for name, each in seen.items() if "malformed" in str(each)] == []
    assert [name for name, each in seen.items() if "stopped" in str(each)] == []
