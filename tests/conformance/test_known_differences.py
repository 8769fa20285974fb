from __future__ import annotations

from pathlib import Path

import pytest

from conformance.core.every_case import EVERY_CASE, SECURED_CASES
from conformance.known_differences import LISTS, known_differences
from conformance.trial import RELEASES

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"
ROWS = [line[2:].partition(" | ")[0] for line in PAGE.read_text().splitlines() if line[:2] == "| "]


@pytest.mark.parametrize("name", LISTS)
def test_each_known_difference_is_a_row_of_the_page_and_has_a_number_of_its_own(name: str) -> None:
    known = known_differences(name)
    assert [each.row for each in known if each.row not in ROWS] == []
    assert [each.number for each in known] == list(range(1, len(known) + 1))
    assert [each.number for each in known if not 2 < len(each.what.split()) < 13] == []
    assert len({each.what for each in known}) == len(known)


def test_what_differs_from_one_release_is_not_excused_with_another() -> None:
    numbers = [
        {each.number for each in known_differences("jbodlab", release)} for release in RELEASES
    ]
    assert numbers[0] - numbers[1]
    assert numbers[1] - numbers[0]
    assert numbers[0] | numbers[1] == {each.number for each in known_differences("jbodlab")}


@pytest.mark.parametrize("name", LISTS)
def test_each_known_difference_names_groups_that_there_are(name: str) -> None:
    groups = {each.group for each in (*EVERY_CASE, *SECURED_CASES)} | {"announced", "*"}
    named = {case.partition("/")[0] for each in known_differences(name) for case in each.cases}
    assert named - groups == set()
