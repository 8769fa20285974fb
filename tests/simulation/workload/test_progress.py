from __future__ import annotations

import pytest

from protocol.errors import ErrorCode, KafkaError
from simulation.workload.progress import Progress, code_of


def test_errors_are_counted_by_name() -> None:
    progress = Progress()

    for name in ("A", "B", "A"):
        progress.count_error(name)

    assert progress.errors == {"A": 2, "B": 1}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KafkaError(ErrorCode.INVALID_CONFIG), ErrorCode.INVALID_CONFIG),
        (TimeoutError(), ErrorCode.REQUEST_TIMED_OUT),
        (ConnectionResetError(), ErrorCode.NETWORK_EXCEPTION),
    ],
)
def test_what_kept_an_answer_back_has_a_code_of_kafka_s(error: Exception, code: ErrorCode) -> None:
    assert code_of(error) is code
