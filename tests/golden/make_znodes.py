"""Has brokers of Apache Kafka 3.9.2 write into ZooKeeper, and reads its log: ``znodes.jsonl``.

A line is a transaction, in the order in which ZooKeeper took it: the ``chapter`` of the story,
whose it is (``by``: ``broker 1``; of no broker ``zookeeper``), whether it is a ``multi``, ``ops``:

* ``create`` with ``path``, ``data`` (null: none) and whether it is ``ephemeral``;
* ``set`` with ``path``, ``data`` and the ``version`` that the znode has then;
* ``delete`` with ``path``; ``check`` (within a multi) with ``path`` and the ``version`` wanted;
* ``open`` and ``close`` of a session; with it go its ephemeral znodes, of which no more is told.

A transaction that ZooKeeper refused wrote nothing and is left out.

Ids, times and ports are a run's own: topics' ids are numbered, all times one, ports 9091 and on.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks.peer.kafka import BUILD_DIR
from tests.golden.made import GOLDEN, Made, json_lines, run_java
from tests.golden.znode_story import BROKER_IDS, ZnodeStory
from tests.mixed.apache_nodes import ApacheNodes

FILE: Final = GOLDEN / "znodes.jsonl"
WRITER: Final = GOLDEN / "WriteZnodes.java"
NEW: Final = BUILD_DIR / "golden-znodes"
"""Where the last run was, with the logs of its nodes."""
_STAMP: Final = re.compile(r'(?<="timestamp":")\d{13}(?=")')
_UUID: Final = re.compile(r'(?<="topic_id":")[\w-]{22}(?=")')
_CLUSTER_ID: Final = re.compile(r'(?<="version":"1","id":")[\w-]{22}(?=")')
_REGISTRATION: Final = re.compile(r"/brokers/ids/(\d+)")
_NUMBER: Final = re.compile(r"\d+")
_PORT_1: Final = 9091


def made() -> Made:
    """Play the story once."""
    found = list(transactions())
    standing = standing_transactions() if FILE.exists() else []
    differing = list(differences(found, standing))
    told = f"{len(found)} transactions of ZooKeeper, in {NEW}"
    return Made(told, differing, functools.partial(_write, found))


def _write(found: Sequence[Mapping[str, Any]]) -> None:
    FILE.write_bytes(json_lines(found))


def standing_transactions() -> list[dict[str, Any]]:
    """Return what stands."""
    return [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def differences(
    found: Sequence[Mapping[str, Any]], standing: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a line for each form of operation that only one of the two has.

    Who leads what, which replica fetches first and where a broker places the group's partitions is
    a run's own: a form is the operation, its path with N for numbers, and the names in its JSON.
    """
    new, old = _forms(found), _forms(standing)
    yield from (f"only anew: {form}" for form in sorted(new - old))
    yield from (f"only before: {form}" for form in sorted(old - new))


def _forms(all_: Sequence[Mapping[str, Any]]) -> set[str]:
    return {_form(op, is_multi=one["multi"]) for one in all_ for op in one["ops"]}


def _form(op: Mapping[str, Any], *, is_multi: bool) -> str:
    path = _NUMBER.sub("N", op.get("path", ""))
    data = op.get("data") or ""
    names = sorted(json.loads(data)) if data.startswith("{") else _NUMBER.sub("N", data)
    return json.dumps([is_multi, op["op"], path, op.get("ephemeral"), names])


def transactions() -> Iterator[dict[str, Any]]:
    """Have the story told; give what ZooKeeper logged, as the file has it."""
    shutil.rmtree(NEW, ignore_errors=True)
    with ApacheNodes(NEW, BROKER_IDS) as nodes:
        story = ZnodeStory(nodes)
        story.tell()
        ports = nodes.ports
        text = run_java(f"{nodes.libs}/*", str(WRITER), str(nodes.zookeeper_data))
    logged = [json.loads(line) for line in text.splitlines()]
    yield from normal(logged, story.ends_ms, ports)


def normal(
    logged: Sequence[Mapping[str, Any]], ends_ms: Mapping[str, int], ports: Mapping[int, int]
) -> Iterator[dict[str, Any]]:
    """Give transactions as the file has them.

    Args:
        logged: lines of ``WriteZnodes``.
        ends_ms: when each chapter was over.
        ports: of the brokers.
    """
    owners = _owners(logged)
    plain = _Plain(ports)
    for one in logged:
        later = [chapter for chapter, end in ends_ms.items() if one["ms"] <= end]
        if not later:
            return
        if any(op["op"] == "failed" for op in one["ops"]):
            continue
        yield {
            "chapter": later[0],
            "by": owners.get(one["session"], "zookeeper"),
            "multi": one["multi"],
            "ops": [plain.operation(op) for op in one["ops"]],
        }


def _owners(logged: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return which broker has each session: the one that registers in it."""
    return {
        one["session"]: f"broker {found[1]}"
        for one in logged
        for op in one["ops"]
        if op["op"] == "create" and (found := _REGISTRATION.fullmatch(op["path"]))
    }


class _Plain:
    """Takes out what is a run's own; the same id becomes the same number everywhere."""

    def __init__(self, ports: Mapping[int, int]) -> None:
        self._ports = ports
        self._uuids: dict[str, str] = {}

    def operation(self, op: Mapping[str, Any]) -> dict[str, Any]:
        data = op.get("data")
        return {**op, "data": self._text(data)} if data is not None else dict(op)

    def _text(self, data: str) -> str:
        data = _STAMP.sub("1700000000000", data)
        data = _CLUSTER_ID.sub("golden-znodes-00000000", data)
        data = _UUID.sub(lambda found: self._uuid(found[0]), data)
        for broker_id, port in self._ports.items():
            data = re.sub(rf"\b{port}\b", str(_PORT_1 - 1 + broker_id), data)
        return data

    def _uuid(self, uuid: str) -> str:
        return self._uuids.setdefault(uuid, f"topic-{len(self._uuids) + 1:015d}A")
