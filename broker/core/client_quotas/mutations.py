"""Topics that a client has created, grown or deleted: how many partitions each is, and who may.

A topic goes through while the client's budget is not overdrawn, and may overdraw it. From the
versions on that know the error, topics are refused then; older clients are throttled alone.
Source: KIP-599, ControllerMutationQuotaManager.scala, ReplicationControlManager.java.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from broker.core.client_quotas.client_quotas import ClientQuotas
from broker.core.client_quotas.limits import Asker
from broker.core.metadata_image import MetadataImage
from protocol.ids import ZERO_UUID
from protocol.messages.topics import (
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

_STRICT_SINCE: Final = {CreateTopicsRequest: 6, DeleteTopicsRequest: 5, CreatePartitionsRequest: 3}
_RESULTS: Final = {
    CreateTopicsResponse: "topics",
    DeleteTopicsResponse: "responses",
    CreatePartitionsResponse: "results",
}
_Entry: TypeAlias = CreatableTopic | CreatePartitionsTopic | DeleteTopicState | str
Topic: TypeAlias = str | bytes
"""A name, or the id that stands for it."""


class Admission(NamedTuple):
    """What becomes of a request."""

    admitted: Any
    """The request with the topics that may be."""
    refused: Any | None
    """The request with those that may not, None when there is none."""
    counts: dict[Topic, int]
    """Of the admitted topics: the partitions that were counted."""
    throttle_ms: int


class Mutations:
    """Counts the partitions of topics as one broker knows them."""

    def __init__(self, quotas: ClientQuotas, image: MetadataImage, new_partitions: int) -> None:
        """``new_partitions``: those of a topic whose client leaves the number open."""
        self._quotas = quotas
        self._image = image
        self._new_partitions = new_partitions

    def admit(self, request: Any, version: int, asker: Asker, now_ms: int) -> Admission:
        """Count the topics of a request one after the other, as far as they may be."""
        is_strict = version >= _STRICT_SINCE[type(request)]
        name, entries = _entries(request)
        counts: dict[Topic, int] = {}
        admitted: list[_Entry] = []
        refused: list[_Entry] = []
        for entry in entries:
            topic, count = _topic_of(entry), self._count(entry)
            if is_strict and count and self._quotas.mutation_wait_ms(asker, now_ms):
                refused.append(entry)
                continue
            admitted.append(entry)
            counts[topic] = counts.get(topic, 0) + count
            self._quotas.take_mutations(asker, count, now_ms)
        is_throttled = refused or not is_strict
        return Admission(
            replace(request, **{name: admitted}) if refused else request,
            replace(request, **{name: refused}) if refused else None,
            counts,
            self._quotas.mutation_wait_ms(asker, now_ms) if is_throttled else 0,
        )

    def give_back(self, response: Any, counts: dict[Topic, int], asker: Asker, now_ms: int) -> None:
        """Uncount the topics that the controller refused."""
        for result in getattr(response, _RESULTS[type(response)]):
            if result.error_code:
                count = counts.pop(result.name or "", 0)
                if not count and hasattr(result, "topic_id"):
                    count = counts.pop(bytes(result.topic_id), 0)
                self._quotas.take_mutations(asker, -count, now_ms)

    def _count(self, entry: _Entry) -> int:
        """Return how many partitions are made or deleted; none of what is not known here."""
        if isinstance(entry, CreatableTopic):
            count = len(entry.assignments) or entry.num_partitions
            return self._new_partitions if count == -1 else max(count, 0)
        known = self._known(entry)
        if isinstance(entry, CreatePartitionsTopic):
            return max(entry.count - known, 0) if known else 0
        return known

    def _known(self, entry: CreatePartitionsTopic | DeleteTopicState | str) -> int:
        name = entry if isinstance(entry, str) else entry.name
        if name is None and isinstance(entry, DeleteTopicState):
            name = self._image.topic_name(entry.topic_id)
        topic = None if name is None else self._image.topic(name)
        return 0 if topic is None else len(topic.partitions)


def _entries(request: Any) -> tuple[str, Sequence[_Entry]]:
    """Return the field of a request that names topics, and what stands there."""
    if isinstance(request, DeleteTopicsRequest) and request.topic_names:
        return "topic_names", request.topic_names
    return "topics", request.topics


def _topic_of(entry: _Entry) -> Topic:
    if isinstance(entry, str):
        return entry
    if entry.name:
        return entry.name
    return bytes(getattr(entry, "topic_id", ZERO_UUID))
