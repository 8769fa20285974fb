"""Both ends of what the fields of a request can be."""

from __future__ import annotations

import pytest

from conformance.core.catalogue import CLIENT_APIS
from conformance.core.extremes import Extreme
from protocol.apis import BY_NAME
from protocol.json_form import decode_body, encode_body

LOWEST = Extreme(is_high=False, name="", fixed={"records": ""})
HIGHEST = Extreme(is_high=True, name="long", fixed={"records": ""})


def test_numbers_are_at_their_ends_and_arrays_have_one_entry() -> None:
    assert LOWEST.request("ListOffsets", 5) == {
        "replicaId": -(2**31),
        "isolationLevel": -128,
        "topics": [
            {
                "name": "",
                "partitions": [
                    {
                        "partitionIndex": -(2**31),
                        "currentLeaderEpoch": -(2**31),
                        "timestamp": -(2**63),
                    }
                ],
            }
        ],
    }
    high = HIGHEST.request("ListOffsets", 5)
    assert (high["isolationLevel"], high["topics"][0]["name"]) == (127, "long")
    assert high["topics"][0]["partitions"][0]["timestamp"] == 2**63 - 1


def test_what_may_be_null_is_in_the_lowest_alone() -> None:
    assert LOWEST.request("Metadata", 12)["topics"] is None
    assert len(HIGHEST.request("Metadata", 12)["topics"]) == 1


def test_what_is_fixed_is_at_no_end() -> None:
    (topic,) = LOWEST.request("Produce", 9)["topicData"]
    assert topic["partitionData"] == [{"index": -(2**31), "records": ""}]


@pytest.mark.parametrize("api", CLIENT_APIS)
def test_every_request_can_be_sent_at_every_version(api: str) -> None:
    known = BY_NAME[api].versions
    for version in range(known.low, known.high + 1):
        for extreme in (LOWEST, HIGHEST):
            form = extreme.request(api, version)
            body = encode_body(api, "request", version, form)
            read = decode_body(api, "request", version, body)
            assert encode_body(api, "request", version, read) == body
