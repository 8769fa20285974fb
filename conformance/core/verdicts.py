"""Judges observations by expectations, and versions announced by those of the release. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from conformance.core.differences import Difference, differences
from conformance.core.expectations import Expectations, Observation
from protocol.apis import APIS, NOT_SERVED


class Outcome(Enum):
    """What came of one variant."""

    PASSED = "passed"
    VIOLATION = "violation"
    KNOWN = "known difference"
    NOT_ANNOUNCED = "not announced"
    """The cluster does not announce this version: the group ``announced`` says so, once."""
    TOO_FEW_BROKERS = "too few brokers"


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A difference that somebody wrote down, and the places where it shows."""

    number: int
    what: str
    """What differs, in a few words."""
    row: str
    """Where docs/differences.md tells of it: the first cell of its row."""
    cases: Sequence[str]
    """Patterns of variants."""
    paths: Sequence[str]
    """Patterns of the places in an observation."""

    def __str__(self) -> str:
        """Return the number and the words."""
        return f"known difference {self.number} ({self.what})"

    def covers(self, name: str, difference: Difference) -> bool:
        """Whether this is why ``name`` differs there."""
        return any(fnmatchcase(name, each) for each in self.cases) and any(
            fnmatchcase(difference.path, each) for each in self.paths
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one variant and why."""

    name: str
    about: str
    outcome: Outcome
    differences: Sequence[Difference] = ()
    known: Sequence[KnownDifference] = ()
    """Those that it shows."""
    expected: Observation | None = None
    got: Observation | None = None

    @property
    def group(self) -> str:
        """The word before the slash."""
        return self.name.partition("/")[0]


def judge(
    name: str,
    about: str,
    expected: Observation,
    got: Observation | str,
    known: Sequence[KnownDifference] = (),
) -> Verdict:
    """Compare one observation; ``got`` is a sentence where the case could not be carried out."""
    if isinstance(got, str):
        found = [Difference("", "the case is carried out", got)]
        return _with_known(name, about, found, known)
    found = list(differences(expected, got))
    if not found:
        return Verdict(name, about, Outcome.PASSED)
    made = _with_known(name, about, found, known)
    return Verdict(name, about, made.outcome, found, made.known, expected, got)


def _with_known(
    name: str, about: str, found: Sequence[Difference], known: Sequence[KnownDifference]
) -> Verdict:
    shown: dict[int, KnownDifference] = {}
    for difference in found:
        why = next((each for each in known if each.covers(name, difference)), None)
        if why is None:
            return Verdict(name, about, Outcome.VIOLATION, found)
        shown[why.number] = why
    return Verdict(name, about, Outcome.KNOWN, found, list(shown.values()))


def judge_announced(
    expectations: Expectations,
    announced: Mapping[int, tuple[int, int]],
    known: Sequence[KnownDifference] = (),
) -> Iterator[Verdict]:
    """Compare the versions announced, API by API."""
    for key in sorted({*expectations.announced, *announced}):
        expected, got = _range(expectations.announced.get(key)), _range(announced.get(key))
        name = f"announced/{api_name(key)}"
        about = f"{api_name(key)} is announced in the versions of the release"
        if expected == got:
            yield Verdict(name, about, Outcome.PASSED)
        else:
            yield _with_known(name, about, [Difference("versions", expected, got)], known)


def api_name(key: int) -> str:
    """Return Kafka's name of an API, or its key if it has none here."""
    return APIS[key].name if key in APIS else NOT_SERVED.get(key, f"key {key}")


def _range(versions: tuple[int, int] | None) -> str:
    return "not announced" if versions is None else f"{versions[0]} to {versions[1]}"
