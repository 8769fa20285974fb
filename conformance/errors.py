"""Why a cluster cannot be judged: one clear line each, for whoever asked for it."""

from __future__ import annotations


class ConformanceError(Exception):
    """What a case needs could not be made, or the cluster refuses it."""


class AddressError(ConformanceError):
    """What was given as an address is none."""


class NoClusterError(ConformanceError):
    """Nobody answers there, or not as a broker of Kafka."""


class NotInTimeError(ConformanceError):
    """What was waited for did not come about."""
