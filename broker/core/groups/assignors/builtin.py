"""The assignors that a group's members may name: ``group.consumer.assignors``."""

from __future__ import annotations

from typing import Final

from broker.core.groups.assignors import range_assignor, uniform_assignor
from broker.core.groups.assignors.assignment import Assign

BUILTIN_ASSIGNORS: Final[dict[str, Assign]] = {
    uniform_assignor.NAME: uniform_assignor.assign,
    range_assignor.NAME: range_assignor.assign,
}
"""By name; the first is taken where no member names one."""
