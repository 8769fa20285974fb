"""Which requests of clients a fault meets, and which of their partitions. Values and counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from broker.core.request_parts import Part
from protocol.faults.requests import RequestFault, RequestMode


class RequestSeen(NamedTuple):
    """A request as rules see it."""

    api: str
    """Kafka's name of the API."""
    version: int
    client_id: str
    parts: Sequence[Part]
    """The topics and partitions that it names."""
    names_all: bool
    """Whether it names none and means every topic."""
    has_throttle_time: bool
    """Whether its answer can tell of a throttle."""


@dataclass(slots=True, eq=False)
class RequestRule:
    """A fault in force on one broker, with what it has met there."""

    fault: RequestFault
    matches: int = 0
    """Requests that it could have met."""
    hits: int = 0
    """Requests that it did something to, or showed."""

    def meets(self, seen: RequestSeen, chance: Callable[[], float]) -> bool:
        """Count and decide one request; ``chance`` draws from 0 to 1."""
        if not self._is_about(seen):
            return False
        fault = self.fault
        self.matches += 1
        if fault.times is not None and self.hits >= fault.times:
            return False
        if self.matches < fault.from_nth or fault.nth not in {None, self.matches}:
            return False
        if fault.probability < 1.0 and chance() >= fault.probability:
            return False
        self.hits += 1
        return True

    def is_part(self, part: Part) -> bool:
        """Tell whether a topic or partition is among those that it is about."""
        fault = self.fault
        if fault.topic is not None and not fnmatchcase(part.topic, fault.topic):
            return False
        return fault.partition is None or part.partition in (None, fault.partition)

    @property
    def is_about_parts(self) -> bool:
        """Whether it is about some partitions of a request and perhaps not about others."""
        return self.fault.topic is not None

    def _is_about(self, seen: RequestSeen) -> bool:
        fault = self.fault
        if fault.apis is not None and seen.api not in fault.apis:
            return False
        if not fault.version_min <= seen.version <= fault.version_max:
            return False
        if fault.client_id is not None and not fnmatchcase(seen.client_id, fault.client_id):
            return False
        if fault.mode is RequestMode.THROTTLE and not seen.has_throttle_time:
            return False
        if not self.is_about_parts or seen.names_all:
            return True
        return any(map(self.is_part, seen.parts))
