"""Shapes: every mistake with its path, in words."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta, Struct, field

from protocol.document_shape import Leaves, did_you_mean, place, shape_mistakes, shown


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Wheel(Struct, kw_only=True):
    size: Annotated[int, Meta(ge=1)]
    colour: Colour = Colour.RED
    side: Literal["left", "right"] | None = None
    origin: str = field(name="from", default="here")


class Car(Struct, kw_only=True):
    wheels: list[Wheel]
    doors: int = 4


def told(value: Any) -> list[str]:
    return list(shape_mistakes(value, Car, (), {}))


def test_what_fits_is_kept_by_its_path_with_plain_defaults() -> None:
    leaves: Leaves = {}
    content = {"wheels": [{"size": 3, "from": "there"}]}
    assert not list(shape_mistakes(content, Car, ("cars", 0), leaves))
    assert leaves == {
        ("cars", 0, "wheels"): 1,
        ("cars", 0, "wheels", 0, "size"): 3,
        ("cars", 0, "wheels", 0, "from"): "there",
        ("cars", 0, "doors"): 4,
    }


@pytest.mark.parametrize(
    ("content", "mistakes"),
    [
        (5, ["the file: must be a mapping of keys, is 5"]),
        ({}, ["wheels: is missing"]),
        ({"wheels": None}, ["wheels: must be a list, is empty"]),
        ({"wheels": [], "door": 1}, ["door: unknown key (did you mean doors?)"]),
        ({"wheels": [], 7: 1}, ["7: unknown key"]),
        ({"wheels": [], "doors": "two"}, ["doors: must be a whole number, is 'two'"]),
        (
            {"wheels": [{"size": 0, "colour": "green"}, {"size": 1, "side": "up"}]},
            [
                "wheels[0].size: must be >= 1, is 0",
                "wheels[0].colour: must be one of red, blue, is 'green'",
                "wheels[1].side: must be one of left, right, is 'up'",
            ],
        ),
    ],
)
def test_all_mistakes_are_told_in_words(content: Any, mistakes: list[str]) -> None:
    assert told(content) == mistakes


def test_places_values_and_hints_read_well() -> None:
    assert place(("brokers", 0, "port")) == "brokers[0].port"
    assert place(()) == "the file"
    assert (shown(None), shown("x")) == ("empty", "'x'")
    assert did_you_mean("modee", ["mode", "node"]) == " (did you mean mode?)"
    assert did_you_mean("zzz", ["mode"]) == ""
