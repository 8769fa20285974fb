"""Dataclasses whose methods are written when the first of them is called.

A process imports some 250 structs and uses a few: to write and compile their methods was a quarter
of its start. Everything else is as ``dataclasses`` does it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(kw_only_default=True)
def late_dataclass(cls: type[T]) -> type[T]:
    """Turn a class into a dataclass of keywords and slots; its instances are compared by value."""
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # Or ``dataclass`` would put its signature together.
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(cls)
    for name, method in _LATE.items():
        setattr(made, name, method)
    setattr(made, "__hash__", None)  # noqa: B010 - they can be changed
    return made


def _init(self: Any, /, **values: Any) -> None:
    _write(self, "__init__")
    self.__init__(**values)


def _repr(self: Any) -> str:
    _write(self, "__repr__")
    return repr(self)


def _eq(self: Any, other: object) -> Any:
    _write(self, "__eq__")
    return self.__eq__(other)


_LATE: Final = {"__init__": _init, "__repr__": _repr, "__eq__": _eq}


def _write(instance: object, name: str) -> None:
    """Write a method as ``dataclasses`` does for a class with the same fields, and keep it."""
    # Of the instance's class, or of that which it follows from.
    cls: Any = next(each for each in type(instance).__mro__ if name in vars(each))
    written = dataclasses.make_dataclass(
        cls.__name__,
        [(item.name, item.type, _same_field(item)) for item in dataclasses.fields(cls)],
        init=name == "__init__",
        repr=name == "__repr__",
        eq=name == "__eq__",
        kw_only=True,
        namespace={"__doc__": cls.__doc__},
    )
    method = vars(written)[name]
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, method)


def _same_field(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=item.default_factory, repr=item.repr)
    return dataclasses.field(default=item.default, repr=item.repr)
