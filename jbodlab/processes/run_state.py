"""The note of what runs: pids and log files of a cluster, in a folder beside its file.

Starts and stops nothing. Written atomically; a note of dead processes is harmless.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from jbodlab.processes.process import Process
from protocol.metrics.rows import NO_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessNote:
    """What is needed to find one process again."""

    pid: int
    started_at: float
    log_file: str
    run_id: str = NO_RUN


def run_dir(config_path: Path) -> Path:
    """Return the folder of notes and logs of the cluster of ``config_path``."""
    return config_path.absolute().parent / "data" / "run" / config_path.stem


def note_of(process: Process, run_id: str) -> ProcessNote:
    """Return the note of a process."""
    log_file = str(process.log_file)
    return ProcessNote(
        pid=process.pid, started_at=process.started_at, log_file=log_file, run_id=run_id
    )


def new_run_id() -> str:
    """Return a name for a life of a cluster: when it began, and a few random digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


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
