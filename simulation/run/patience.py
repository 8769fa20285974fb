"""How long those who wait for something pause between two looks."""

from __future__ import annotations

from typing import Final

LONGEST_MS: Final = 1_000
_PART: Final = 10


def pause_s(lasted_ms: int, shortest_ms: int) -> float:
    """Return the pause after so long a wait: a tenth of it, in bounds.

    What comes at once is seen at once; what does not come for a minute is looked for some 80 times
    and not 600: each look asks all brokers, and is most of what happens while nothing else does.
    """
    return min(max(lasted_ms // _PART, shortest_ms), LONGEST_MS) / 1000
