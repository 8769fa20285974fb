"""Dataclasses whose methods are written when the first of them is called.

A process imports some 250 structs and uses a few: to write and compile their methods was a quarter
of its start. Everything else is as ``dataclasses`` does it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final, TypeVar, dataclass_transform

T = TypeVar("T")

_METHODS: Final = ("__init__", "__repr__", "__eq__")


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
    _write_methods(_struct_of(self, "__init__"))
    self.__init__(**values)


def _repr(self: Any) -> str:
    _write_methods(_struct_of(self, "__repr__"))
    return repr(self)


def _eq(self: Any, other: object) -> Any:
    _write_methods(_struct_of(self, "__eq__"))
    return self.__eq__(other)


_LATE: Final = dict(zip(_METHODS, (_init, _repr, _eq), strict=True))


def _struct_of(instance: object, method: str) -> type[Any]:
    """Return the class in which a method is not yet written: that of an instance, or a base."""
    return next(cls for cls in type(instance).__mro__ if method in vars(cls))


def _write_methods(cls: type[Any]) -> None:
    """Give a class the methods that ``dataclasses`` writes for one with the same fields."""
    written = dataclasses.make_dataclass(
        cls.__name__,
        [(item.name, item.type, _same_field(item)) for item in dataclasses.fields(cls)],
        kw_only=True,
        namespace={"__doc__": cls.__doc__},
    )
    for name in _METHODS:
        method = vars(written)[name]
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)


def _same_field(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=item.default_factory, repr=item.repr)
    return dataclasses.field(default=item.default, repr=item.repr)
