from __future__ import annotations

from conformance.core.catalogue import matches, variants
from conformance.core.every_case import EVERY_CASE
from conformance.core.script import Case, Given, Script


def nothing(_: Given) -> Script:
    yield from ()


def test_a_case_runs_at_the_versions_that_it_names() -> None:
    def at(versions: str, since: int = 0) -> list[int]:
        return Case("a/b", "", nothing, "Fetch", versions, since=since).versions_among(2, 5)

    assert [at("all"), at("newest"), at("oldest"), at("ends")] == [[2, 3, 4, 5], [5], [2], [2, 5]]
    assert [at("all", 4), at("oldest", 4), at("all", 6)] == [[4, 5], [4], []]


def test_versions_are_those_that_are_announced_and_that_have_messages() -> None:
    cases = [each for each in EVERY_CASE if each.name == "minimal/Heartbeat"]
    names = [each.name for each in variants(cases, {12: (3, 99)})]
    assert names == ["minimal/Heartbeat@v3", "minimal/Heartbeat@v4"]
    assert list(variants(cases, {})) == []


def test_a_pattern_means_a_group_a_case_or_a_variant() -> None:
    name = "typical/Fetch@v12"
    assert [matches(name, each) for each in ("*", "typical", "typical/Fetch", "*/Fetch@v1?")] == [
        True
    ] * 4
    assert not matches(name, "Fetch")
