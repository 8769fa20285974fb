"""How wide commands write where nobody says it: a table takes the width it needs."""

from __future__ import annotations

from typing import Final

PIPE_WIDTH: Final = 200
"""Into a pipe or a file."""
