"""What many runs came to: how much was run, what broke, which transitions were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

from simulation.core.coverage import Coverage
from simulation.core.features import FEATURES, Situation
from simulation.core.rule_tally import RuleTally, needless, reason_for
from simulation.core.unreached_rules import REASONS
from simulation.simulated_run import SimulatedRun


@dataclass(slots=True)
class Tally:
    """Adds runs up."""

    seeds: int = 0
    steps: int = 0
    virtual_ms: int = 0
    acknowledged: int = 0
    """Records."""
    read: int = 0
    fired: dict[str, int] = field(default_factory=dict[str, int])
    """Kind of fault -> how much it met."""
    seeds_by_kind: dict[str, int] = field(default_factory=dict[str, int])
    """Kind of fault -> in how many runs it met anything."""
    empty_faults: int = 0
    """Drawn faults that were set and never met anything."""
    done: dict[str, int] = field(default_factory=dict[str, int])
    """Word of an action -> how often it was carried out."""
    features: dict[str, int] = field(default_factory=dict[str, int])
    """Feature -> in how many plans it was on."""
    situations: dict[str, int] = field(default_factory=dict[str, int])
    """Situation -> how many runs came to it."""
    reached: dict[str, int] = field(default_factory=dict[str, int])
    """Situation or transition -> how many runs came there."""
    reached_with: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Situation or transition -> feature -> how many runs with it came there."""
    rules: RuleTally | None = None
    """None: nobody watched."""
    coverage: Coverage = field(default_factory=Coverage)
    failed: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    """Seed -> its violations, of those that have any."""
    cpu_s_by_seed: dict[int, float] = field(default_factory=dict[int, float])

    @property
    def slowest_seed(self) -> int | None:
        """The seed that took most processor time; None before any."""
        return max(self.cpu_s_by_seed, key=self.cpu_s_by_seed.__getitem__, default=None)

    def add(self, run: SimulatedRun) -> None:
        """Count one run."""
        self.seeds += 1
        self.steps += run.steps
        self.virtual_ms += run.virtual_ms
        self.acknowledged += run.verdict.acknowledged
        self.read += run.verdict.read
        _add(self.fired, run.fired)
        _add(self.seeds_by_kind, {kind: 1 for kind, count in run.fired.items() if count})
        self.empty_faults += len(run.verdict.empty_faults)
        _add(self.done, run.verdict.done)
        _add(self.features, dict.fromkeys(run.features, 1))
        _add(self.situations, dict.fromkeys(run.verdict.situations, 1))
        for reached in (*run.verdict.situations, *map(str, run.transitions)):
            _add(self.reached, {reached: 1})
            _add(self.reached_with.setdefault(reached, {}), dict.fromkeys(run.features, 1))
        if self.rules is not None and run.rules is not None:
            self.rules.add(run.rules)
        self.coverage.add(run.transitions)
        self.cpu_s_by_seed[run.seed] = run.cpu_s
        if not run.verdict.is_ok:
            self.failed[run.seed] = tuple(map(str, run.verdict.violations))

    # Any: JSON.
    def content(self) -> dict[str, Any]:
        """Return it as plain values."""
        coverage = self.coverage
        return {
            "seeds": self.seeds,
            "failed": {str(seed): list(found) for seed, found in self.failed.items()},
            "cpu_s": self._cpu_s_content(),
            "steps": self.steps,
            "virtual_ms": self.virtual_ms,
            "acknowledged": self.acknowledged,
            "read": self.read,
            "fired": dict(sorted(self.fired.items())),
            "seeds_by_kind": dict(sorted(self.seeds_by_kind.items())),
            "empty_faults": self.empty_faults,
            "done": dict(sorted(self.done.items())),
            "rules": [] if self.rules is None else _rules_content(self.rules),
            "needless_reasons": self._needless_reasons(),
            "situations": {each: self.situations.get(each, 0) for each in Situation},
            "features": {each: self.features.get(each, 0) for each in FEATURES},
            "reached": dict(sorted(self.reached.items())),
            "reached_with": {
                reached: {each: counts[each] for each in FEATURES if each in counts}
                for reached, counts in sorted(self.reached_with.items())
            },
            "transitions_seen": {str(one): coverage.counts[one] for one in coverage.seen},
            "transitions_never_seen": [str(one) for one in coverage.never_seen],
            "transitions_undeclared": [str(one) for one in coverage.undeclared],
        }

    # Any: JSON.
    def _cpu_s_content(self) -> dict[str, Any]:
        slowest_seed = self.slowest_seed
        if slowest_seed is None:
            return {}
        costs_s = self.cpu_s_by_seed.values()
        return {
            "median": median(costs_s),
            "mean": mean(costs_s),
            "slowest": self.cpu_s_by_seed[slowest_seed],
            "slowest_seed": slowest_seed,
        }

    def _needless_reasons(self) -> list[str]:
        return [] if self.rules is None else needless(self.rules.reports(), REASONS)


# Any: JSON.
def _rules_content(rules: RuleTally) -> list[dict[str, Any]]:
    return [
        {
            "rule": report.rule,
            "seeds_entered": report.entered,
            "seeds_with_both_outcomes": report.whole,
            "never": [str(each) for each in report.never],
            "reason": reason_for(report.rule, REASONS) if report.never else None,
        }
        for report in rules.reports()
    ]


def _add(sums: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        sums[name] = sums.get(name, 0) + count
