from __future__ import annotations

import pytest

from simulation.core.conditions import (
    AnyOf,
    Condition,
    FileIn,
    FutureReplica,
    LogDirIs,
    Not,
    ReplicaIn,
)
from simulation.core.judging import judge
from tests.simulation.core.observed import SEEN

FUTURE_OF_2 = "the future replica of orders-0 on broker-2 is in d1 with a lag of 6"


def file_in(name: str, text: str | None = None, *, log_dir: str = "d2") -> FileIn:
    return FileIn(broker="broker-1", log_dir=log_dir, name=name, text=text)


@pytest.mark.parametrize(
    ("condition", "holds", "says"),
    [
        (
            LogDirIs(broker="broker-1", log_dir="d1", state="offline"),
            True,
            "d1 of broker-1 is offline (KAFKA_STORAGE_ERROR)",
        ),
        (
            LogDirIs(broker="broker-1", log_dir="of orders-0", state="online"),
            True,
            "d2 of broker-1 is online and cordoned",
        ),
        (
            LogDirIs(broker="broker-1", log_dir="d2", state="cordoned"),
            True,
            "d2 of broker-1 is online and cordoned",
        ),
        (
            LogDirIs(broker="broker-2", log_dir="d1", state="cordoned"),
            False,
            "d1 of broker-2 is online",
        ),
        (
            LogDirIs(broker="broker-3", log_dir="d1", state="online"),
            None,
            "nobody tells of d1 of broker-3",
        ),
        (
            ReplicaIn(of="orders-0", broker="broker-1", log_dir="d2"),
            True,
            "the current replica of orders-0 on broker-1 is in d2",
        ),
        (
            ReplicaIn(of="orders-0", broker="broker-1"),
            True,
            "the current replica of orders-0 on broker-1 is in d2",
        ),
        (
            ReplicaIn(of="orders-0", broker="broker-1", log_dir="d1"),
            False,
            "the current replica of orders-0 on broker-1 is in d2, says broker-2",
        ),
        (
            FutureReplica(of="orders-0", broker="leader of orders-0"),
            True,
            "the future replica of orders-0 on leader of orders-0 is in d1 with a lag of 6",
        ),
        (
            FutureReplica(of="orders-0", broker="broker-2", lag=6, lag_at_least=6, lag_at_most=6),
            True,
            FUTURE_OF_2,
        ),
        (
            AnyOf(
                (
                    FutureReplica(of="orders-0", broker="broker-2", lag=5),
                    FutureReplica(of="orders-0", broker="broker-2", lag_at_least=7),
                    FutureReplica(of="orders-0", broker="broker-2", lag_at_most=5),
                )
            ),
            False,
            f"{'; '.join([FUTURE_OF_2] * 3)}, says broker-2",
        ),
        (
            Not(FutureReplica(of="orders-0", broker="broker-1")),
            True,
            "the future replica of orders-0 on broker-1 is nowhere",
        ),
        (
            Not(FutureReplica(of="orders-0", broker="broker-3")),
            None,
            "nobody tells of the log dirs of broker-3, says broker-2",
        ),
        (file_in("orders-0"), True, "d2 of broker-1 holds orders-0"),
        (file_in("orders-*"), True, "d2 of broker-1 holds orders-0, orders-0/a.log"),
        (file_in("*-delete"), False, "d2 of broker-1 holds no *-delete"),
        (
            file_in("meta.properties", "id=1"),
            True,
            "meta.properties in d2 of broker-1 reads 'id=1'",
        ),
        (
            file_in("meta.properties", "id=2"),
            False,
            "meta.properties in d2 of broker-1 does not read 'id=2'",
        ),
        (file_in("x", log_dir="d9"), None, "nobody tells what is in d9 of broker-1"),
    ],
)
def test_what_is_said_of_log_dirs_is_judged_and_what_was_seen_is_told(
    condition: Condition, holds: bool | None, says: str
) -> None:
    assert judge(condition, SEEN) == (holds, says)
