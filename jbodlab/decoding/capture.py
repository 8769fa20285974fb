"""A pcap or pcapng file to the bytes that clients and servers sent, in order, per connection.

It puts TCP streams together: segments in order, repeated bytes left out. What the bytes mean is not
known here. Decryption, fragments of IP packets and more than one network interface are left out.
"""
# dpkt has no type annotations.
# pyright: basic

from __future__ import annotations

import io
import itertools
import socket
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import dpkt

_LINK_LAYERS: Final = {
    0: dpkt.loopback.Loopback,
    1: dpkt.ethernet.Ethernet,
    108: dpkt.loopback.Loopback,
    113: dpkt.sll.SLL,
    276: dpkt.sll2.SLL2,
}
_RAW_IP: Final = (12, 14, 101, 228, 229)
_SEQUENCE_END: Final = 1 << 32

_EARLY_SEGMENTS_MAX: Final = 4096
"""As many may wait for one that is missing; then it counts as lost."""

Endpoint = tuple[str, int]


class CaptureError(ValueError):
    """A file that is no capture, or a broken one; the text says so in one line."""


class Connection(NamedTuple):
    """A TCP connection; ``number`` tells those apart that had the same ports."""

    client: Endpoint
    server: Endpoint
    number: int
    has_handshake: bool
    """Without one it is a guess which end is which, and bytes may be missing at the beginning."""

    def __str__(self) -> str:
        return f"{_shown(self.client)} -> {_shown(self.server)}"


class Chunk(NamedTuple):
    """Bytes that came in order on one connection."""

    at_s: float
    """When the last of them was captured, since 1970."""
    connection: Connection
    from_client: bool
    data: bytes
    lost_bytes: int = 0
    """How many bytes before these are not in the capture; nothing follows in this direction."""


class _Segment(NamedTuple):
    at_s: float
    source: Endpoint
    target: Endpoint
    begins: bool
    """The first packet of a connection or the answer to it."""
    answers: bool
    sequence: int
    """Of the first byte of ``data``."""
    data: bytes


class _Direction:
    """One direction of a connection: what came early and what is awaited next."""

    def __init__(self, connection: Connection, *, from_client: bool) -> None:
        self.connection = connection
        self.from_client = from_client
        self._awaited: int | None = None
        self._early: dict[int, tuple[float, bytes]] = {}
        self._is_lost = False

    def receive(self, segment: _Segment) -> Iterator[Chunk]:
        """Take one segment; return it and those that waited for it."""
        if self._awaited is None:
            self._awaited = segment.sequence
        if self._is_lost or not segment.data:
            return
        _, known = self._early.get(segment.sequence, (0.0, b""))
        longest = max(known, segment.data, key=len)
        self._early[segment.sequence] = (segment.at_s, longest)
        if ready := b"".join(self._ready()):
            yield Chunk(segment.at_s, self.connection, self.from_client, ready)
        if len(self._early) > _EARLY_SEGMENTS_MAX:
            yield from self.give_up()

    def give_up(self) -> Iterator[Chunk]:
        """Return what came behind a gap that nothing filled, if there is one."""
        if self._early:
            sequence = min(self._early, key=self._ahead)
            at_s, data = self._early[sequence]
            yield Chunk(at_s, self.connection, self.from_client, data, self._ahead(sequence))
        self._is_lost = True
        self._early.clear()

    def _ready(self) -> Iterator[bytes]:
        """Take what is awaited out of what came early, without the bytes that came before."""
        for sequence in sorted(self._early, key=self._ahead):
            ahead = self._ahead(sequence)
            if ahead > 0:
                return
            _, data = self._early.pop(sequence)
            if len(data) + ahead > 0:
                self._awaited = (sequence + len(data)) % _SEQUENCE_END
                yield data[-ahead:] if ahead else data

    def _ahead(self, sequence: int) -> int:
        """Return how many bytes lie between what is awaited and ``sequence``; negative: behind."""
        assert self._awaited is not None
        distance = (sequence - self._awaited) % _SEQUENCE_END
        return distance - _SEQUENCE_END if distance >= _SEQUENCE_END // 2 else distance


def read_capture(content: bytes, *, server_port: int | None = None) -> Iterator[Chunk]:
    """Return the chunks of a capture in the order of their packets.

    Who is the server: the end at ``server_port``, other connections being left out; else the end
    that did not begin the handshake; without a handshake the one with the lower port.

    Raises:
        CaptureError: ``content`` is no capture, or broken.
    """
    directions: dict[tuple[Endpoint, Endpoint], _Direction] = {}
    numbers = itertools.count()
    for segment in _segments(content):
        ends = (segment.source, segment.target)
        if server_port is not None and server_port not in (ends[0][1], ends[1][1]):
            continue
        is_new = segment.begins and not segment.answers
        if is_new or ends not in directions:
            client, server = ends if _is_from_client(segment, server_port) else reversed(ends)
            for ended in (directions.get((client, server)), directions.get((server, client))):
                yield from ended.give_up() if ended is not None else ()
            connection = Connection(client, server, next(numbers), segment.begins)
            directions[client, server] = _Direction(connection, from_client=True)
            directions[server, client] = _Direction(connection, from_client=False)
        yield from directions[ends].receive(segment)
    for direction in directions.values():
        yield from direction.give_up()


def _is_from_client(segment: _Segment, server_port: int | None) -> bool:
    source_port, target_port = segment.source[1], segment.target[1]
    if server_port is not None and source_port != target_port:
        return target_port == server_port
    if segment.begins:
        return not segment.answers
    return target_port < source_port


def _segments(content: bytes) -> Iterator[_Segment]:
    try:
        reader = dpkt.pcap.UniversalReader(io.BytesIO(content))
        link_layer = _link_layer(reader.datalink())
        for at_s, packet in reader:
            ip = _ip_packet(link_layer, packet)
            tcp: Any = getattr(ip, "data", None)
            if isinstance(tcp, dpkt.tcp.TCP):
                yield _segment(float(at_s), ip, tcp)
    except (ValueError, dpkt.Error) as error:
        raise CaptureError(f"the capture cannot be read: {error}") from error


def _link_layer(number: int) -> Any:
    """Return the class of the packets, None when they are of the IP layer."""
    if number in _RAW_IP:
        return None
    if number not in _LINK_LAYERS:
        raise ValueError(f"its packets are of link type {number}")
    return _LINK_LAYERS[number]


def _segment(at_s: float, ip: Any, tcp: Any) -> _Segment:
    begins = bool(tcp.flags & dpkt.tcp.TH_SYN)
    return _Segment(
        at_s=at_s,
        source=(_address(ip.src), tcp.sport),
        target=(_address(ip.dst), tcp.dport),
        begins=begins,
        answers=bool(tcp.flags & dpkt.tcp.TH_ACK),
        sequence=(tcp.seq + begins) % _SEQUENCE_END,
        data=tcp.data,
    )


def _ip_packet(link_layer: Any, packet: bytes) -> Any:
    try:
        if link_layer is not None:
            return link_layer(packet).data
        return (dpkt.ip6.IP6 if packet[:1] >= b"\x60" else dpkt.ip.IP)(packet)
    except dpkt.UnpackError:
        return None  # not a packet that concerns anyone here


def _address(raw: bytes) -> str:
    return socket.inet_ntop(socket.AF_INET6 if len(raw) == 16 else socket.AF_INET, raw)


def _shown(endpoint: Endpoint) -> str:
    host, port = endpoint
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
