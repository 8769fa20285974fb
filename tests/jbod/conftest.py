"""The lab of the engine's tests, in virtual time, for stories that concern several parts."""

from __future__ import annotations

from tests.broker.engine.conftest import alone, lab, pytest_asyncio_loop_factories

__all__ = ["alone", "lab", "pytest_asyncio_loop_factories"]
