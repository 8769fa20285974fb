"""Which offsets ``kafka-consumer-groups --reset-offsets`` sets, asked of the cluster.

Source: ConsumerGroupCommand.java prepareOffsetsToReset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from jbodlab.kafka_tools.client import ClusterClient
from jbodlab.kafka_tools.command import read_file
from jbodlab.kafka_tools.core.failures import ILLEGAL_ARGUMENT, ToolFailure
from jbodlab.kafka_tools.core.group_words import RESETS, all_named, named_partitions
from jbodlab.kafka_tools.core.offset_resets import (
    duration_ms,
    parse_plan,
    shifted,
    within,
)
from jbodlab.kafka_tools.core.options import Words
from jbodlab.kafka_tools.group_questions import describe_committed, list_offsets, unknown
from jbodlab.kafka_tools.questions import describe_topics
from jbodlab.kafka_tools.report import Report
from protocol.ids import TopicPartition
from protocol.messages.offsets import EARLIEST, LATEST

_LONG_BITS: Final = 64


class WantedOffsets:
    """The offsets that one command line wants its groups to have. It sets none."""

    def __init__(self, client: ClusterClient, words: Words, report: Report) -> None:
        """Read what can be read before any group is looked at.

        Args:
            client: the cluster.
            words: a command line that ``check_scope`` found whole.
            report: for warnings.

        Raises:
            ToolFailure: a number, a time or the file makes no sense.
        """
        self._client = client
        self._words = words
        self._report = report
        (self._reset,) = words.given(RESETS)
        self._number = 0
        self._plan: Mapping[str, Mapping[TopicPartition, int]] = {}
        match self._reset:
            case "to-offset" | "shift-by":
                self._number = words.number(self._reset, 0, _LONG_BITS)
            case "to-datetime":
                self._number = timestamp_ms(words.value(self._reset))
            case "by-duration":
                now_ms = int(datetime.now(UTC).timestamp() * 1000)
                self._number = now_ms - duration_ms(words.value(self._reset))
            case "from-file":
                groups = words.values("group")
                one = groups[0] if len(groups) == 1 else None
                self._plan = parse_plan(read_file(words.value(self._reset)), one)
            case _:
                pass

    def of_group(self, group: str) -> dict[TopicPartition, int] | None:
        """Return the offsets of a group, sorted by partition; None: the file has none for it.

        Raises:
            UsageFailure: ``--shift-by`` of a partition without an offset; a ``--topic`` that makes
                no sense.
            KafkaError: a topic or partition that is not there, or another answer.
            ToolFailure: somebody does not answer.
        """
        if self._reset == "from-file":
            planned = self._plan.get(group)
            return None if planned is None else self._bounded(planned)
        return self._reset_of(group)

    def _reset_of(self, group: str) -> dict[TopicPartition, int]:
        committed = describe_committed(self._client, group)
        partitions = sorted(committed) if self._words.has("all-topics") else self._partitions()
        match self._reset:
            case "to-offset":
                return self._bounded(dict.fromkeys(partitions, self._number))
            case "shift-by":
                return self._bounded(shifted(committed, partitions, self._number))
            case "to-earliest":
                return self._at(partitions, EARLIEST)
            case "to-latest":
                return self._at(partitions, LATEST)
            case "to-current":
                unset = [tp for tp in partitions if tp not in committed]
                offsets = {**committed, **self._at(unset, LATEST)}
                return {tp: offsets[tp] for tp in partitions}
            case _:
                return self._since(partitions)

    def _partitions(self) -> list[TopicPartition]:
        named = named_partitions(self._words.values("topic"))
        topics = describe_topics(self._client, named.whole_topics)
        for topic in named.whole_topics:
            if topic not in topics:
                raise unknown(topic)
        sizes = {name: [each.tp for each in topic.partitions] for name, topic in topics.items()}
        return all_named(named, sizes)

    def _at(
        self, partitions: Sequence[TopicPartition], timestamp: int
    ) -> dict[TopicPartition, int]:
        found = list_offsets(self._client, partitions, timestamp)
        return {tp: found[tp] for tp in partitions}

    def _since(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first offsets at the wanted time, or the ends of logs that have none."""
        found = self._at(partitions, self._number)
        none = [tp for tp in partitions if found[tp] < 0]
        for topic, number in none:
            self._report.say(
                f"\nWarn: Partition {number} from topic {topic} is empty. "
                "Falling back to latest known offset."
            )
        return {**found, **self._at(none, LATEST)}

    def _bounded(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        partitions = sorted(wanted)
        starts, ends = self._at(partitions, EARLIEST), self._at(partitions, LATEST)
        found, warnings = within({tp: wanted[tp] for tp in partitions}, starts, ends)
        for warning in warnings:
            self._report.complain(f"WARN {warning}")
        return found


def timestamp_ms(text: str) -> int:
    """Return a time as ``2026-01-31T23:59:59.999``, with ``Z`` or ``+01:00``; UTC without.

    Raises:
        ToolFailure: it is none.

    Source: Utils.java getDateTime.
    """
    if "T" not in text:
        raise ToolFailure(
            ILLEGAL_ARGUMENT,
            "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format",
        )
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise ToolFailure(ILLEGAL_ARGUMENT, f'Unparseable date: "{text}"') from error
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return round(when.timestamp() * 1000)
