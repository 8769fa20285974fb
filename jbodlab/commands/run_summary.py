"""What a simulated run and a sweep came to, in words and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from simulation.core.checkers.reach import Reach
from simulation.core.coverage import RARE
from simulation.core.features import Situation
from simulation.core.rule_tally import RuleReport, needless, unexplained
from simulation.core.unreached_rules import REASONS
from simulation.core.verdict import Verdict

if TYPE_CHECKING:
    from simulation.core.coverage import Coverage, Transition
    from simulation.core.rule_tally import RuleTally
    from simulation.simulated_run import SimulatedRun
    from simulation.tally import Tally

LONG_SWEEP_SEEDS = 100
"""From so many on a sweep is so long that people want to know how far it is."""


def run_summary(run: SimulatedRun, header: Mapping[str, str]) -> str:
    """Return the lines below a story; two runs of a seed give the same."""
    lines = [
        outcome_line(run.verdict),
        f"seed {run.seed}, trace {run.trace_hash[:16]}, {run.steps} steps, "
        f"{run.virtual_ms / 1000:.1f} virtual seconds",
        f"faults: {_counts(run.fired)}",
        *checks_lines(run.verdict),
        f"transitions covered: {len(run.transitions)}",
        f"replay needs: {', '.join(f'{name} {value}' for name, value in header.items())}",
    ]
    if run.last_events:
        lines += ["the last events:", *(f"  {event}" for event in run.last_events)]
    return "\n".join(lines)


def outcome_line(verdict: Verdict) -> str:
    """Return what came of a plan, in whichever world."""
    healed = verdict.healed_after_ms
    well = "" if healed is None else f", all well {healed / 1000:.3f} s after the faults"
    return (
        f"{verdict.plan}: {'as it must be' if verdict.is_ok else 'NOT as it must be'}; "
        f"{verdict.acknowledged} records acknowledged, {verdict.read} read, "
        f"{sum(verdict.fault_hits.values())} operations met by faults{well}"
    )


def checks_lines(verdict: Verdict) -> list[str]:
    """Return which checkers could see, which saw less, and which saw nothing; a line each."""
    return [
        f"{reach.value}: {'; '.join(map(str, checks))}"
        for reach in Reach
        if (checks := verdict.checks_of(reach))
    ]


# Any: JSON.
def run_content(run: SimulatedRun) -> dict[str, Any]:
    """Return a run as JSON would have it."""
    content = asdict(run)
    content["verdict"] = verdict_content(run.verdict)
    content["transitions"] = {str(one): count for one, count in run.transitions.items()}
    del content["cpu_s"]  # Two runs of a seed print the same.
    return content


# Any: JSON.
def verdict_content(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as JSON would have it."""
    content = asdict(verdict)
    content["is_ok"] = verdict.is_ok
    content["violations"] = [each._asdict() for each in verdict.violations]
    content["checks"] = [each._asdict() for each in verdict.checks]
    content["story"] = [line._asdict() for line in verdict.story]
    return content


def is_worth_a_line(ran: int, of: int) -> bool:
    """Tell whether another tenth of a long sweep has run: no terminal shows a bar of it."""
    return of >= LONG_SWEEP_SEEDS and 10 * ran // of > 10 * (ran - 1) // of


def tally_summary(tally: Tally, wall_s: float) -> str:
    """Return what a sweep came to."""
    speed = tally.virtual_ms / 1000 / wall_s if wall_s else 0.0
    lines = [
        f"{tally.seeds} seeds, {tally.steps} steps, {tally.virtual_ms / 1000:.0f} virtual seconds "
        f"in {wall_s:.0f} s ({speed:.0f} times as fast)",
        *cost_lines(tally),
        f"{tally.acknowledged} records acknowledged, {tally.read} read",
        f"faults fired: {_counts(tally.fired)}; {tally.empty_faults} met nothing",
        f"done: {_counts(tally.done)}",
        *situation_lines(tally),
        *coverage_lines(tally.coverage),
        *([] if tally.rules is None else rule_lines(tally.rules)),
    ]
    return "\n".join(lines)


def cost_lines(tally: Tally) -> list[str]:
    """Return what seeds took of a processor, and how many failed; nothing before any ran."""
    slowest = tally.slowest_seed
    if slowest is None:
        return []
    costs_s = tally.cpu_s_by_seed.values()
    return [
        f"processor time of a seed: median {median(costs_s):.2f} s, mean {mean(costs_s):.2f} s, "
        f"slowest {tally.cpu_s_by_seed[slowest]:.2f} s (seed {slowest})",
        f"seeds with violations: {', '.join(map(str, tally.failed)) or 'none'}",
    ]


def situation_lines(tally: Tally) -> list[str]:
    """Return how many seeds were to come to each situation, and how many did."""
    return [
        "situations, seeds that came to each of those with the feature: "
        + ", ".join(
            f"{each} {tally.situations.get(each, 0)} of {tally.features.get(each, 0)}"
            for each in Situation
        )
    ]


def rule_lines(rules: RuleTally) -> list[str]:
    """Return how many rules went every way, and the ways that none went and nobody explains."""
    reports = rules.reports()
    whole = sum(not report.never for report in reports)
    explained = len(reports) - whole - len(unexplained(reports, REASONS))
    return [
        f"rules: {len(reports)}, {whole} with both outcomes of all their branches in some seed, "
        f"{explained} others with a reason; seeds that entered, and that reached all in one:",
        *(f"  {each.rule}: {each.entered}, {each.whole}" for each in reports if not each.never),
        *(
            f"  {report.rule}: {report.entered}, 0; never {_outcomes(report)}"
            for report in unexplained(reports, REASONS)
        ),
        *(f"  {name}: its reason is needless" for name in needless(reports, REASONS)),
    ]


def _outcomes(report: RuleReport) -> str:
    return "entered" if not report.entered else "; ".join(map(str, report.never))


def coverage_lines(coverage: Coverage) -> list[str]:
    """Return how many transitions were made, which never, and which nobody declared."""
    seen, never = coverage.seen, coverage.never_seen
    shown = sum(one in RARE and RARE[one].shown_by is not None for one in never)
    rest = f", {shown} more are made by scenarios of their own" if shown else ""
    return [
        f"transitions: {len(seen)} of {len(seen) + len(never)} seen{rest}",
        *(f"  never: {_with_reason(transition)}" for transition in never),
        *(f"  not declared: {transition}" for transition in coverage.undeclared),
    ]


def _with_reason(transition: Transition) -> str:
    rarity = RARE.get(transition)
    return str(transition) if rarity is None else f"{transition} ({rarity})"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
