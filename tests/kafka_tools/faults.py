"""Log dirs of the shared cluster that break and come back."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from jbodlab.asking.admin import ClusterAdmin
from tests.integration.labs import Lab


def take_offline(lab: Lab, broker: int, topic: str) -> str:
    """Break the log dir that holds a replica; return its path once everybody has heard of it."""
    path = lab.log_dir_of(broker, topic).path
    lab.control(broker).fail(path, "eio")

    def is_known(admin: ClusterAdmin) -> bool:
        views = [admin.view(each, [topic]).partition(topic, 0) for each in (1, 2, 3)]
        return all(broker in view.offline_replicas and view.leader != broker for view in views)

    lab.cluster.wait_until(is_known, f"the replica of {topic} on broker {broker} is offline")
    return path


def bring_back(lab: Lab, broker: int, topic: str, path: str) -> None:
    """Repair the log dir that holds a replica; return once everybody has heard that it is back.

    The broker serves from it earlier than that, while the controller still elects without it.
    """
    lab.control(broker).heal(path)
    lab.control(broker).restart(path)

    def is_known(admin: ClusterAdmin) -> bool:
        views = [admin.view(each, [topic]).partition(topic, 0) for each in (1, 2, 3)]
        return all(broker not in view.offline_replicas for view in views) and all(
            view.is_online for view in admin.log_dirs(broker) if view.path == path
        )

    lab.cluster.wait_until(is_known, f"{path} of broker {broker} is back")


@contextmanager
def offline(lab: Lab, broker: int, topic: str) -> Generator[str]:
    """Break the log dir that holds a replica for the length of a block."""
    path = take_offline(lab, broker, topic)
    try:
        yield path
    finally:
        bring_back(lab, broker, topic, path)
        lab.wait_for_full_isr(topic)
