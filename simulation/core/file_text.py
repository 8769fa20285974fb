"""What a run reads in the files of a log dir: small texts. Opens none."""

from __future__ import annotations

from typing import Final

WHOLE_LOG_DIR: Final = "."
"""As the name of a file: all that the log dir holds."""
_TEXT_BYTES_MAX: Final = 4096


def small_text(data: bytes) -> str:
    """Return the text of a small file; "" for what is long or no text."""
    if len(data) > _TEXT_BYTES_MAX:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""
