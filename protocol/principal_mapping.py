"""``ssl.principal.mapping.rules``: from a certificate's distinguished name to a principal's name.

Patterns run with RE2, in linear time, whatever a certificate says. Source: SslPrincipalMapper.java.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

DEFAULT: Final = "DEFAULT"
_RULE: Final = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)"
    r"/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*(?:,|$)"
)
_GROUP: Final = re.compile(r"\$(\d)")


class MappingRulesError(ValueError):
    """Rules that cannot be read, in one sentence."""


class _Rule(NamedTuple):
    pattern: Any
    """A compiled one of RE2; None for DEFAULT."""
    replacement: str
    case: str


class PrincipalMapping:
    """Rules in order; the first that matches a whole name says what becomes of it."""

    def __init__(self, text: str) -> None:
        """Read the rules, as ``RULE:^CN=(.*?),.*$/$1/L, DEFAULT``.

        Raises:
            MappingRulesError: they cannot be read.
        """
        self._rules: list[_Rule] = []
        position = 0
        text = text.strip() or DEFAULT
        while position < len(text):
            match = _RULE.match(text, position)
            if match is None or match.end() == position:
                raise MappingRulesError(
                    f"expected RULE:pattern/replacement/[L|U] or DEFAULT, got {text[position:]!r}"
                )
            self._rules.append(_read(match))
            position = match.end()

    def name_of(self, distinguished_name: str) -> str | None:
        """Return the name of a principal; None when no rule matches."""
        for rule in self._rules:
            if rule.pattern is None:
                return distinguished_name
            match = rule.pattern.fullmatch(distinguished_name)
            if match is not None:
                return _name(rule, (match.group(0), *match.groups()))
        return None


def _name(rule: _Rule, groups: tuple[str | None, ...]) -> str:
    name = _GROUP.sub(lambda found: _group(groups, found), rule.replacement)
    return {"L": name.lower(), "U": name.upper()}.get(rule.case, name)


def _group(groups: tuple[str | None, ...], found: re.Match[str]) -> str:
    number = int(found[1])
    return (groups[number] or "") if number < len(groups) else ""


def _read(match: re.Match[str]) -> _Rule:
    if match["default"]:
        return _Rule(None, "", "")
    import re2  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] - loaded when wanted

    patterns: Any = re2
    try:
        pattern = patterns.compile(match["pattern"])
    except patterns.error:
        raise MappingRulesError(f"{match['pattern']!r} is no pattern of RE2") from None
    return _Rule(pattern, match["replacement"], match["case"])
