"""The way from one node to another: how long bytes take, and the rules that make it worse.

A link knows no connections. Times are microseconds of the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from random import Random
from typing import Final, assert_never

from protocol.faults.model import NetworkFault, NetworkMode

LATENCY_US: Final = 200
"""Between two nodes, one way, without rules: half to one and a half of it."""
_RESEND_US: Final = 200_000
"""After which TCP sends a lost segment again; then twice as long each time."""
_RESEND_US_MAX: Final = 120_000_000


@dataclass(slots=True, kw_only=True, eq=False)
class LinkRule:
    """What happens to bytes on some links. The rules that match one link add up."""

    source: str = "*"
    """A name or pattern (``broker-*``) of the sending node."""
    target: str = "*"
    """That of the receiving node."""
    is_both_ways: bool = False
    is_cut: bool = False
    """Nothing arrives until the rule goes; connections stay, as TCP's do."""
    latency_us: int = 0
    """On top."""
    jitter_us: int = 0
    """At most, on top of that."""
    bytes_per_second: int | None = None
    loss: float = 0.0
    """The share of segments that arrive only when they are sent again."""
    resend_us: int = _RESEND_US
    """When that is; then twice as long each time."""
    reset: float = 0.0
    """The share of segments in whose place the connection is reset."""
    hits: int = 0
    """Segments and attempts to connect that it changed."""

    @classmethod
    def of(cls, fault: NetworkFault) -> LinkRule:
        """Return the rule of a fault, nothing counted.

        Raises:
            ValueError: it is about the connections of one moment (HALF_OPEN), not about links.
        """
        rule = cls(source=fault.source, target=fault.target, is_both_ways=fault.both_ways)
        match fault.mode:
            case NetworkMode.LATENCY:
                rule.latency_us = fault.latency_ms * 1000
                rule.jitter_us = fault.jitter_ms * 1000
            case NetworkMode.LOSS:
                rule.loss = fault.probability
                rule.resend_us = fault.retransmit_ms * 1000
            case NetworkMode.CUT:
                rule.is_cut = True
            case NetworkMode.HALF_OPEN:
                raise ValueError("half-open connections are made by SimNetwork.half_open")
            case _:
                assert_never(fault.mode)
        return rule

    def meets(self, source: str, target: str) -> bool:
        """Tell whether it is about bytes from ``source`` to ``target``."""
        return self._matches(source, target) or (
            self.is_both_ways and self._matches(target, source)
        )

    def _matches(self, source: str, target: str) -> bool:
        return fnmatchcase(source, self.source) and fnmatchcase(target, self.target)


class Link:
    """One direction between two nodes."""

    __slots__ = ("_chance", "_free_at_us", "_latency_us", "rules", "source", "target")

    def __init__(self, source: str, target: str, chance: Random, latency_us: int) -> None:
        self.source = source
        self.target = target
        self.rules: tuple[LinkRule, ...] = ()
        self._chance = chance
        self._latency_us = latency_us
        self._free_at_us = 0

    @property
    def is_cut(self) -> bool:
        """Whether nothing arrives now."""
        return any(rule.is_cut for rule in self.rules)

    def hit(self) -> None:
        """Count one use against the rules of this link; loss counts what it loses."""
        for rule in self.rules:
            if not rule.loss:
                rule.hits += 1

    def is_reset(self) -> bool:
        """Draw whether the connection is reset in place of a segment."""
        return any(rule.reset and self._chance.random() < rule.reset for rule in self.rules)

    def arrival_us(self, now_us: int, size_bytes: int) -> int:
        """Return when ``size_bytes`` that leave now arrive."""
        delay_us = int(self._latency_us * (0.5 + self._chance.random()))
        if not self.rules:
            return now_us + (delay_us or 1)
        for rule in self.rules:
            delay_us += rule.latency_us
            if rule.jitter_us:
                delay_us += self._chance.randint(0, rule.jitter_us)
            if rule.bytes_per_second is not None:
                delay_us += self._queue_us(now_us, size_bytes, rule.bytes_per_second)
            if rule.loss:
                delay_us += self._lost_us(rule)
        return now_us + max(1, delay_us)

    def _queue_us(self, now_us: int, size_bytes: int, bytes_per_second: int) -> int:
        begin_us = max(now_us, self._free_at_us)
        self._free_at_us = begin_us + size_bytes * 1_000_000 // bytes_per_second
        return self._free_at_us - now_us

    def _lost_us(self, rule: LinkRule) -> int:
        lost_us, resend_us = 0, rule.resend_us
        while self._chance.random() < rule.loss and resend_us < _RESEND_US_MAX:
            lost_us += resend_us
            resend_us *= 2
        if lost_us:
            rule.hits += 1
        return lost_us


class Links:
    """All links between nodes, the rules in force, and the nodes that are off."""

    def __init__(self, chance: Random, latency_us: int = LATENCY_US) -> None:
        self._chance = chance
        self._latency_us = latency_us
        self._links: dict[tuple[str, str], Link] = {}
        self._rules: list[LinkRule] = []
        self.powered_off: dict[str, None] = {}
        """The nodes that are off."""

    @property
    def rules(self) -> list[LinkRule]:
        """The rules in force."""
        return list(self._rules)

    def add_rule(self, rule: LinkRule) -> LinkRule:
        """Put one more rule in force."""
        self._rules.append(rule)
        self._apply()
        return rule

    def remove_rule(self, rule: LinkRule) -> None:
        """Take a rule out of force, once or again.

        What a cut held back is sent again in TCP's own time.
        """
        if rule in self._rules:
            self._rules.remove(rule)
            self._apply()

    def link(self, source: str, target: str) -> Link:
        """Return the way from one node to another."""
        link = self._links.get((source, target))
        if link is None:
            link = Link(source, target, self._chance, self._latency_us)
            self._links[source, target] = link
            self._apply()
        return link

    def power_off(self, node: str) -> None:
        """Let a node answer nobody: its machine is off."""
        self.powered_off[node] = None

    def power_on(self, node: str) -> None:
        """Let a node answer again."""
        self.powered_off.pop(node, None)

    def is_silent(self, link: Link) -> bool:
        """Tell whether nothing that is sent over ``link`` arrives now."""
        if link.rules and link.is_cut:
            return True
        return bool(self.powered_off) and link.target in self.powered_off

    def _apply(self) -> None:
        for (source, target), link in self._links.items():
            link.rules = tuple(rule for rule in self._rules if rule.meets(source, target))


def next_attempt_us(first_us: int, now_us: int, interval_us: int = _RESEND_US) -> int:
    """Return when TCP tries again what it first sent at ``first_us``: later and later."""
    at_us = first_us
    while at_us <= now_us:
        at_us += interval_us
        interval_us = min(interval_us * 2, _RESEND_US_MAX)
    return at_us
