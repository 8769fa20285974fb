"""Builds captures: the packets of TCP connections, as tcpdump would write them."""

from __future__ import annotations

import io
import ipaddress
from typing import Any

import dpkt  # pyright: ignore[reportMissingTypeStubs] - it has none

CLIENT, SERVER = ("127.0.0.1", 50_000), ("127.0.0.1", 9092)
SYN, ACK, PUSH = 0x02, 0x10, 0x18

# dpkt has no types.
WRITERS: dict[str, Any] = {"pcap": dpkt.pcap.Writer, "pcapng": dpkt.pcapng.Writer}


class Capture:
    """Packets of one connection; methods add them in the order of the file."""

    def __init__(
        self,
        client: tuple[str, int] = CLIENT,
        server: tuple[str, int] = SERVER,
        *,
        first_sequence: int = 1000,
    ) -> None:
        self.client, self.server = client, server
        self.packets: list[tuple[float, bytes]] = []
        self._sequence = {"client": first_sequence, "server": first_sequence}

    def handshake(self) -> Capture:
        """Add SYN and SYN with ACK."""
        for side, flags in (("client", SYN), ("server", SYN | ACK)):
            self._add(side, self._sequence[side], b"", flags)
            self._sequence[side] += 1
        return self

    def sends(self, side: str, data: bytes) -> Capture:
        """Add one segment with the next bytes of ``side``."""
        self._add(side, self._sequence[side], data)
        self._sequence[side] += len(data)
        return self

    def repeats(self, side: str, data: bytes, *, back: int) -> Capture:
        """Add a segment that begins ``back`` bytes before the next byte of ``side``."""
        self._add(side, self._sequence[side] - back, data)
        return self

    def skips(self, side: str, size_bytes: int) -> Capture:
        """Leave bytes out."""
        self._sequence[side] += size_bytes
        return self

    def file(self, kind: str = "pcap", *, raw_ip: bool = False) -> bytes:
        return capture_file(self.packets, kind, raw_ip=raw_ip)

    def _add(self, side: str, sequence: int, data: bytes, flags: int = PUSH) -> None:
        source, target = self.client, self.server
        if side == "server":
            source, target = target, source
        tcp: Any = dpkt.tcp.TCP(
            sport=source[1], dport=target[1], seq=sequence % (1 << 32), flags=flags, data=data
        )
        at_s = 1_700_000_000 + len(self.packets) / 1000
        self.packets.append((at_s, bytes(_ip(source[0], target[0], tcp))))


def capture_file(
    packets: list[tuple[float, bytes]], kind: str = "pcap", *, raw_ip: bool = False
) -> bytes:
    """Return a file with these IP packets, in Ethernet frames unless told otherwise."""
    file = io.BytesIO()
    writer: Any = dpkt.pcap.Writer(file, linktype=101) if raw_ip else WRITERS[kind](file)
    for at_s, packet in packets:
        kind_of_packet = 0x86DD if packet[0] >> 4 == 6 else 0x0800
        writer.writepkt(packet if raw_ip else _ethernet(packet, kind_of_packet), at_s)
    return file.getvalue()


def _ethernet(packet: bytes, kind: int) -> bytes:
    return b"\2" * 6 + b"\4" * 6 + kind.to_bytes(2, "big") + packet


def _ip(source: str, target: str, tcp: Any) -> Any:
    addresses = [ipaddress.ip_address(text).packed for text in (source, target)]
    if len(addresses[0]) == 16:
        return dpkt.ip6.IP6(
            src=addresses[0], dst=addresses[1], nxt=6, data=tcp, plen=len(tcp), extension_hdrs={}
        )
    return dpkt.ip.IP(src=addresses[0], dst=addresses[1], p=6, data=tcp, len=20 + len(tcp))
