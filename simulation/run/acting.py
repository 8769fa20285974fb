"""Does one action of a plan that is no condition and no waiting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from protocol.errors import Malformed
from simulation.cluster_instance import ClusterInstanceError
from simulation.core.actions import Action, Ask, Stop, StopWorkload
from simulation.run.breaking import BREAKS
from simulation.run.ordering import ORDERS
from simulation.run.run_context import RunContext, StepError

# Any: each takes the class of its row, beyond what a type can say.
_ACTS: Final[Mapping[type, Callable[[RunContext, Any], Awaitable[None]]]] = {**BREAKS, **ORDERS}


def may_be_given_up(action: Action) -> bool:
    """Return whether who waits for an action may leave in its middle: it is settled all the same.

    The history says of an order that it may come yet; a node that is to stop is killed; a client
    goes on ending.
    """
    if isinstance(action, (Stop, StopWorkload)):
        return True
    return type(action) in ORDERS and not isinstance(action, Ask)


async def act(context: RunContext, action: Action) -> None:
    """Do it.

    Raises:
        StepError: it did not go as the plan says.
    """
    await context.look_for(action)
    try:
        await _ACTS[type(action)](context, action)
    except ClusterInstanceError as error:
        raise StepError(str(error)) from error
    except (OSError, Malformed) as error:
        raise StepError(f"no answer: {error or type(error).__name__}") from error
