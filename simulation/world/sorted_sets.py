"""Sets that give names in their order, in place of that of their hashes.

For foreign code that goes through sets of strings, whose hashes differ from process to process.
What is no name, and no tuple, comes as the built-in set would give it.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from typing import Any


class _LooksLike(type):
    """Of sets that count every built-in one as theirs, as the name that they stand for does."""

    def __instancecheck__(cls, instance: object) -> bool:
        base = builtins.frozenset if issubclass(cls, builtins.frozenset) else builtins.set
        return isinstance(instance, base)


class SortedSet(builtins.set[Any], metaclass=_LooksLike):
    """Stands for ``set``."""

    def __iter__(self) -> Iterator[Any]:
        return iter(in_order(super().__iter__()))

    def pop(self) -> Any:
        """Take out the first one."""
        for item in self:
            self.remove(item)
            return item
        raise KeyError("pop from an empty set")

    def copy(self) -> SortedSet:
        """Return another one."""
        return SortedSet(self)

    def __sub__(self, other: Any) -> SortedSet:
        return SortedSet(super().__sub__(other))

    def __and__(self, other: Any) -> SortedSet:
        return SortedSet(super().__and__(other))

    def __or__(self, other: Any) -> SortedSet:
        return SortedSet(super().__or__(other))

    def union(self, *others: Iterable[Any]) -> SortedSet:
        """Return what any of them has."""
        return SortedSet(super().union(*others))

    def intersection(self, *others: Iterable[Any]) -> SortedSet:
        """Return what all of them have."""
        return SortedSet(super().intersection(*others))

    def difference(self, *others: Iterable[Any]) -> SortedSet:
        """Return what none of the others has."""
        return SortedSet(super().difference(*others))


class SortedFrozenSet(builtins.frozenset[Any], metaclass=_LooksLike):
    """Stands for ``frozenset``."""

    def __iter__(self) -> Iterator[Any]:
        return iter(in_order(super().__iter__()))


def in_order(items: Iterable[Any]) -> list[Any]:
    """Return names and tuples in the order of what they are written as, all else as it comes."""
    found = list(items)
    if all(isinstance(item, str | tuple) for item in found):
        found.sort(key=repr)
    return found
