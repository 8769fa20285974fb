"""What counts as a log dir that is back; the whole way is in tests/integration/test_kip_18.py."""

from __future__ import annotations

import pytest

from jbodlab.returns import ReturnProgress


def progress(
    state: str = "done", *, awaited: int = 0, replicas: int = 3, in_sync: int = 3
) -> ReturnProgress:
    return ReturnProgress(
        state=state,
        found_count=1,
        lost_count=2,
        awaited_count=awaited,
        copied_bytes=10,
        total_bytes=20,
        in_sync_count=in_sync,
        replica_count=replicas,
    )


def test_a_log_dir_is_back_when_all_its_replicas_are_in_sync() -> None:
    assert progress().is_done


def test_a_topic_that_is_deleted_meanwhile_is_not_waited_for() -> None:
    assert progress(replicas=0, in_sync=0).is_done


@pytest.mark.parametrize(
    "unfinished",
    [
        progress("loading"),
        progress("registering"),
        progress(in_sync=2),
        progress(awaited=1, replicas=2, in_sync=2),
    ],
)
def test_until_then_it_is_waited_for(unfinished: ReturnProgress) -> None:
    assert not unfinished.is_done
