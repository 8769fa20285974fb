"""Who is told of every move of a state machine: whoever counts which moves a run has covered.

It changes nothing, and in real processes nobody listens.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeAlias

Mark: TypeAlias = Enum | type[Any]
Witness: TypeAlias = Callable[[Mark, Mark], None]
"""Takes where a machine was, or what came, and where it is now, or what it was about.

The class of the marks names the machine. Called in the middle of changes: it must only take notes.
"""


def unwitnessed(before: Mark, after: Mark) -> None:
    """Take no note."""
