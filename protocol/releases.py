"""Which versions of which APIs a Kafka release announces: its answer to ApiVersions.

To 3.9 it is the answer of a broker in the mode with ZooKeeper, where a controller tells brokers by
LeaderAndIsr; later releases have only KRaft. It does not say what jbodlab serves: handlers do.
Source: ApiKeys and ApiVersionsResponse.filterApis of kafka-clients, the last patch of each line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from protocol.wire.table import Versions

RELEASES: Final = (
    *("0.11", "1.0", "1.1"),
    *(f"2.{minor}" for minor in range(9)),
    *(f"3.{minor}" for minor in range(10)),
    *(f"4.{minor}" for minor in range(4)),
)
"""Oldest first."""

# API key -> from which release on it has which versions, stable ones only.
_HISTORY: Final = {
    0: "0.11:0-3 1.0:0-5 2.0:0-6 2.1:0-7 2.4:0-8 2.8:0-9 3.7:0-10 3.8:0-11 4.0:0-12 4.1:0-13",
    1: (
        "0.11:0-5 1.0:0-6 1.1:0-7 2.0:0-8 2.1:0-10 2.3:0-11 2.7:0-12 3.1:0-13 3.5:0-15 "
        "3.7:0-16 3.9:0-17 4.0:4-17 4.1:4-18"
    ),
    2: "0.11:0-2 2.0:0-3 2.1:0-4 2.2:0-5 2.8:0-6 3.0:0-7 3.5:0-8 3.9:0-9 4.0:1-10 4.2:1-11",
    3: "0.11:0-4 1.0:0-5 2.0:0-6 2.1:0-7 2.3:0-8 2.4:0-9 2.8:0-11 3.1:0-12 4.0:0-13",
    4: "0.11:0 1.0:0-1 2.2:0-2 2.4:0-4 2.8:0-5 3.2:0-6 3.4:0-7 4.0:none",
    5: "0.11:0 2.2:0-1 2.4:0-2 2.6:0-3 3.4:0-4 4.0:none",
    6: "0.11:0-3 1.0:0-4 2.2:0-5 2.4:0-6 2.8:0-7 3.4:0-8 4.0:none",
    7: "0.11:1 1.0:0-1 2.2:0-2 2.4:0-3 4.0:none",
    8: "0.11:0-3 2.0:0-4 2.1:0-6 2.3:0-7 2.4:0-8 3.7:0-9 4.0:2-9 4.2:2-10",
    9: "0.11:0-3 2.0:0-4 2.1:0-5 2.4:0-6 2.5:0-7 3.0:0-8 3.7:0-9 4.0:1-9 4.2:1-10",
    10: "0.11:0-1 2.0:0-2 2.4:0-3 3.0:0-4 3.8:0-5 3.9:0-6",
    11: "0.11:0-2 2.0:0-3 2.2:0-4 2.3:0-5 2.4:0-6 2.5:0-7 3.2:0-9",
    12: "0.11:0-1 2.0:0-2 2.3:0-3 2.4:0-4",
    13: "0.11:0-1 2.0:0-2 2.4:0-4 3.2:0-5",
    14: "0.11:0-1 2.0:0-2 2.3:0-3 2.4:0-4 2.5:0-5",
    15: "0.11:0-1 2.0:0-2 2.3:0-3 2.4:0-5 4.0:0-6",
    16: "0.11:0-1 2.0:0-2 2.4:0-3 2.6:0-4 3.8:0-5",
    17: "0.11:0 1.0:0-1",
    18: "0.11:0-1 2.0:0-2 2.4:0-3 3.9:0-4",
    19: "0.11:0-2 2.0:0-3 2.4:0-5 2.7:0-6 2.8:0-7 4.0:2-7",
    20: "0.11:0-1 2.0:0-2 2.1:0-3 2.4:0-4 2.7:0-5 2.8:0-6 4.0:1-6",
    21: "0.11:0 2.0:0-1 2.6:0-2",
    22: "0.11:0 2.0:0-1 2.4:0-2 2.5:0-3 2.7:0-4 3.8:0-5",
    23: "0.11:0 2.0:0-1 2.1:0-2 2.3:0-3 2.8:0-4 4.0:2-4",
    24: "0.11:0 2.0:0-1 2.7:0-2 2.8:0-3 3.6:0-4 3.8:0-5",
    25: "0.11:0 2.0:0-1 2.7:0-2 2.8:0-3 3.8:0-4",
    26: "0.11:0 2.0:0-1 2.7:0-2 2.8:0-3 3.8:0-4 4.0:0-5",
    27: "0.11:0 2.8:0-1 4.0:1 4.2:1-2",
    28: "0.11:0 2.0:0-1 2.1:0-2 2.5:0-3 3.8:0-4 4.0:0-5",
    29: "0.11:0 2.0:0-1 2.5:0-2 3.3:0-3 4.0:1-3",
    30: "0.11:0 2.0:0-1 2.5:0-2 3.3:0-3 4.0:1-3",
    31: "0.11:0 2.0:0-1 2.5:0-2 3.3:0-3 4.0:1-3",
    32: "0.11:0 1.1:0-1 2.0:0-2 2.6:0-3 2.8:0-4 4.0:1-4",
    33: "0.11:0 2.0:0-1 2.8:0-2",
    34: "1.0:0 2.0:0-1 2.8:0-2 4.0:1-2",
    35: "1.0:0 2.0:0-1 2.6:0-2 3.2:0-3 3.3:0-4 4.0:1-4 4.3:1-5",
    36: "1.0:0 2.2:0-1 2.5:0-2",
    37: "1.0:0 2.0:0-1 2.5:0-2 2.7:0-3",
    38: "1.1:0 2.0:0-1 2.4:0-2 3.3:0-3 4.0:1-3",
    39: "1.1:0 2.0:0-1 2.5:0-2 4.0:1-2",
    40: "1.1:0 2.0:0-1 2.5:0-2 4.0:1-2",
    41: "1.1:0 2.0:0-1 2.5:0-2 3.3:0-3 4.0:1-3",
    42: "1.1:0 2.0:0-1 2.4:0-2",
    43: "2.2:0 2.4:0-2",
    44: "2.3:0 2.4:0-1",
    45: "2.4:0 4.1:0-1",
    46: "2.4:0",
    47: "2.4:0",
    48: "2.6:0 2.8:0-1",
    49: "2.6:0 2.8:0-1",
    50: "2.7:0",
    51: "2.7:0",
    55: "4.0:0-2",
    56: "2.7:0 3.2:0-1 3.3:0-2 3.5:0-3 4.0:none",
    57: "2.7:0 3.3:0-1 4.0:0-2",
    58: "3.4:0 4.0:none",
    60: "2.8:0 3.7:0-1 4.0:0-2",
    61: "2.8:0",
    65: "3.0:0",
    66: "3.0:0 3.8:0-1 4.1:0-2",
    67: "3.0:0 4.0:none",
    68: "3.7:0 4.0:0-1",
    69: "3.8:0 4.0:0-1",
    74: "4.0:0 4.1:0-1",
    75: "4.0:0",
}

_PRODUCE: Final = 0
_PRODUCE_READ_SINCE_4_0: Final = 3
"""From 4.0 on Produce 0 to 2 is announced for librdkafka's sake but not read (KAFKA-18659)."""


def versions_as_of(release: str) -> dict[int, Versions]:
    """Return what a broker of ``release``, such as "2.4", announces, by API key.

    APIs that jbodlab has no messages for are left out.

    Raises:
        ValueError: No release that is known; lists those that are.
    """
    position = release_position(release)
    found: dict[int, Versions] = {}
    for key, history in _HISTORY.items():
        for since, versions in _changes(history):
            if since <= position:
                found[key] = versions
    return {key: versions for key, versions in found.items() if versions.low <= versions.high}


def is_read(release: str, key: int, version: int) -> bool:
    """Tell whether a broker of ``release`` reads this version, which announcing does not promise.

    Raises:
        ValueError: As ``versions_as_of``.
    """
    versions = versions_as_of(release).get(key)
    if versions is None or version not in versions:
        return False
    is_new = is_since(release, "4.0")
    return not (is_new and key == _PRODUCE and version < _PRODUCE_READ_SINCE_4_0)


def names_versions_to_try(release: str) -> bool:
    """Tell whether a refused version of ApiVersions is answered with those to try (KIP-511).

    Raises:
        ValueError: As ``versions_as_of``.
    """
    return is_since(release, "2.4")


def is_since(release: str | None, first: str) -> bool:
    """Tell whether ``release`` is ``first`` or a later one; None, the newest, always is.

    Raises:
        ValueError: As ``versions_as_of``.
    """
    return release is None or release_position(release) >= release_position(first)


def shows(release: str | None, first: str) -> bool:
    """Tell whether ``first`` or a later release is emulated; with None the rules are those of 3.9.

    Raises:
        ValueError: As ``versions_as_of``.
    """
    return release is not None and is_since(release, first)


def release_position(release: str) -> int:
    """Return how many releases came before ``release``.

    Raises:
        ValueError: As ``versions_as_of``.
    """
    if release not in RELEASES:
        raise ValueError(f"no Kafka release {release}; known are {', '.join(RELEASES)}")
    return RELEASES.index(release)


def _changes(history: str) -> Iterator[tuple[int, Versions]]:
    for change in history.split():
        since, _, versions = change.partition(":")
        yield release_position(since), Versions.parse(versions)
