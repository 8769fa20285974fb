"""How far a workload is: what it wrote, what it read, what it was told instead.

Counts only; each operation is in the history.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from protocol.errors import ErrorCode, KafkaError


@dataclass(slots=True)
class Progress:
    """The counts of one workload."""

    acknowledged: int = 0
    """Records that were answered without an error; with acks=0 those that were sent."""
    read: int = 0
    """Records that were read."""
    errors: dict[str, int] = field(default_factory=dict[str, int])
    """Kafka's name of each code -> how often, those that were retried too."""

    def count_error(self, name: str) -> None:
        """Count one error."""
        self.errors[name] = self.errors.get(name, 0) + 1


def code_of(error: BaseException) -> ErrorCode:
    """Return the code that came, or what Kafka's clients call a request that was not answered."""
    if isinstance(error, KafkaError):
        return error.code
    if isinstance(error, TimeoutError):
        return ErrorCode.REQUEST_TIMED_OUT
    return ErrorCode.NETWORK_EXCEPTION
