"""From where whoever connects in a simulated world seems to come; rights may be about that."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

ANY_HOST: Final = "127.0.0.1"
EXAMINER_HOST: Final = "127.0.0.9"
CLIENT_HOST: ContextVar[str] = ContextVar("client_host", default=ANY_HOST)
"""Of what is connected in this context, and in tasks that are begun in it."""
