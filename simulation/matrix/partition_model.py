"""What a cluster has promised: what must be found of each partition, and what may be found.

A record of values; it asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class PartitionModel:
    """One partition since it was created."""

    is_created: bool = False
    """Whether its creation was acknowledged."""
    is_deleted: bool = False
    """Whether its deletion was begun: then it may be there or not."""
    topic_id: bytes | None = None
    """Of its topic, if that was asked for."""
    configs: dict[str, str] = field(default_factory=dict[str, str])
    """Its topic's, as it was created with."""
    replicas: tuple[tuple[int, ...], ...] = ()
    """It has one of these assignments; two while nobody knows whether an order arrived."""
    shuns: str = ""
    """The log dir that was cordoned when it was created."""
    is_compacted: bool = False
    acknowledged: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """By offset."""
    sent: dict[bytes, None] = field(default_factory=dict[bytes, None])
    """Every value that was ever on its way there; one may be there more than once."""
    keys: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """Of a compacted partition's acknowledged records, by offset."""
    kept_from: int = 0
    """What lies before this offset may be gone: it was ordered to."""
    keep_last: int | None = None
    """Only so many acknowledged records are sure to be kept by retention."""

    def check(self, found: Mapping[int, bytes]) -> None:
        """Hold what was found against it, by offset.

        Raises:
            AssertionError: the text says what is missing, or what nobody wrote.
        """
        if not self.is_deleted:
            for offset, value in self._due():
                if not self._is_superseded(offset, found):
                    assert offset in found, f"{offset} is missing, {list(found)[-1:]} is the last"
                    assert found[offset] == value, f"{offset} is {found[offset]!r}, not {value!r}"
        for offset, value in found.items():
            assert value in self.sent, f"{offset}: nobody wrote {value!r}"

    def _due(self) -> list[tuple[int, bytes]]:
        kept = sorted(self.acknowledged.items())
        if self.keep_last is not None:
            kept = kept[-self.keep_last :]
        return [(offset, value) for offset, value in kept if offset >= self.kept_from]

    def _is_superseded(self, offset: int, found: Mapping[int, bytes]) -> bool:
        if not self.is_compacted or offset in found:
            return False
        key = self.keys[offset]
        return any(other > offset and self.keys.get(other, key) == key for other in found)

    def summary(self) -> str:
        """Return what makes it another promise than before, in few words."""
        return (
            f"{len(self.acknowledged)} {len(self.sent)} {self.is_created} {self.is_deleted} "
            f"{self.kept_from} {self.replicas}"
        )
