"""Codes that old clients get instead of those they do not know."""

from __future__ import annotations

import pytest

from broker.core.old_clients import fetch_error, list_offsets_error
from protocol.errors import ErrorCode


@pytest.mark.scenario(61)
def test_fetch_up_to_version_5_reads_a_storage_error_as_a_lost_leader() -> None:
    answered = [fetch_error(ErrorCode.KAFKA_STORAGE_ERROR, version) for version in range(18)]
    assert answered == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 6 + [ErrorCode.KAFKA_STORAGE_ERROR] * 12


@pytest.mark.scenario(63)
def test_list_offsets_passes_a_storage_error_in_every_version() -> None:
    for version in range(10):
        code = list_offsets_error(ErrorCode.KAFKA_STORAGE_ERROR, version)
        assert code == ErrorCode.KAFKA_STORAGE_ERROR


def test_list_offsets_up_to_version_4_reads_a_lagging_leader_as_none() -> None:
    code = ErrorCode.OFFSET_NOT_AVAILABLE
    assert list_offsets_error(code, 4) == ErrorCode.LEADER_NOT_AVAILABLE
    assert list_offsets_error(code, 5) == code


def test_other_codes_pass() -> None:
    for code in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.FENCED_LEADER_EPOCH):
        assert fetch_error(code, 0) == code
        assert list_offsets_error(code, 0) == code
