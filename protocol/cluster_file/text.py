"""Files of text that people write, read with one sentence for what is wrong with them."""

from __future__ import annotations

from pathlib import Path


def read_text_file(file: Path) -> str:
    """Return the text of a file.

    Raises:
        ValueError: one sentence: it cannot be read, or is no UTF-8.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"is no UTF-8: byte 0x{content[error.start]:02x} in line {line}; save it as UTF-8"
        ) from error
