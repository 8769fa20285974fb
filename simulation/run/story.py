"""The story of a run: one line per thing that happened, with its time. Keeps and passes on."""

from __future__ import annotations

from collections.abc import Callable

from simulation.core.verdict import StoryLine


def _keep_quiet(_line: StoryLine) -> None:
    return None


class Story:
    """Lines in the order in which they were told."""

    def __init__(
        self, now_ms: Callable[[], int], show: Callable[[StoryLine], None] = _keep_quiet
    ) -> None:
        """``show`` hears each line when it is told."""
        self.lines: list[StoryLine] = []
        self._now_ms = now_ms
        self._show = show
        self._began_ms = 0

    def begin(self) -> None:
        """Count from now on."""
        self._began_ms = self._now_ms()

    @property
    def now_ms(self) -> int:
        """The time of the story."""
        return self._now_ms() - self._began_ms

    def tell(self, text: str) -> None:
        """Add a line."""
        line = StoryLine(self.now_ms, text)
        self.lines.append(line)
        self._show(line)
