"""How long tests wait for what must come: so long that only a failure gets there.

A machine that is busy with other things makes everything later, and nothing wrong.
"""

from __future__ import annotations

from typing import Final

DEADLINE_S: Final = 120
DEADLINE_MS: Final = 120_000
