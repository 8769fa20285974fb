"""Java's classes, kept as Java wants them in memory: a quarter of a small report is to load them.

Source: JEP 350, dynamic archives of class data. An archive is of one Java and one Spark; Java looks
whether it fits and does without it if not.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any, Final

import pyspark

from analytics.cache import cache_folder

_SILENT: Final = "-Xshare:auto -Xlog:disable"
"""Java would write its warnings about an archive between the lines of a report."""
_DUMP_S_MAX: Final = 120


def archive_of(java: Path) -> Path:
    """Return where the archive of this Java and this Spark is, or would be."""
    home = java.resolve()
    what = f"{home} {home.stat().st_mtime_ns} {pyspark.__version__} {pyspark.__file__}"
    name = hashlib.sha256(what.encode()).hexdigest()[:16]
    return cache_folder() / f"spark-{name}.jsa"


def archive_options(archive: Path) -> str:
    """Return options of a Java that uses the archive; "" when there is none."""
    if archive.exists():
        return f'{_SILENT} "-XX:SharedArchiveFile={archive}"'
    return ""


def making_options(archive: Path) -> str:
    """Return options of a Java that writes the archive when it ends; "" where it cannot."""
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return ""
    return f'{_SILENT} "-XX:ArchiveClassesAtExit={_unfinished(archive)}"'


def keep_archive(archive: Path, gateway: Any) -> None:
    """End the Java of ``gateway``, which writes the archive, and put it in its place.

    Spark has been stopped. PySpark's gateway has a ``proc`` where this Python started Java.

    A Java that takes too long, as on a busy machine, is ended; the next report tries again.
    Nothing is done where ``spark-submit`` started Java: it waits for this Python, and ends Java.
    """
    process = getattr(gateway, "proc", None)
    if process is None or archive.exists():
        return
    gateway.shutdown()
    process.stdin.close()
    unfinished = _unfinished(archive)
    try:
        process.wait(_DUMP_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        unfinished.unlink(missing_ok=True)
    if unfinished.exists():
        unfinished.replace(archive)


def _unfinished(archive: Path) -> Path:
    return archive.with_name(f"{archive.name}.{os.getpid()}")
