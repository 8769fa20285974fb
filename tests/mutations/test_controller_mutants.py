"""A controller that breaks a rule is caught, and so is a broker that does not heed what it says.

As in ``test_mutants`` the same run is made twice: with the mutant, and with the real code.
"""

from __future__ import annotations

import asyncio

import pytest

from protocol.configs.types import ResourceType
from protocol.errors import ErrorCode
from tests.mutations import controller_mutants, mutants
from tests.mutations.mutants import turn_into
from tests.mutations.trial import TP, Trial

pytestmark = pytest.mark.sampled_among("checkers of controllers, with a mutant and without", kept=6)

broken_or_not = pytest.mark.parametrize("is_broken", [False, True], ids=["real", "mutant"])


def _expected(checker: str, *, is_broken: bool) -> list[str]:
    return [checker] if is_broken else []


@broken_or_not
async def test_a_journal_that_loses_decisions(is_broken: bool) -> None:
    trial = await Trial.begin(1)
    controller = trial.cluster.controller.controller
    assert controller is not None
    if is_broken:
        turn_into(mutants.LossyJournal, getattr(controller, "_store"))  # noqa: B009 -- nobody's
    await trial.create("another", 2)

    assert await trial.findings() == (["journal", "journal first"] if is_broken else [])


@broken_or_not
async def test_a_controller_that_acts_before_its_journal_is_synced(is_broken: bool) -> None:
    trial = await Trial.begin(1)
    controller = trial.cluster.controller.controller
    assert controller is not None
    if is_broken:
        turn_into(mutants.HastyJournal, getattr(controller, "_store"))  # noqa: B009 -- nobody's
    await trial.create("another", 2)

    assert await trial.findings() == _expected("journal first", is_broken=is_broken)


@broken_or_not
async def test_a_controller_that_counts_its_decisions_wrongly(is_broken: bool) -> None:
    trial = await Trial.begin(1)
    controller = trial.cluster.controller.controller
    assert controller is not None
    if is_broken:
        turn_into(controller_mutants.MisnumberingMachine, getattr(controller, "_machine"))  # noqa: B009 -- its own
    await trial.create("another", 2)

    assert await trial.findings() == (["journal", "journal first"] if is_broken else [])


@broken_or_not
async def test_a_controller_that_forgets_what_a_dead_broker_led(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    controller = trial.cluster.controller.controller
    assert controller is not None
    if is_broken:
        turn_into(mutants.ForgetfulState, controller.state)
    trial.cluster.brokers[1].kill()

    assert await trial.findings() == _expected("offline replicas", is_broken=is_broken)


@broken_or_not
async def test_a_controller_that_answers_an_order_and_does_not_carry_it_out(
    is_broken: bool,
) -> None:
    trial = await Trial.begin(1, 2)
    controller = trial.cluster.controller.controller
    assert controller is not None
    if is_broken:
        turn_into(mutants.PromisingMachine, getattr(controller, "_machine"))  # noqa: B009 -- its own
    wish = {"min.insync.replicas": "2"}
    answered = await trial.admin.alter_configs(ResourceType.TOPIC, "orders", wish)
    assert answered is ErrorCode.NONE

    assert await trial.findings() == _expected("orders", is_broken=is_broken)


@broken_or_not
async def test_a_broker_that_does_not_heed_its_cordons(is_broken: bool) -> None:
    trial = await Trial.begin(1)
    paths = list(trial.cluster.brokers[1].drives)
    paths.remove(trial.log_dir(1).path)
    cordon = {"cordoned.log.dirs": ",".join(paths)}
    await trial.admin.alter_configs(ResourceType.BROKER, "1", cordon)
    await asyncio.sleep(5)
    if is_broken:
        turn_into(mutants.HeedlessLogDirs, trial.state(1).log_dir_states)
    await trial.create("another", 1)

    assert await trial.findings() == (["refused places", "orders"] if is_broken else [])


@broken_or_not
async def test_a_controller_that_tells_nobody_to_delete(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2)
    controller = trial.cluster.controller.controller
    assert controller is not None
    if is_broken:
        turn_into(controller_mutants.KeepingMachine, getattr(controller, "_machine"))  # noqa: B009 -- its own
    await trial.admin.reassign({TP: (2, 3)})

    assert await trial.findings() == _expected("unassigned logs", is_broken=is_broken)


@broken_or_not
async def test_a_broker_that_tells_an_old_leader(is_broken: bool) -> None:
    trial = await Trial.begin(1, 2, 3)
    await asyncio.sleep(1)
    if is_broken:
        turn_into(mutants.StaleImage, trial.state(3).metadata)
    trial.cluster.brokers[1].kill()
    await trial.until_led(TP, 2)
    await asyncio.sleep(5)
    await trial.client.view_of(3)

    assert await trial.findings() == _expected("metadata", is_broken=is_broken)
