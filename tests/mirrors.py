"""Which source a file of tests is about: the one that has its name, or the longest begin of it.

``test_fetch.py`` and ``test_fetch_memory.py`` are about ``fetch.py``; ``test_fetch_room.py`` is
about ``fetch_room.py``, where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def source_of(test: str, is_source: Callable[[str], bool]) -> str | None:
    """Return the source that a file of tests is about, None without one; paths from the root."""
    folder, _, name = test.removeprefix("tests/").rpartition("/")
    words = name.removeprefix("test_").removesuffix(".py").split("_")
    for count in range(len(words), 0, -1):
        source = f"{folder}/{'_'.join(words[:count])}.py"
        if is_source(source):
            return source
    return None


def files_about(source: str, root: Path) -> list[str]:
    """Return the files of tests about a source, the one of its name first."""

    def is_source(path: str) -> bool:
        return (root / path).exists()

    folder, _, name = source.rpartition("/")
    files = sorted((root / "tests" / folder).glob(f"test_{name.removesuffix('.py')}*.py"))
    tests = [file.relative_to(root).as_posix() for file in files]
    own = [test for test in tests if source_of(test, is_source) == source]
    return sorted(own, key=len)
