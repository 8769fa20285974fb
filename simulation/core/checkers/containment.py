"""A failed log dir answers nothing with success, and what lies elsewhere does not feel it.

The service level is held for clients that write to no partition which a fault of that time
concerns: answers on one connection come in order, so that others wait for those. A fault concerns
a partition for as long as a replica is offline that it took offline. What is new to a broker is not
taken along, either: see `unborn`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from protocol.errors import ErrorCode
from protocol.faults.model import NetworkMode, broker_node
from protocol.ids import TopicPartition
from simulation.core.checkers.deletions import deletions_of, renewals
from simulation.core.checkers.evidence import Evidence, Violation
from simulation.core.checkers.spans import Span
from simulation.core.checkers.timeline import last_partitions
from simulation.core.checkers.unborn import unborn
from simulation.core.history import Kind, Operation, Poll, Send
from simulation.core.samples import FaultSample, ReplicaSample, Role, Samples

NAME: Final = "containment"
_WITHOUT_KEY: Final = (
    ErrorCode.INVALID_RECORD.name,
    f"behind one that ended with {ErrorCode.INVALID_RECORD.name}",
    "UnknownError",
)
"""What a topic that is compacted answers to records that have no key, and to those of an idempotent
producer behind them; aiokafka 0.14 does not know the code."""
_TOO_LARGE: Final = ErrorCode.RECORD_LIST_TOO_LARGE.name
"""What a topic with small segments answers to a batch in which a library gathered what waited."""

_OUT_OF_ORDER: Final = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER.name


class _Outage(NamedTuple):
    """A log dir while it was offline, from the first to the last look that can tell so."""

    broker: int
    path: str
    begin_us: int
    end_us: int


def check_containment(evidence: Evidence) -> list[Violation]:
    """Look at answers from failed log dirs, and at the service beside them."""
    spans = evidence.spans
    return [
        *_answers_from_failed(evidence, spans),
        *_bad_service(evidence, spans),
        *(Violation(NAME, at_us, text) for at_us, text in unborn(evidence)),
    ]


def _answers_from_failed(evidence: Evidence, spans: list[Span]) -> Iterator[Violation]:
    samples = evidence.samples
    outages = _outages(samples)
    if not outages:
        return
    places = _Places(samples.replicas)
    for span in spans:
        for broker, tp in _answered(span.end):
            path = places.at(broker, tp, span.end.at_us)
            later_us = span.end.at_us + samples.seen_within_us
            is_seen = path == places.at(broker, tp, later_us)
            for outage in outages:
                is_there = is_seen and (outage.broker, outage.path) == (broker, path)
                if (
                    is_there
                    and outage.begin_us < span.begin.at_us <= span.end.at_us < outage.end_us
                ):
                    yield Violation(
                        NAME,
                        span.end.at_us,
                        f"broker {broker} answered {span.end.function} of {tp} with success, begun "
                        f"at {samples.told_time(span.begin.at_us)}, and its log is in {path}, "
                        f"offline since {samples.told_time(outage.begin_us)}",
                    )


def _answered(end: Operation) -> Iterator[tuple[int, TopicPartition]]:
    if end.kind is not Kind.OK:
        return
    if isinstance(end.value, Send) and end.value.acks != 0:
        yield end.value.broker, end.value.tp
    elif isinstance(end.value, Poll):
        for read in end.value.reads:
            if read.records:
                yield end.value.broker, read.tp


def _outages(samples: Samples) -> list[_Outage]:
    begun: dict[tuple[int, str], int] = {}
    found: list[_Outage] = []
    for sample in samples.log_dirs:
        place = (sample.broker, sample.path)
        if not sample.is_online:
            begun.setdefault(place, sample.at_us)
        elif place in begun:
            until_us = sample.at_us - samples.seen_within_us
            found.append(_Outage(*place, begun.pop(place), until_us))
    return found + [_Outage(*place, at_us, samples.ended_us + 1) for place, at_us in begun.items()]


class _Time(NamedTuple):
    """From a time to a time; None: to the end of the run."""

    begin_us: int
    end_us: int | None


class _Places:
    """Where each replica's log was, at any time."""

    def __init__(self, samples: Sequence[ReplicaSample]) -> None:
        self._known: dict[tuple[int, TopicPartition], list[tuple[int, str]]] = {}
        for sample in samples:
            steps = self._known.setdefault((sample.broker, sample.tp), [])
            path = self._path(sample, steps)
            if not steps or steps[-1][1] != path:
                steps.append((sample.at_us, path))

    def _path(self, sample: ReplicaSample, steps: Sequence[tuple[int, str]]) -> str:
        if sample.role is Role.GONE:
            return ""
        return sample.log_dir or next((path for _, path in reversed(steps) if path), "")

    def at(self, broker: int, tp: TopicPartition, at_us: int) -> str:
        """Return the path, also after it failed; "" when there was none."""
        steps = self._known.get((broker, tp), ())
        return next((path for since_us, path in reversed(steps) if since_us <= at_us), "")

    def brokers_with(self, node: str, log_dir: str, tp: TopicPartition) -> list[int]:
        """Return the broker with this name if the partition ever was in this log dir of it."""
        return [
            broker
            for (broker, known), steps in self._known.items()
            if known == tp
            and node == broker_node(broker)
            and any(path == log_dir for _, path in steps)
        ]


def _bad_service(evidence: Evidence, spans: list[Span]) -> Iterator[Violation]:
    broken = [fault for fault in evidence.samples.faults if fault.log_dir]
    if not broken:
        return
    concerns = _FaultImpact(evidence, spans)
    renewed = list(renewals(evidence.samples.partitions))
    compacted = deletions_of(evidence).compacted
    refused = _refused_us(spans)
    for span in spans:
        send = span.begin.value
        if not isinstance(send, Send) or not any(_overlap(span, fault, 0) for fault in broken):
            continue
        if span.end.error in _WITHOUT_KEY and send.tp.topic in compacted:
            continue
        if _is_of_a_large_batch(span, send, refused):
            continue
        until_us = span.end.at_us + evidence.samples.seen_within_us
        if any(
            topic == send.tp.topic and span.begin.at_us <= at_us <= until_us
            for topic, at_us in renewed
        ):
            continue  # For a time there was no such topic.
        if concerns.is_free(span):
            yield from _shortfall(span, send, evidence)


def _refused_us(spans: list[Span]) -> dict[tuple[str, TopicPartition], int]:
    """Return when a library was told first of a batch of its own making that is too large."""
    refused: dict[tuple[str, TopicPartition], int] = {}
    for span in spans:
        send = span.begin.value
        if isinstance(send, Send) and span.end.error == _TOO_LARGE and len(send.records) == 1:
            key = span.begin.client, send.tp
            refused[key] = min(span.end.at_us, refused.get(key, span.end.at_us))
    return refused


def _is_of_a_large_batch(
    span: Span, send: Send, refused: dict[tuple[str, TopicPartition], int]
) -> bool:
    """Tell whether a record was in a batch that is too large, or behind one (seed 1066570).

    Records of an idempotent producer that is refused some are out of order from then on.
    """
    if span.end.error == _TOO_LARGE:
        return len(send.records) == 1
    since_us = refused.get((span.begin.client, send.tp), span.end.at_us + 1)
    return span.end.error == _OUT_OF_ORDER and since_us <= span.end.at_us


class _OfflineTimes:
    """When each replica was offline; a restart of its broker in the middle does not end it."""

    def __init__(self, samples: Sequence[ReplicaSample]) -> None:
        self._known: dict[tuple[int, TopicPartition], list[_Time]] = {}
        last: dict[tuple[int, TopicPartition], ReplicaSample] = {}
        for sample in samples:
            key = (sample.broker, sample.tp)
            self._add(self._known.setdefault(key, []), sample, last.get(key))
            last[key] = sample

    def _add(self, times: list[_Time], now: ReplicaSample, before: ReplicaSample | None) -> None:
        if now.role is not Role.OFFLINE:
            if times and times[-1].end_us is None:
                times[-1] = times[-1]._replace(end_us=now.at_us)
        elif before is None or before.role is not Role.OFFLINE:
            gone_us = before.at_us if before is not None and before.role is Role.GONE else None
            if times and times[-1].end_us == gone_us:
                times[-1] = times[-1]._replace(end_us=None)
            else:
                times.append(_Time(now.at_us, None))

    def lengthened(
        self, fault: FaultSample, broker: int, tp: TopicPartition, settle_us: int
    ) -> FaultSample:
        """Return the fault with the time in which the replica it took offline was offline."""
        for time in self._known.get((broker, tp), ()):
            if fault.end_us is None:
                break
            if fault.begin_us <= time.begin_us <= fault.end_us + settle_us:
                end_us = None if time.end_us is None else max(fault.end_us, time.end_us)
                fault = fault._replace(end_us=end_us)
        return fault


class _FaultImpact:
    """Which clients a fault may have slowed down."""

    def __init__(self, evidence: Evidence, spans: list[Span]) -> None:
        samples = evidence.samples
        self._faults = [*map(_with_dead_connections, samples.faults), *_dead_times(samples)]
        self._settle_us = evidence.service_level.settle_us
        self._places = _Places(samples.replicas)
        self._offline = _OfflineTimes(samples.replicas)
        self._existing = last_partitions(samples.partitions)
        self._written: dict[str, dict[TopicPartition, None]] = {}
        self._known: dict[tuple[str, FaultSample], list[FaultSample]] = {}
        for span in spans:
            if isinstance(span.begin.value, Send):
                written = self._written.setdefault(span.begin.client, {})
                written[span.begin.value.tp] = None

    def is_free(self, span: Span) -> bool:
        """Tell whether no fault of that time concerns what its client writes."""
        return not any(
            _overlap(span, impact, self._settle_us)
            for fault in self._faults
            for impact in self._impacts(fault, span.begin.client)
        )

    def _impacts(self, fault: FaultSample, client: str) -> list[FaultSample]:
        """Return the fault with the times in which it concerned what a client writes."""
        if not fault.log_dir:
            return [fault]
        key = (client, fault)
        if key not in self._known:
            written = self._written[client]
            self._known[key] = [impact for tp in written for impact in self._impacts_on(fault, tp)]
        return self._known[key]

    def _impacts_on(self, fault: FaultSample, tp: TopicPartition) -> Iterator[FaultSample]:
        """Return it for every replica that ever was where it is; partitions not known any more."""
        if tp not in self._existing:
            yield fault
        for broker in self._places.brokers_with(fault.node, fault.log_dir, tp):
            yield self._offline.lengthened(fault, broker, tp, self._settle_us)


def _overlap(span: Span, fault: FaultSample, settle_us: int) -> bool:
    is_before_end = fault.end_us is None or span.begin.at_us <= fault.end_us + settle_us
    return is_before_end and span.end.at_us >= fault.begin_us


def _with_dead_connections(fault: FaultSample) -> FaultSample:
    """Return it without an end if it leaves dead connections behind.

    Whoever uses one first waits for an answer, 30 s as Kafka's timeouts are, and that may be long
    after the fault: a controller that had nothing to say to its broker meanwhile.
    """
    return fault._replace(end_us=None) if fault.what == NetworkMode.HALF_OPEN.value else fault


def _dead_times(samples: Samples) -> Iterator[FaultSample]:
    """Nodes that are down are a fault, whoever ended them; not before they were started."""
    down: dict[str, int] = {}
    begun: dict[str, None] = {}
    for sample in samples.nodes:
        if not sample.is_up:
            if sample.node in begun:
                down.setdefault(sample.node, sample.at_us)
            continue
        begun[sample.node] = None
        if sample.node in down:
            yield FaultSample(down.pop(sample.node), sample.at_us, sample.node, what="down")
    for node, at_us in down.items():
        yield FaultSample(at_us, None, node, what="down")


def _shortfall(span: Span, send: Send, evidence: Evidence) -> Iterator[Violation]:
    took_us = span.end.at_us - span.begin.at_us
    if span.end.kind is not Kind.OK:
        became = f"ended with {span.end.error}"
    elif took_us > evidence.service_level.answer_us_max:
        became = f"took {took_us / 1e6:.3f} s"
    else:
        return
    yield Violation(
        NAME,
        span.end.at_us,
        f"a write of {span.begin.client} to {send.tp} at "
        f"{evidence.samples.told_time(span.begin.at_us)} {became}, "
        "and no fault concerned a log of that partition",
    )
