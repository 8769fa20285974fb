"""The note of what runs: pids and log files of a cluster, in a folder beside its file.

Starts and stops nothing. Written atomically; a note of dead processes is harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessNote:
    """What is needed to find one process again."""

    pid: int
    started_at: float
    log_file: str


def run_dir(config_path: Path) -> Path:
    """Return the folder of notes and logs of the cluster of ``config_path``."""
    return config_path.absolute().parent / "data" / "run" / config_path.stem


def read_notes(folder: Path) -> dict[str, ProcessNote]:
    """Return the notes by process name; empty when there are none or they cannot be read."""
    try:
        return msgspec.json.decode(
            (folder / "state.json").read_bytes(), type=dict[str, ProcessNote]
        )
    except (OSError, msgspec.DecodeError):
        return {}


def write_notes(folder: Path, notes: dict[str, ProcessNote]) -> None:
    """Replace the notes; no notes remove the file."""
    file = folder / "state.json"
    if not notes:
        file.unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".tmp")
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(notes)))
    fresh.replace(file)
