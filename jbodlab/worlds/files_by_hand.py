"""What somebody does to the files of a log dir by hand, past its broker. Knows no brokers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from broker.storage.layout import LOG_SUFFIX
from simulation.core.file_text import WHOLE_LOG_DIR, small_text


def write_by_hand(log_dir: Path, name: str, text: str) -> None:
    """Put a file there, with the directories above it.

    Raises:
        OSError: a file is where a directory must be, or the other way round.
    """
    file = log_dir / name
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())


def remove_by_hand(log_dir: Path, name: str) -> None:
    """Take a file or a directory away, or the log dir itself with all that it holds.

    Raises:
        OSError: there is nothing of this name.
    """
    path = log_dir if name == WHOLE_LOG_DIR else log_dir / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def holds_records(log_dir: Path, name: str) -> bool:
    """Tell whether records lie under this name."""
    path = log_dir if name == WHOLE_LOG_DIR else log_dir / name
    return path.suffix == LOG_SUFFIX or any(path.rglob(f"*{LOG_SUFFIX}"))


def texts_below(log_dir: Path) -> dict[str, str]:
    """Return every name with its text, as ``Stage.files`` does; what goes meanwhile is left out."""
    found: dict[str, str] = {}
    for path in sorted(log_dir.rglob("*")):
        try:
            text = small_text(path.read_bytes()) if path.is_file() else ""
        except FileNotFoundError:
            continue
        found[str(path.relative_to(log_dir))] = text
    return found
