"""The user's folder for what is made once and used again; what is missing is made anew."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder, by XDG's rule; it need not exist."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jbodlab"
