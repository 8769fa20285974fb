"""How the demo speaks: numbered steps, findings, one progress bar. Knows nothing of Kafka."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rich.console import Console, RenderableType
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

WIDTH: Final = 120


class Narrator:
    """Writes to the terminal, remembers all measurements, and can save a picture of it all."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.measured: dict[str, Any] = {}
        self._step = 0

    def title(self, text: str) -> None:
        """Write the first line."""
        self.console.print(f"[bold]{text}[/]\n")

    def step(self, text: str) -> None:
        """Begin the next numbered step."""
        self._step += 1
        self.console.print(f"[bold cyan]{self._step}.[/] [bold]{text}[/]")

    def found(self, text: str, **measured: Any) -> None:
        """Write one finding and remember its numbers by name."""
        self.measured.update(measured)
        self.console.print(f"   {text}")

    def show(self, what: RenderableType) -> None:
        """Write a table."""
        self.console.print(what)

    @contextmanager
    def bytes_bar(self, text: str) -> Generator[ByteBar]:
        """Show a bar of bytes for the length of a block."""
        columns = (
            TextColumn("   {task.description}"),
            BarColumn(bar_width=36),
            DownloadColumn(),
        )
        # The moving bar goes past the recording, which gets only the last state.
        moving = Console(
            file=self.console.file,
            width=self.console.width,
            force_terminal=self.console.is_terminal,
        )
        with Progress(*columns, console=moving, transient=True) as progress:
            yield ByteBar(progress, progress.add_task(text, total=None))
        self.console.print(progress.get_renderable())

    def save_svg(self, file: Path) -> None:
        """Write all that was said as a picture; the console must record."""
        file.parent.mkdir(parents=True, exist_ok=True)
        picture = self.console.export_svg(title="make demo")
        # Its fonts would be fetched from elsewhere; the reader's own monospaced font will do.
        file.write_text(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL))


class ByteBar:
    """A bar that is told how far things are."""

    def __init__(self, progress: Progress, task: Any) -> None:
        self._progress = progress
        self._task = task

    def update(self, done_bytes: int, total_bytes: int) -> None:
        """Show ``done_bytes`` of ``total_bytes``."""
        self._progress.update(self._task, completed=done_bytes, total=max(1, total_bytes))
