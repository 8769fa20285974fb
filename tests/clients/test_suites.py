"""What a suite's report says of us."""

from __future__ import annotations

import pytest

from tests.clients.suites import judged

SKIPPED = '<skipped message="Requires KAFKA_VERSION &lt; 0.10.1"/>'
BY_VERSION = "(Requires KAFKA_VERSION < 0.10.1)"
PASSED = f'<testcase name="test_a"/><testcase name="test_b">{SKIPPED}</testcase>'
SASL = '<testcase classname="test.integration.test_sasl_integration" name="test_client"/>'


def test_a_suite_passes_when_it_misses_nothing() -> None:
    others, secured = judged(f"<testsuite>{PASSED}{SASL}</testsuite>")
    assert (others.passed, others.told) == (True, f"1 passed, 1 skipped {BY_VERSION}")
    assert (secured.item, secured.passed, secured.told[:8]) == ("sasl and ssl", True, "1 passed")


def test_a_test_that_failed_is_a_miss() -> None:
    result, _ = judged(f'<testsuite>{PASSED}<testcase name="c"><error/></testcase></testsuite>')
    assert (result.passed, result.told) == (False, f"1 passed, 1 skipped {BY_VERSION}, failed: c")


def test_a_miss_is_told_with_the_first_line_of_its_reason() -> None:
    failure = '<failure message="AssertionError: timeout&#10;more"/>'
    result, _ = judged(f'<testsuite>{PASSED}<testcase name="c">{failure}</testcase></testsuite>')
    assert result.told.endswith("failed: c (AssertionError: timeout)")


@pytest.mark.parametrize("tested", [PASSED, SASL])
def test_a_test_that_is_skipped_for_anything_but_its_version_is_a_miss(tested: str) -> None:
    skipped = '<testcase name="d"><skipped message="Requires snappy"/></testcase>'
    if tested == SASL:
        skipped = skipped.replace("name", 'classname="test.integration.test_sasl_integration" name')
    results = judged(f"<testsuite>{PASSED}{SASL}{skipped}</testsuite>")
    result = results[tested == SASL]
    assert (result.passed, result.told.rpartition(", ")[2]) == (False, "not run: d")
    assert "Requires snappy" in result.told
    assert results[tested != SASL].passed


def test_a_suite_of_which_nothing_passed_has_failed() -> None:
    others, secured = judged("<testsuite></testsuite>")
    assert not others.passed
    assert not secured.passed
