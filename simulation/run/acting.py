"""Does one action of a plan that is no condition and no waiting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from protocol.errors import Malformed
from simulation.core.actions import Action
from simulation.run.breaking import BREAKS
from simulation.run.ordering import ORDERS
from simulation.run.scene import Scene, StepError
from simulation.stage import StageError

# Any: each takes the class of its row, beyond what a type can say.
_ACTS: Final[Mapping[type, Callable[[Scene, Any], Awaitable[None]]]] = {**BREAKS, **ORDERS}


async def act(scene: Scene, action: Action) -> None:
    """Do it.

    Raises:
        StepError: it did not go as the plan says.
    """
    await scene.look_for(action)
    try:
        await _ACTS[type(action)](scene, action)
    except StageError as error:
        raise StepError(str(error)) from error
    except (OSError, Malformed) as error:
        raise StepError(f"no answer: {error or type(error).__name__}") from error
