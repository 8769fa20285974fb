from __future__ import annotations

import pytest

from benchmarks.hostile.requests import served
from benchmarks.hostile.worst_requests import arrays_of, attacks_of, fill
from protocol.apis import BY_NAME, Api
from protocol.connection import read_request
from protocol.messages.metadata import MetadataRequest
from protocol.messages.offsets import ListOffsetsRequest
from protocol.wire.fast import codec


def test_every_array_of_a_request_is_found_outer_ones_first() -> None:
    paths = list(arrays_of(ListOffsetsRequest, 5))
    assert paths == [("topics",), ("topics", "partitions")]


def test_the_array_attacked_is_long_and_the_others_have_one_entry() -> None:
    wide = fill(ListOffsetsRequest, 5, ("topics",), 7)
    deep = fill(ListOffsetsRequest, 5, ("topics", "partitions"), 7)
    assert [len(topic.partitions) for topic in wide.topics] == [1] * 7
    assert [len(topic.partitions) for topic in deep.topics] == [7]


def test_every_entry_has_a_name_of_its_own() -> None:
    request = fill(MetadataRequest, 9, ("topics",), 50)
    assert len({topic.name for topic in request.topics}) == 50


@pytest.mark.parametrize("api", sorted({api.name for _, api, _ in served()}))
def test_every_api_that_is_served_gets_requests_that_can_be_read(api: str) -> None:
    found: Api = BY_NAME[api]
    version = max(each.high for _, one, each in served() if one is found)
    for attack in attacks_of(found, version, 3):
        received = read_request(bytearray(attack.frame[4:]))
        codec(found.request, version).decode(received.body)
