import subprocess
import sys

import pytest

from protocol.apis import (
    APIS,
    BY_NAME,
    NOT_SERVED,
    api_of,
    request_header_version,
    response_header_version,
)
from protocol.wire.table import META
from tests.golden.vectors import load_vectors


def test_every_api_has_a_request_and_a_response_of_its_key_and_the_same_versions() -> None:
    for key, api in APIS.items():
        request, response = META[api.request], META[api.response]
        assert (request.api_key, request.kind) == (key, "request")
        assert (response.api_key, response.kind) == (key, "response")
        assert request.versions == response.versions == api.versions
        assert api.request.__name__ == f"{api.name}Request"


def test_header_versions_are_those_of_kafkas_frames() -> None:
    find = {"request": request_header_version, "response": response_header_version}
    frames = [frame for frame in load_vectors("frames") if frame["key"] in APIS]
    assert frames
    assert [
        frame
        for frame in frames
        if find[frame["kind"]](frame["key"], frame["version"]) != frame["headerVersion"]
    ] == []


def test_frames_of_other_apis_are_known_not_to_be_served() -> None:
    others = {frame["key"]: frame["api"] for frame in load_vectors("frames")} | NOT_SERVED
    assert others == NOT_SERVED | {key: api.name for key, api in APIS.items()}


def test_an_api_is_found_by_name_and_by_key() -> None:
    assert api_of("Fetch") is api_of(1) is BY_NAME["Fetch"]


@pytest.mark.parametrize("name_or_key", [78, "ShareFetch"])
def test_an_api_that_is_not_served_is_named(name_or_key: str | int) -> None:
    with pytest.raises(KeyError, match="no messages for ShareFetch"):
        api_of(name_or_key)


def test_a_key_that_kafka_does_not_have_is_said_to_be_so() -> None:
    with pytest.raises(KeyError, match="no API with key 999"):
        api_of(999)


def test_messages_are_imported_when_they_are_asked_for() -> None:
    code = (
        "import sys\n"
        "from protocol.apis import APIS\n"
        "assert 'protocol.messages.fetch' not in sys.modules\n"
        "assert APIS[1].request.__name__ == 'FetchRequest'\n"
        "assert 'protocol.messages.groups' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
