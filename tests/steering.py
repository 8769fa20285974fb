"""``python -m tests.steering SWEEP`` writes the table of features anew from a sweep.

SWEEP is what ``jbodlab simulate --seeds A..B --json`` wrote. The seeds that are run afterwards
draw other plans than before, so the table changes on purpose only, and is in the repository.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from simulation.core import feature_percents
from simulation.core.feature_percents import PERCENTS
from simulation.core.features import USUAL_PERCENTS
from simulation.core.steering import steered

TABLE: Final = Path(feature_percents.__file__)
_HEAD: Final = "PERCENTS: Final[Mapping[str, int]] = {\n"


# Any: JSON.
def steered_by(sweep: Mapping[str, Any]) -> dict[str, int]:
    """Return the percentages that follow from a sweep's report."""
    return steered(
        PERCENTS,
        USUAL_PERCENTS,
        sweep["seeds"],
        sweep["features"],
        sweep["reached_with"],
        sweep["reached"],
    )


def table_with(percents: Mapping[str, int], text: str) -> str:
    """Return the module's text with these percentages in their place."""
    head, _, _ = text.partition(_HEAD)
    rows = "".join(f'    "{name}": {percent},\n' for name, percent in percents.items())
    return f"{head}{_HEAD}{rows}}}\n"


def main(sweep: str) -> None:
    """Write the table, and say what changed."""
    percents = steered_by(json.loads(Path(sweep).read_text(encoding="utf-8")))
    for name, percent in percents.items():
        if percent != PERCENTS[name]:
            sys.stdout.write(f"{name}: {PERCENTS[name]} -> {percent}\n")
    TABLE.write_text(table_with(percents, TABLE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
