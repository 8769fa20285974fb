"""``python -m tests.clients``: every client program and suite, and docs/clients.md, their card.

The exit code is 12 when a client missed what it promises, 9 when nothing was missed but something
could not be run here.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from jbodlab.errors import ExitCode
from jbodlab.processes.lab_spec import LabShape
from tests.clients.builds import NotRunError
from tests.clients.card import page, rows
from tests.clients.disks import COORDINATOR_CONFIGS, lead_coordinators
from tests.clients.kept import renewed, rows_of
from tests.clients.programs import MEANINGS, NOTES, PROGRAMS, Program
from tests.clients.results import Outcome
from tests.clients.secured.combinations import CLIENTS as SECURED
from tests.clients.secured.combinations import PASSED, QUICK, WAYS, Told
from tests.clients.secured.combinations import outcomes as ways_told
from tests.clients.secured.secured_card import kept_part, part
from tests.clients.session import COORDINATING, FAILING, WHOLE, WORLDS, run_program
from tests.clients.suites import CLIENT as KAFKA_PYTHON_SUITE
from tests.clients.suites import run_kafka_python
from tests.integration.labs import FAST, PATIENT_MS, Lab, running_lab

ROOT: Final = Path(__file__).parents[2]
BUILD_DIR: Final = ROOT / "build" / "clients"
CARD: Final = ROOT / "docs" / "clients.md"
CLIENTS: Final = (*(each.client for each in PROGRAMS), KAFKA_PYTHON_SUITE)
NOT_RUN: Final = 9
SHAPE: Final = LabShape(
    log_dirs=8,
    configs=FAST | {"group.initial.rebalance.delay.ms": "500"},
    session_timeout_ms=PATIENT_MS,
)
"""A log dir for each item that breaks one, and some that live."""
COORDINATED: Final = replace(SHAPE, configs={**SHAPE.configs, **COORDINATOR_CONFIGS})


@click.command()
@click.option(
    "--client",
    "clients",
    type=click.Choice(CLIENTS, case_sensitive=False),
    multiple=True,
    help="Only these; the rows of all others stay in the card.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Only with failing disks, and what takes a minute at most; no card.",
)
@click.option(
    "--secured",
    is_flag=True,
    help="Only each client by each protocol and mechanism; with --quick by one of them.",
)
def main(*, clients: tuple[str, ...], quick: bool, secured: bool) -> None:
    """Run client programs and suites against clusters of their own; write docs/clients.md."""
    if secured:
        sys.exit(_secured(clients, quick=quick))
    chosen = [
        each
        for each in PROGRAMS
        if each.client in clients or (not clients and (each.is_quick or not quick))
    ]
    outcomes = list(_outcomes(chosen, quick=quick)) if chosen else []
    if not clients or KAFKA_PYTHON_SUITE in clients:
        outcomes.append(_suite())
    if not quick:
        card = CARD.read_text(encoding="utf-8")
        ran = rows(outcomes, WORLDS, MEANINGS)
        lines = renewed(rows_of(card, CLIENTS), ran, CLIENTS)
        written = page(lines, WORLDS, MEANINGS, NOTES) + kept_part(card)
        CARD.write_text(written, encoding="utf-8")
        click.echo(f"written: {CARD.relative_to(ROOT)}")
    sys.exit(exit_code(outcomes))


def _secured(clients: tuple[str, ...], *, quick: bool) -> int:
    """Run clients by all ways; the card is written when all of both were run."""
    BUILD_DIR.mkdir(parents=True, exist_ok=True)
    chosen = [each for each in SECURED if not clients or each in clients]
    told: list[Told] = []
    for each in ways_told(chosen, QUICK if quick else WAYS, BUILD_DIR):
        click.echo(f"{each.client}, {each.way}: {each.text}")
        told.append(each)
    if not (clients or quick):
        page_before = CARD.read_text(encoding="utf-8")
        rest = page_before.removesuffix(kept_part(page_before))
        CARD.write_text(f"{rest.rstrip()}\n\n{part(told)}", encoding="utf-8")
        click.echo(f"written: {CARD.relative_to(ROOT)}")
    return secured_exit_code(told)


def secured_exit_code(told: Sequence[Told]) -> int:
    """Return what a shell is told, as ``exit_code``."""
    if any(each.is_run and each.text != PASSED for each in told):
        return ExitCode.VIOLATION
    return ExitCode.OK if all(each.is_run for each in told) else NOT_RUN


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """Return what a shell is told: a miss counts for more than what was not run."""
    if any(not each.passed and not each.not_run for each in outcomes):
        return ExitCode.VIOLATION
    return NOT_RUN if any(each.not_run for each in outcomes) else ExitCode.OK


def _outcomes(programs: Sequence[Program], *, quick: bool) -> Generator[Outcome]:
    """Run all, one after the other; a healthy cluster is shared, a broken one is a client's own."""
    with tempfile.TemporaryDirectory(prefix="jbodlab-clients-") as name, ExitStack() as stack:
        root = Path(name)
        whole = None if quick else stack.enter_context(running_lab(root / "whole", SHAPE))
        for number, program in enumerate(programs):
            try:
                command = _prepared(program)
            except NotRunError as error:
                worlds = (FAILING,) if quick else WORLDS
                yield from (
                    Outcome(program.client, "", world, (), not_run=str(error)) for world in worlds
                )
                click.echo(f"{program.client}: not run: {error}")
                continue
            if whole is not None:
                yield _told(_run(program, command, program.items, whole, root, WHOLE))
            if program.outlives_disks:
                with running_lab(root / f"broken-{number}", SHAPE) as broken:
                    yield _told(_run(program, command, program.items, broken, root, FAILING))
            items = program.quick_coordinated if quick else program.coordinated
            yield from _coordinated(program, command, items, root)


def _coordinated(
    program: Program, command: Sequence[str], items: Sequence[str], root: Path
) -> Generator[Outcome]:
    """Run items each in a cluster of its own: nothing is there that an earlier one broke."""
    for item in items:
        folder = root / f"{program.client}-{item}".replace(" ", "-")
        with running_lab(folder, COORDINATED) as lab:
            lead_coordinators(lab)
            yield _told(_run(program, command, [item], lab, root, COORDINATING))


def _suite() -> Outcome:
    click.echo(f"{KAFKA_PYTHON_SUITE}: fetching and running it")
    BUILD_DIR.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="jbodlab-clients-") as name:
        try:
            return _told(run_kafka_python(BUILD_DIR, Path(name)))
        except NotRunError as error:
            click.echo(f"{KAFKA_PYTHON_SUITE}: not run: {error}")
            return Outcome(KAFKA_PYTHON_SUITE, "", WHOLE, (), not_run=str(error))


def _prepared(program: Program) -> list[str]:
    click.echo(f"{program.client}: fetching and compiling what is not there yet")
    BUILD_DIR.mkdir(parents=True, exist_ok=True)
    return program.prepare(BUILD_DIR)


def _run(
    program: Program,
    command: Sequence[str],
    items: Sequence[str],
    lab: Lab,
    root: Path,
    world: str,
) -> Outcome:
    log = root / f"{program.client}.log"
    return run_program(program.client, command, items, lab, world=world, log=log)


def _told(outcome: Outcome) -> Outcome:
    for each in outcome.results:
        word = "passed" if each.passed else "MISSED"
        client = f"{outcome.client} {outcome.version}"
        click.echo(f"{client}, {outcome.world}: {each.item} {word}: {each.told}")
    return outcome


if __name__ == "__main__":
    main()
