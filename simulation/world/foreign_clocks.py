"""aiokafka on the world's time and chance, for as long as a run takes.

aiokafka reads ``time``, ``random`` and ``gzip``, which stamps what it packs, as names of its own
modules: there, and nowhere else in the process, those names are given others. Four more things of
it follow no seed by themselves: records without a timestamp get the machine's in native code,
producers without a name are counted per process, the hashes of partitions follow
``PYTHONHASHSEED``, and so does the order in which names come out of its sets: ``set`` and
``frozenset`` are such names of its modules, too. Its code runs as it was released.
"""

# aiokafka has no stubs, and its own annotations leave much open.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Generator, MutableSequence, Sequence
from contextlib import ExitStack, contextmanager
from random import Random
from types import ModuleType
from typing import Any, Final, TypeVar

from simulation.world.clock import EPOCH_MS
from simulation.world.sorted_sets import SortedFrozenSet, SortedSet
from simulation.world.virtual_loop import VirtualLoop

T = TypeVar("T")

_LIBRARY: Final = "aiokafka"
_SETS: Final = {"set": SortedSet, "frozenset": SortedFrozenSet}
"""Names of builtins, which none of its modules has of its own."""


class WorldTime:
    """Stands for the module ``time``."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def time(self) -> float:
        """Return seconds since the epoch, in the world."""
        return EPOCH_MS / 1000 + self._loop.time()

    def monotonic(self) -> float:
        """Return the loop's seconds."""
        return self._loop.time()


class WorldGzip:
    """Stands for the module ``gzip``, whose files begin with when they were written."""

    def __init__(self, clock: WorldTime) -> None:
        self._clock = clock

    def GzipFile(self, **options: Any) -> gzip.GzipFile:  # noqa: N802 -- the module's own name
        """Return a file that was written now, in the world."""
        return gzip.GzipFile(**options, mtime=self._clock.time())


class WorldRandom:
    """Stands for the module ``random``: what it draws from is brought into an order before."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def choice(self, items: Sequence[T]) -> T:
        """Draw one."""
        return self._chance.choice(sorted(items, key=repr))

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Shuffle in place."""
        items[:] = sorted(items, key=repr)
        self._chance.shuffle(items)


@contextmanager
def foreign_clocks(loop: VirtualLoop) -> Generator[None]:
    """Let aiokafka live in the world of ``loop``; one world of a process at a time."""
    from aiokafka import AIOKafkaProducer  # noqa: PLC0415 - only worlds that it joins pay for it
    from aiokafka.producer.message_accumulator import BatchBuilder  # noqa: PLC0415
    from aiokafka.structs import TopicPartition  # noqa: PLC0415

    clock = WorldTime(loop)
    names: dict[str, object] = {
        "time": clock,
        "gzip": WorldGzip(clock),
        "random": WorldRandom(loop.chance.stream(f"workload:{_LIBRARY}")),
    }
    with ExitStack() as undo:
        for module in _modules():
            for name, stand_in in names.items():
                if isinstance(getattr(module, name, None), ModuleType):
                    _replace(undo, module, name, stand_in)
            for name, stand_in in _SETS.items():
                undo.callback(delattr, module, name)
                setattr(module, name, stand_in)
        _replace(undo, BatchBuilder, "append", _stamped(BatchBuilder.append, clock))
        _replace(undo, AIOKafkaProducer, "_PRODUCER_CLIENT_ID_SEQUENCE", 0)
        _replace(undo, TopicPartition, "__hash__", _hash_of_partition)
        yield


def _modules() -> list[ModuleType]:
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name == _LIBRARY or name.startswith(_LIBRARY + ".")
    ]


def _replace(undo: ExitStack, holder: Any, name: str, value: object) -> None:
    undo.callback(setattr, holder, name, getattr(holder, name))
    setattr(holder, name, value)


def _stamped(append: Callable[..., Any], clock: WorldTime) -> Callable[..., Any]:
    """Return an ``append`` that does not leave the timestamp to native code."""

    def stamp(builder: Any, *, timestamp: int | None, **record: Any) -> Any:
        now_ms = int(clock.time() * 1000) if timestamp is None else timestamp
        return append(builder, timestamp=now_ms, **record)

    return stamp


def _hash_of_partition(partition: Any) -> int:
    return zlib.crc32(partition.topic.encode()) + int(partition.partition)
