"""What a suite's report says of us."""

from __future__ import annotations

from tests.clients.suites import judged

SKIPPED = '<skipped message="Requires KAFKA_VERSION &lt; 0.10.1"/>'
PASSED = f'<testcase name="test_a"/><testcase name="test_b">{SKIPPED}</testcase>'
SASL = '<testcase classname="test.integration.test_sasl_integration" name="test_client"/>'


def test_a_suite_passes_when_it_misses_nothing() -> None:
    others, secured = judged(f"<testsuite>{PASSED}{SASL}</testsuite>")
    assert (others.passed, others.told) == (True, "1 passed, 1 skipped")
    assert (secured.item, secured.passed, secured.told[:8]) == ("sasl and ssl", True, "1 passed")


def test_a_test_that_failed_is_a_miss() -> None:
    result, _ = judged(f'<testsuite>{PASSED}<testcase name="c"><error/></testcase></testsuite>')
    assert (result.passed, result.told) == (False, "1 passed, 1 skipped, failed: c")


def test_a_miss_is_told_with_the_first_line_of_its_reason() -> None:
    failure = '<failure message="AssertionError: timeout&#10;more"/>'
    result, _ = judged(f'<testsuite>{PASSED}<testcase name="c">{failure}</testcase></testsuite>')
    assert result.told.endswith("failed: c (AssertionError: timeout)")


def test_a_test_of_sasl_that_is_skipped_for_anything_but_its_version_is_told() -> None:
    skipped = SASL.replace(
        "/>", '><skipped message="Testing on external Kafka Broker"/></testcase>'
    )
    _, secured = judged(f"<testsuite>{PASSED}{SASL}{skipped}</testsuite>")
    assert (secured.passed, secured.told[-22:]) == (False, ", not run: test_client")


def test_a_suite_of_which_nothing_passed_has_failed() -> None:
    others, secured = judged("<testsuite></testsuite>")
    assert not others.passed
    assert not secured.passed
