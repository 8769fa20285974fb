import sys
from collections.abc import Iterator
from typing import Any, cast

import pytest

from protocol.apis import APIS
from protocol.errors import Malformed
from protocol.json_form import (
    decode_body,
    decode_header,
    encode_body,
    encode_header,
    from_json,
    json_name,
    to_json,
)
from protocol.messages.fetch import FetchRequest
from protocol.messages.metadata import MetadataRequest
from protocol.wire.fast import codec
from protocol.wire.table import META
from tests.golden.message_vectors import Vector, class_of, message_vectors
from tests.golden.vectors import load_vectors

FRAMES = load_vectors("frames")


def counts_by_version(vectors: list[Vector]) -> str:
    versions = [vector["version"] for vector in vectors]
    return ", ".join(f"v{version}: {versions.count(version)}" for version in sorted({*versions}))


@pytest.mark.parametrize(("api", "kind"), list(message_vectors()))
def test_kafkas_json_and_bytes_are_one_message(api: str, kind: str) -> None:
    cls = class_of(api, kind)
    for vector in message_vectors()[api, kind]:
        version, data = vector["version"], bytes.fromhex(vector["hex"])
        assert to_json(codec(cls, version).decode(data), version) == vector["json"]
        if "unknownTags" not in vector:
            built = from_json(cls, version, vector["json"])
            assert codec(cls, version).encode(built) == data
    # Seen with pytest -s.
    sys.stdout.write(f"\n{api} {kind} passed: {counts_by_version(message_vectors()[api, kind])}\n")


@pytest.mark.parametrize(("api", "kind"), list(message_vectors()))
def test_a_new_message_has_kafkas_defaults(api: str, kind: str) -> None:
    cls = class_of(api, kind)
    defaults = [v for v in message_vectors()[api, kind] if v["case"] == "defaults"]
    assert defaults
    for vector in defaults:
        assert to_json(cls(), vector["version"]) == vector["json"]


def test_the_tables_have_every_version_of_kafka_3_9_and_4_3_and_no_other() -> None:
    for (api, kind), vectors in message_vectors().items():
        versions = META[class_of(api, kind)].versions
        assert {*range(versions.low, versions.high + 1)} == {v["version"] for v in vectors}


def test_every_api_has_vectors() -> None:
    assert [
        (api.name, kind)
        for api in APIS.values()
        for kind in ("request", "response")
        if (api.name, kind) not in message_vectors()
    ] == []


@pytest.mark.parametrize("api", [api.name for api in APIS.values()])
def test_whole_frames_are_taken_apart_and_put_together(api: str) -> None:
    frames = [frame for frame in FRAMES if frame["api"] == api]
    assert frames
    for frame in frames:
        name = frame["api"], frame["kind"], frame["version"]
        data = bytes.fromhex(frame["hex"])[4:]
        header, start = decode_header(*name, data)
        assert header == frame["header"]
        assert decode_body(*name, data[start:]) == frame["json"]
        assert encode_header(*name, header) + encode_body(*name, frame["json"]) == data


def test_fields_that_the_form_lacks_take_their_defaults() -> None:
    assert from_json(FetchRequest, 12, {"maxWaitMs": 5}) == FetchRequest(max_wait_ms=5)


def test_a_field_that_no_version_has_is_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match=r"MetadataRequest: no field topix; MetadataRequest has topics,"
    ):
        from_json(MetadataRequest, 12, {"topix": []})


def test_an_api_that_is_not_served_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match="no messages for ShareFetch"):
        decode_body("ShareFetch", "request", 1, b"")


def test_an_api_may_be_named_by_its_key() -> None:
    assert decode_body(3, "request", 1, b"\xff\xff\xff\xff") == {"topics": None}
    with pytest.raises(KeyError, match="no messages for ShareFetch"):
        decode_body(78, "request", 1, b"")


@pytest.mark.parametrize(("api", "kind"), list(message_vectors()))
def test_unknown_tagged_fields_are_kept_on_request(api: str, kind: str) -> None:
    for vector in message_vectors()[api, kind]:
        if "unknownTags" not in vector:
            continue
        name, data = (api, vector["kind"], vector["version"]), bytes.fromhex(vector["hex"])
        assert decode_body(*name, data) == vector["json"]
        form = decode_body(*name, data, keep_unknown_tags=True)
        assert encode_body(*name, form) == data
        expected = [(tag["path"], tag["tag"], tag["hex"]) for tag in vector["unknownTags"]]
        assert sorted(unknown_tags(form)) == sorted(expected)


def unknown_tags(form: Any, path: str = "") -> Iterator[tuple[str, int, str]]:
    """Yield (path, tag, hex) of every unknown tagged field in a form, as the vectors list them."""
    for key, item in form.items():
        place = f"{path}.{key}" if path else key
        if key == "unknownTags":
            yield from ((path, one["tag"], one["hex"]) for one in item)
        elif isinstance(item, dict):
            yield from unknown_tags(item, place)
        elif isinstance(item, list):
            elements = cast("list[Any]", item)
            for index, one in enumerate(elements):
                if isinstance(one, dict):
                    yield from unknown_tags(one, f"{place}[{index}]")


@pytest.mark.parametrize(
    "tags", [5, [5], [{"tag": 1}], [{"tag": "1", "hex": ""}], [{"tag": 1, "hex": "x"}]]
)
def test_unknown_tagged_fields_of_another_shape_are_refused(tags: Any) -> None:
    with pytest.raises(ValueError, match="MetadataRequest -> unknownTags"):
        encode_body("Metadata", "request", 9, {"unknownTags": tags})


def test_headers_and_stored_records_go_by_the_name_of_their_schema() -> None:
    header = {"correlationId": 7}
    assert decode_body("ResponseHeader", "header", 0, b"\0\0\0\7") == header
    assert encode_body("ResponseHeader", "header", 0, header) == b"\0\0\0\7"
    assert decode_body("GroupMetadataKey", "data", 2, b"\0\1g") == {"group": "g"}
    assert encode_body("GroupMetadataKey", "coordinator-key", 0, {"group": "g"}) == b"\0\1g"
    with pytest.raises(KeyError, match="no messages for VoterRecord"):
        decode_body("VoterRecord", "data", 0, b"")


def test_a_kind_is_a_request_or_a_response() -> None:
    with pytest.raises(ValueError, match="'reply' is neither request nor response"):
        decode_body("Metadata", "reply", 1, b"")


def test_bytes_that_are_no_message_are_malformed() -> None:
    with pytest.raises(Malformed, match="topics"):
        decode_body("Metadata", "request", 1, b"\0")
    with pytest.raises(Malformed):
        decode_header("Metadata", "request", 1, b"\0")


@pytest.mark.parametrize(
    ("version", "form"),
    [
        (9, {"topics": [{"name": 5}]}),
        (9, {"topics": 5}),
        (9, {"topics": [5]}),
        (9, {"topics": [{"name": None}]}),
        (9, {"allowAutoTopicCreation": 1}),
        (12, {"topics": [{"topicId": "!"}]}),
        (12, {"topics": [{"topicId": "short"}]}),
        (9, {"allowAutoTopicCreation": None}),
    ],
)
def test_a_form_of_the_wrong_types_is_a_value_error(version: int, form: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the messages differ
        encode_body("Metadata", "request", version, form)


def test_an_error_says_where_the_form_is_wrong() -> None:
    form = {"topics": [{"name": "a"}, {"name": 5}]}
    with pytest.raises(ValueError, match=r"MetadataRequest -> topics\[1\] -> name: 5"):
        encode_body("Metadata", "request", 9, form)


def test_a_version_that_a_header_cannot_go_before_is_refused() -> None:
    with pytest.raises(KeyError, match="Metadata has versions 0 to 13, not 14"):
        encode_header("Metadata", "request", 14, {})


def test_json_names_are_kafkas() -> None:
    assert json_name("replica_id") == "replicaId"
    assert json_name("v3_and_below_topics") == "v3AndBelowTopics"
