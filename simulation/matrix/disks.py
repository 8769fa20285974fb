"""What lies on the brokers' disks, whatever the brokers say of it: which logs, and their records.

It promises and judges nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from broker.storage.layout import DirKind
from broker.storage.memory_disk import MemoryDisk
from protocol.ids import TopicPartition
from protocol.records.batch import iterate_batches
from protocol.records.records import iterate_records
from simulation.world.node import BrokerNode


def place_of(node: BrokerNode, tp: TopicPartition) -> str | None:
    """Return the log dir that has a partition's current log."""
    for path, drive in node.drives.items():
        if drive.disk.memory.exists(str(tp)):
            return path
    return None


def strange_logs(
    node: BrokerNode, wanted: Collection[str], *, may_have_strays: bool = False
) -> str | None:
    """Complain unless there is exactly one log of each name ``wanted``, and no other directory.

    Future logs are other ones; what waits for its removal does not count, nor do strays where
    there may be some.
    """
    passed = (DirKind.DELETE.value, DirKind.STRAY.value)[: 2 if may_have_strays else 1]
    places: dict[str, str] = {}
    for path, drive in node.drives.items():
        memory = drive.disk.memory
        for name in memory.list_dir(""):
            if not memory.is_dir(name) or name.endswith(passed):
                continue
            if name in places:
                return f"{name} is in {places[name]} and in {path}"
            if name not in wanted:
                return f"{path}/{name} is nobody's"
            places[name] = path
    missing = [name for name in sorted(wanted) if name not in places]
    return f"{node.name} has no {', '.join(missing)}" if missing else None


def log_of(node: BrokerNode, tp: TopicPartition, start: int) -> dict[int, bytes]:
    """Return the values in a replica's current log by offset, from ``start`` on."""
    path = place_of(node, tp)
    if path is None:
        return {}
    values = _values(node.drives[path].disk.memory, str(tp))
    return {offset: values[offset] for offset in values if offset >= start}


def _values(memory: MemoryDisk, name: str) -> dict[int, bytes]:
    values: dict[int, bytes] = {}
    for file in memory.list_dir(name):
        if file.endswith(".log"):
            data = memory.read_file(f"{name}/{file}")
            for position, header in iterate_batches(data):
                for record in iterate_records(data, position, header):
                    values[record.offset] = bytes(record.value or b"")
    return values
