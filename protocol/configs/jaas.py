"""A line of JAAS, by which Kafka names a login module and its options. Knows no key.

Source: JaasConfig.java.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_OPTION: Final = r"([\w-]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\s;\"']+))"
_OPTIONS: Final = re.compile(_OPTION)
_LINE: Final = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?i:required|requisite|sufficient|optional)"
    rf"(?P<options>(?:\s+{_OPTION})*)\s*;\s*"
)


class JaasModule(NamedTuple):
    """A login module with its options, passwords among them."""

    name: str
    """The Java class."""
    options: dict[str, str]


def jaas_module(text: str) -> JaasModule | None:
    """Return what ``text`` names; None where it is no single module with a semicolon."""
    line = _LINE.fullmatch(text)
    if line is None:
        return None
    found = _OPTIONS.findall(line["options"])
    return JaasModule(
        line["module"],
        {
            name: bare or re.sub(r"\\(.)", r"\1", double or single)
            for name, double, single, bare in found
        },
    )
