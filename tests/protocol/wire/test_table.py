import pytest

from protocol.wire import types as t
from protocol.wire.table import (
    BYTES,
    META,
    RECORDS,
    STRING,
    Versions,
    array,
    construct_for,
    field,
    message,
    rows_of,
    struct,
)


@struct
class Item:
    """A part."""

    name: str = field(STRING)
    weight: float = field(t.FLOAT64, "1+", default=1.5)


@message(None, "data", versions="0-3", flexible="2+")
class Parcel:
    """Every kind of field."""

    id: bytes = field(t.UUID)
    items: list[Item] | None = field(array(Item), nullable="1+")
    best: Item = field(Item, "2+", tag=1)
    note: str | None = field(STRING, "1+", default=None, nullable="1+", ignorable=True)
    first_tagged_later: int = field(t.INT32, "1+", tag=0, tagged="3+", default=-1)
    raw: bytes = field(BYTES)
    records: bytes = field(RECORDS)
    sealed: bool = field(t.BOOL)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3+", [3, 32767], [2]), ("2-4", [2, 4], [1, 5]), ("7", [7], [6, 8]), ("none", [], [0, 1])],
)
def test_versions_read_like_kafkas_schemas(
    text: str, inside: list[int], outside: list[int]
) -> None:
    versions = Versions.parse(text)
    assert [v for v in inside if v not in versions] == []
    assert [v for v in outside if v in versions] == []


def test_fields_take_the_zero_of_their_type_unless_told() -> None:
    assert Parcel() == Parcel(
        id=bytes(16),
        items=(),  # pyright: ignore[reportArgumentType] - what a default array is
        best=Item(name="", weight=1.5),
        note=None,
        first_tagged_later=-1,
        raw=b"",
        records=b"",
        sealed=False,
    )


def test_a_version_has_the_fields_of_its_rows() -> None:
    assert [[name for name, _ in construct_for(Parcel, v).fields] for v in range(4)] == [
        ["id", "items", "raw", "records", "sealed"],
        ["id", "items", "note", "first_tagged_later", "raw", "records", "sealed"],
        ["id", "items", "note", "first_tagged_later", "raw", "records", "sealed"],
        ["id", "items", "note", "raw", "records", "sealed"],
    ]


def test_tagged_fields_are_sorted_by_tag() -> None:
    assert [field.name for field in construct_for(Parcel, 3).tagged] == [
        "first_tagged_later",
        "best",
    ]


def test_only_fields_that_are_not_ignorable_are_missed() -> None:
    assert [field.name for field in construct_for(Parcel, 0).absent] == [
        "best",
        "first_tagged_later",
    ]


def test_rows_are_in_wire_order_with_their_defaults() -> None:
    assert [(name, default) for name, _, default in rows_of(Item)] == [
        ("name", ""),
        ("weight", 1.5),
    ]


def test_a_message_is_registered_with_its_versions() -> None:
    assert META[Parcel].versions == Versions(0, 3)
    assert 1 not in META[Parcel].flexible


def test_a_version_out_of_range_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match="Parcel has versions 0 to 3, not 4"):
        construct_for(Parcel, 4)


def test_structs_have_slots_and_take_keywords_only() -> None:
    assert not hasattr(Item(), "__dict__")
    with pytest.raises(TypeError):
        Item("name")  # pyright: ignore[reportCallIssue] - that is the point
