"""ApiVersions: names that a client may not carry are refused. The list: tests of the dispatcher."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.fakes import FakeBroker


@pytest.mark.parametrize(
    ("name", "version", "code"),
    [
        ("kafka-python", "3.0.0", ErrorCode.NONE),
        ("", "1", ErrorCode.INVALID_REQUEST),
        ("-kafka", "1", ErrorCode.INVALID_REQUEST),
        ("kafka", "1\n", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_software_names_are_checked_from_version_3_on(
    broker: FakeBroker, name: str, version: str, code: ErrorCode
):
    request = ApiVersionsRequest(client_software_name=name, client_software_version=version)
    assert (await broker.ask(request, 3)).error_code == code
    assert (await broker.ask(request, 2)).error_code == ErrorCode.NONE
