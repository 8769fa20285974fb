"""Configurations as YAML has them, to text as Kafka has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def config_text(configs: Mapping[str, Any]) -> dict[str, str]:
    """Return configurations as Kafka writes them: YAML's true becomes ``true``, 2 becomes ``2``."""
    return {name: _text(value) for name, value in configs.items() if value is not None}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
