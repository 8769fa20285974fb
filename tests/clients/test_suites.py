"""What a suite's report says of us."""

from __future__ import annotations

from tests.clients.suites import NOT_SERVED, judged

PASSED = '<testcase name="test_a"/><testcase name="test_b"><skipped/></testcase>'
EXPECTED = "".join(f'<testcase name="{name}"><failure/></testcase>' for name in NOT_SERVED)


def test_a_suite_passes_when_it_misses_what_is_not_served_alone() -> None:
    result = judged(f"<testsuite>{PASSED}{EXPECTED}</testsuite>")
    assert (result.passed, result.told[:19]) == (True, "1 passed, 1 skipped")


def test_any_other_miss_is_one() -> None:
    result = judged(
        f'<testsuite>{PASSED}{EXPECTED}<testcase name="c"><error/></testcase></testsuite>'
    )
    assert (result.passed, result.told) == (False, "1 passed, 1 skipped, failed: c")


def test_what_passes_though_it_is_not_served_is_told() -> None:
    assert not judged(f"<testsuite>{PASSED}</testsuite>").passed


def test_a_suite_of_which_nothing_passed_has_failed() -> None:
    assert not judged(f"<testsuite>{EXPECTED}</testsuite>").passed
