from __future__ import annotations

import pytest

from conformance.card import GROUPS
from conformance.core.catalogue import CLIENT_APIS, PLAIN, SECURED, variants
from conformance.core.every_case import EVERY_CASE, SECURED_CASES
from conformance.core.script import Case
from conformance.trial import RELEASES, load_expectations


def test_every_case_says_what_it_is_about_and_has_a_group_of_the_card() -> None:
    every = [*EVERY_CASE, *SECURED_CASES]
    assert [each.name for each in every if not each.about] == []
    assert [each.name for each in every if each.group not in GROUPS] == []


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    ("profile", "cases", "sweep", "count"),
    [(PLAIN, EVERY_CASE, "minimal/", 1_000), (SECURED, SECURED_CASES, "nobody/", 900)],
    ids=[PLAIN, SECURED],
)
def test_what_was_recorded_is_the_catalogue_whole_and_nothing_else(
    release: str, profile: str, cases: list[Case], sweep: str, count: int
) -> None:
    """Messages that jbodlab gained since are asked for when somebody records again."""
    expectations = load_expectations(release, profile)
    wanted = list(variants(cases, expectations.announced))
    asked = {name.partition("/")[2] for name in expectations.seen if name.startswith(sweep)}
    gained = [
        each.name
        for each in wanted
        if each.name not in expectations.seen and f"{each.case.api}@v{each.version}" in asked
    ]
    assert gained == []
    assert sorted(expectations.seen.keys() - {each.name for each in wanted}) == []
    assert len(expectations.seen) > count


@pytest.mark.parametrize("release", RELEASES)
def test_every_api_of_clients_is_asked_at_every_version(release: str) -> None:
    seen = load_expectations(release).seen
    asked = {name.partition("@")[0] for name in seen}
    announced = [each for each in CLIENT_APIS if f"minimal/{each}" in asked]
    assert len(announced) > 45


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("profile", [PLAIN, SECURED])
def test_kafka_answers_everything_that_is_recorded(release: str, profile: str) -> None:
    seen = load_expectations(release, profile).seen
    assert [name for name, each in seen.items() if "silence" in str(each)] == []
    assert [name for name, each in seen.items() if "malformed" in str(each)] == []
    assert [name for name, each in seen.items() if "stopped" in str(each)] == []
