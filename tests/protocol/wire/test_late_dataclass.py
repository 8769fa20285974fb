"""Structs whose methods are written late behave as ``dataclasses`` has them from the start."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from typing import Any

import pytest

from protocol.wire.late_dataclass import late_dataclass


@dataclasses.dataclass(slots=True, kw_only=True)
class Early:
    """What each is compared with."""

    name: str = ""
    tags: list[int] = dataclasses.field(default_factory=list[int])
    hidden: int = dataclasses.field(default=3, repr=False, metadata={"row": 7})


@late_dataclass
class Late:
    name: str = ""
    tags: list[int] = dataclasses.field(default_factory=list[int])
    hidden: int = dataclasses.field(default=3, repr=False, metadata={"row": 7})


def fresh() -> type[Any]:
    """Return one of which no method was called."""

    class Late:
        name: str = ""
        tags: list[int] = dataclasses.field(default_factory=list[int])
        hidden: int = dataclasses.field(default=3, repr=False, metadata={"row": 7})

    return late_dataclass(Late)


def without_methods(cls: type[Any]) -> Any:
    """Return an instance as decoders make them: past ``__init__``."""
    made = object.__new__(cls)
    made.name, made.tags, made.hidden = "a", [1], 4
    return made


@pytest.mark.parametrize("values", [{}, {"name": "a"}, {"tags": [1], "hidden": 4}], ids=str)
def test_it_takes_the_same_keywords_and_has_the_same_defaults(values: dict[str, Any]):
    assert dataclasses.asdict(fresh()(**values)) == dataclasses.asdict(Early(**values))


def test_each_instance_has_a_list_of_its_own():
    cls = fresh()
    assert cls().tags is not cls().tags


@pytest.mark.parametrize("again", [False, True])
def test_an_unknown_keyword_is_refused(again: bool):
    cls = fresh()
    if again:
        cls()
    with pytest.raises(TypeError, match="unexpected keyword argument 'nmae'"):
        cls(nmae="a")


@pytest.mark.parametrize("again", [False, True])
def test_values_by_their_place_are_refused(again: bool):
    cls: Any = fresh()
    if again:
        cls()
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        cls("a")


def test_an_instance_that_was_made_past_init_is_compared_by_value():
    cls = fresh()
    one, other = without_methods(cls), without_methods(cls)
    assert one == other
    other.hidden = 5
    assert one != other
    assert one != "a"


def test_those_of_two_classes_differ():
    assert fresh()() != fresh()()


def test_an_instance_that_was_made_past_init_prints_as_dataclasses_do():
    assert repr(without_methods(Late)) == repr(without_methods(Early)).replace("Early", "Late")


def test_it_cannot_be_hashed():
    with pytest.raises(TypeError, match="unhashable"):
        hash(fresh()())


def test_it_has_slots_and_no_other_attribute():
    with pytest.raises(AttributeError):
        fresh()().nmae = "a"


def test_what_follows_from_it_has_its_methods():
    base: Any = fresh()
    derived = type("Derived", (base,), {})
    assert derived(name="a").name == "a"
    assert "name='a'" in repr(base(name="a"))


def test_its_fields_its_signature_and_its_copies_are_those_of_dataclasses():
    assert [(each.name, each.metadata) for each in dataclasses.fields(fresh())] == [
        (each.name, each.metadata) for each in dataclasses.fields(Early)
    ]
    late = Late(name="a")
    assert inspect.signature(Late) == inspect.signature(Early)
    assert dataclasses.replace(late, hidden=9) == Late(name="a", hidden=9)
    assert pickle.loads(pickle.dumps(late)) == copy.deepcopy(late) == late
