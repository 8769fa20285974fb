from __future__ import annotations

import pytest

from conformance.core.forms import (
    correlation_id_of,
    fitted,
    frame_of,
    read_answer,
    sent_bytes,
)
from conformance.core.script import Raw, Request
from protocol.errors import Malformed
from protocol.json_form import decode_header, encode_body, encode_header


def test_fields_that_a_version_lacks_are_left_out_at_every_depth() -> None:
    topics = [{"topic": "t", "topicId": "x", "partitions": [{"partition": 0, "fetchOffset": 1}]}]
    form = {"maxWaitMs": 1, "sessionId": 5, "topics": topics}
    rows = [{"topic": "t", "partitions": [{"partition": 0, "fetchOffset": 1}]}]
    assert fitted("Fetch", "request", 4, form) == {"maxWaitMs": 1, "topics": rows}


def test_a_field_that_no_version_has_is_a_mistake_of_the_case() -> None:
    with pytest.raises(ValueError, match="no field nonsense"):
        frame_of(Request("Metadata", 1, {"nonsense": 1}), 0)


def test_a_frame_has_its_header_and_may_be_altered() -> None:
    frame = frame_of(Request("ApiVersions", 0, alter=lambda whole: whole + b"x"), 77)
    header, end = decode_header("ApiVersions", "request", 0, frame)
    assert header == {
        "requestApiKey": 18,
        "requestApiVersion": 0,
        "correlationId": 77,
        "clientId": "conform",
    }
    assert frame[end:] == b"x"
    assert sent_bytes(Raw(b"as it is"), 1) == b"as it is"


def test_an_answer_is_read_and_one_that_goes_on_is_malformed() -> None:
    head = encode_header("Heartbeat", "response", 0, {"correlationId": 9})
    frame = head + encode_body("Heartbeat", "response", 0, {"errorCode": 25})
    assert correlation_id_of(frame) == 9
    assert correlation_id_of(b"\0") == 0
    assert read_answer("Heartbeat", 0, frame) == {"errorCode": 25}
    with pytest.raises(Malformed):
        read_answer("Heartbeat", 0, frame + b"\0")


def test_a_refused_version_of_api_versions_is_answered_in_version_zero() -> None:
    head = encode_header("ApiVersions", "response", 3, {"correlationId": 9})
    frame = head + encode_body("ApiVersions", "response", 0, {"errorCode": 35})
    assert read_answer("ApiVersions", 3, frame) == {"asVersion": 0, "errorCode": 35, "apiKeys": []}
