"""What a transaction of ZooKeeper is made of: all of it happens, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

ANY_VERSION: Final = -1


@dataclass(frozen=True, slots=True)
class Check:
    """Go on only if a znode has this version."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Create:
    """Make a znode that is not there; its parent is."""

    path: str
    data: bytes = b""
    is_ephemeral: bool = False
    is_sequential: bool = False
    """Whether ZooKeeper ends the name with a number."""


@dataclass(frozen=True, slots=True)
class Set:
    """Replace the body of a znode."""

    path: str
    data: bytes
    version: int = ANY_VERSION
    """The one that it must have before."""


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a znode that has nothing below it."""

    path: str
    version: int = ANY_VERSION
    """The one that it must have before."""


Operation: TypeAlias = Check | Create | Set | Delete
