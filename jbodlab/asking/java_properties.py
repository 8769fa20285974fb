"""Java's properties files. Unicode escapes are not read."""

from __future__ import annotations


def parse_properties(text: str) -> dict[str, str]:
    """Return the keys and values of a properties file; the last of several wins.

    Source: java.util.Properties.load.
    """
    found: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _key_and_value(line)
        found[key] = value
    return found


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    is_continued = False
    for raw in text.splitlines():
        line = raw.lstrip()
        if not is_continued and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        part = line[:-1] if backslashes % 2 else line
        if is_continued:
            lines[-1] += part
        else:
            lines.append(part)
        is_continued = bool(backslashes % 2)
    return lines


def _key_and_value(line: str) -> tuple[str, str]:
    """Split at the first unescaped ``=``, ``:`` or blank."""
    end = 0
    while end < len(line) and line[end] not in "=: \t\f":
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return _unescaped(line[:end]), _unescaped(rest)


def _unescaped(text: str) -> str:
    parts: list[str] = []
    letters = iter(text)
    for letter in letters:
        if letter != "\\":
            parts.append(letter)
            continue
        escaped = next(letters, "")
        parts.append({"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(escaped, escaped))
    return "".join(parts)
