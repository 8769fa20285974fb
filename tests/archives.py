"""Unpacks what stands in archives, the same on every Python that is promised."""

from __future__ import annotations

import tarfile
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar file of any compression into a folder, which is made if need be."""
    with tarfile.open(archive) as tar:
        # Python 3.11.2, which Debian 12 has, knows no filters.
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)
