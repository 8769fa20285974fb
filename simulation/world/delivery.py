"""How segments get from one end of a connection to the other, and what TCP does when they do not.

Order is kept per direction. It opens and closes nothing by itself but what a system would reset.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextvars import Context
from typing import Final

from simulation.world.links import Link, Links, next_attempt_us
from simulation.world.transport import Segment, Signal, SimTransport
from simulation.world.virtual_loop import VirtualLoop

_SILENCE_US_MAX: Final = 924_000_000
"""When Linux gives a connection up that does not answer."""


class _Parked:
    """What could not be sent yet of one direction."""

    __slots__ = ("segments", "since_us")

    def __init__(self, since_us: int) -> None:
        self.since_us = since_us
        self.segments: list[Segment] = []


class Delivery:
    """Carries what transports send. Implements ``Carrier``."""

    def __init__(self, loop: VirtualLoop, links: Links) -> None:
        self._loop = loop
        self._links = links
        self._parked: dict[SimTransport, _Parked] = {}
        self._given_up: dict[SimTransport, None] = {}
        self._nobody = Context()
        self.ends: dict[SimTransport, None] = {}
        """The ends that are open, in the order they were made."""
        self.segments_count = 0
        """How many arrived."""
        self.tap: Callable[[SimTransport, Segment], None] | None = None
        """Told of every segment that is sent, whatever becomes of it."""

    def carry(self, sender: SimTransport, segment: Segment) -> None:
        """Send a segment, or keep or lose it as faults have it."""
        if self.tap is not None:
            self.tap(sender, segment)
        link = sender.link
        is_in_trouble = link.rules or self._links.powered_off or self._parked
        if is_in_trouble or sender.is_mute or sender.peer.is_lost:
            self._carry_in_trouble(link, sender, segment)
        else:
            self._send(link, sender, segment)

    def lost(self, end: SimTransport) -> None:
        """Forget an end."""
        self.ends.pop(end, None)
        self._given_up.pop(end, None)

    def reset_later(self, end: SimTransport) -> None:
        """Have an end learn that the other one knows nothing of the connection."""
        there = end.link.arrival_us(self._loop.now_us, 0)
        at_us = end.peer.link.arrival_us(there, 0)
        self._loop.call_at_us(at_us, end.arrive, Signal.RST, context=end.context)

    def _carry_in_trouble(self, link: Link, sender: SimTransport, segment: Segment) -> None:
        if sender.is_mute:
            self._give_up_later(sender)
            return
        if link.rules:
            link.hit()
            if link.is_reset():
                self._reset_both(sender)
                return
        if sender in self._parked or self._links.is_silent(link):
            self._park(sender, segment)
        elif not sender.peer.is_lost:
            self._send(link, sender, segment)
        elif segment is not Signal.FIN:
            self.reset_later(sender)

    def _send(self, link: Link, sender: SimTransport, segment: Segment) -> None:
        size_bytes = 0 if isinstance(segment, Signal) else len(segment)
        arrival_us = link.arrival_us(self._loop.now_us, size_bytes)
        if arrival_us < sender.last_arrival_us:
            arrival_us = sender.last_arrival_us  # Behind what was sent before.
        else:
            sender.last_arrival_us = arrival_us
        peer = sender.peer
        self._loop.call_at_us(arrival_us, self._arrive, peer, segment, context=peer.context)

    def _give_up_later(self, sender: SimTransport) -> None:
        """Have an end learn, after all its attempts, that nobody answers."""
        if sender in self._given_up:
            return
        self._given_up[sender] = None
        at_us = self._loop.now_us + _SILENCE_US_MAX
        self._loop.call_at_us(at_us, sender.fail, errno.ETIMEDOUT, context=sender.context)

    def _arrive(self, receiver: SimTransport, segment: Segment) -> None:
        if receiver.peer.is_mute:
            return
        self.segments_count += 1
        name = receiver.process.name
        if isinstance(segment, Signal):
            what = f"{segment.value} {receiver.number}"
            self._loop.trace.note(self._loop.now_us, name, what)
        else:
            self._loop.trace.note(self._loop.now_us, name, f"rx {receiver.number}", (segment,))
        receiver.arrive(segment)

    def _reset_both(self, sender: SimTransport) -> None:
        for end in (sender, sender.peer):
            self._loop.call_soon(end.arrive, Signal.RST, context=end.context)

    def _park(self, sender: SimTransport, segment: Segment) -> None:
        parked = self._parked.get(sender)
        if parked is None:
            parked = self._parked[sender] = _Parked(self._loop.now_us)
            self._try_later(sender, parked)
        parked.segments.append(segment)

    def _try_later(self, sender: SimTransport, parked: _Parked) -> None:
        at_us = next_attempt_us(parked.since_us, self._loop.now_us)
        self._loop.call_at_us(at_us, self._try_again, sender, context=self._nobody)

    def _try_again(self, sender: SimTransport) -> None:
        parked, link = self._parked[sender], sender.link
        if not self._links.is_silent(link):
            del self._parked[sender]
            self._send_parked(link, sender, parked)
        elif self._loop.now_us - parked.since_us > _SILENCE_US_MAX:
            del self._parked[sender]
            self._loop.call_soon(sender.fail, errno.ETIMEDOUT, context=sender.context)
        else:
            self._try_later(sender, parked)

    def _send_parked(self, link: Link, sender: SimTransport, parked: _Parked) -> None:
        if sender.peer.is_lost:
            self.reset_later(sender)
            return
        for segment in parked.segments:
            self._send(link, sender, segment)
