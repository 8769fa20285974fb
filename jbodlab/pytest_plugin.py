"""The pytest plugin: clusters as fixtures, their shape and faults as markers.

``jbod_cluster`` is one of a pool that lives as long as the run, made as good as new before each
test; ``module_jbod_cluster`` and ``session_jbod_cluster`` are left as tests leave them. pytest
loads this module by itself wherever jbodlab is installed, so it imports little.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

if TYPE_CHECKING:
    from jbodlab.api.cluster import Cluster

SHAPE: Final = "jbod_shape"
FAULT: Final = "jbod_fault"
POOL_MAX: Final = 2
"""So many shapes have a cluster that waits for the next test; the oldest one goes."""


class Pool:
    """Clusters by their shape, started when a test wants one first."""

    def __init__(self) -> None:
        self._clusters: dict[str, Cluster] = {}

    def cluster(self, shape: Mapping[str, Any]) -> Cluster:
        """Return a cluster of that shape, as good as new."""
        key = repr(sorted(shape.items()))
        cluster = self._clusters.pop(key, None)
        if cluster is None:
            while len(self._clusters) >= POOL_MAX:
                self._clusters.pop(next(iter(self._clusters))).stop()
            cluster = _started(shape)
        else:
            cluster.reset()
        self._clusters[key] = cluster
        return cluster

    def stop(self) -> None:
        """Stop all of them."""
        while self._clusters:
            self._clusters.popitem()[1].stop()


def pytest_configure(config: pytest.Config) -> None:
    """Name the markers, for --strict-markers and --markers."""
    config.addinivalue_line(
        "markers",
        f"{SHAPE}(brokers=3, log_dirs=3, **options): of the test's jbodlab cluster; "
        "the options are those of jbodlab.Cluster",
    )
    config.addinivalue_line(
        "markers",
        f"{FAULT}(mode, **keys): in force when the test begins, as jbodlab.Cluster.add_fault; "
        "log_dir=(1, 2) is the second one of broker 1",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a failed test what was done to its clusters and what they tell."""
    report = yield
    if report.failed and call.when == "call":
        for name, value in getattr(item, "funcargs", {}).items():
            if name.endswith("jbod_cluster"):
                report.sections.append((f"jbodlab: {name}", value.story()))
    return report


@pytest.fixture(scope="session")
def _jbod_pool() -> Generator[Pool]:  # pyright: ignore[reportUnusedFunction] - pytest calls it
    pool = Pool()
    yield pool
    pool.stop()


@pytest.fixture
def jbod_cluster(request: pytest.FixtureRequest, _jbod_pool: Pool) -> Cluster:
    """A cluster for one test, of the shape that its marker jbod_shape says; then its faults."""
    with _mistakes_of(SHAPE, request.node):
        cluster = _jbod_pool.cluster(_shape(request.node))
    for marker in reversed(list(request.node.iter_markers(FAULT))):
        with _mistakes_of(FAULT, request.node):
            _put_in_force(cluster, *marker.args, **marker.kwargs)
    return cluster


@pytest.fixture(scope="module")
def module_jbod_cluster(request: pytest.FixtureRequest) -> Generator[Cluster]:
    """One cluster for all tests of a module, of the shape in its ``pytestmark``."""
    with _mistakes_of(SHAPE, request.node):
        cluster = _started(_shape(request.node))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def session_jbod_cluster() -> Generator[Cluster]:
    """One cluster for the whole run, of three brokers with three log dirs each."""
    cluster = _started({})
    yield cluster
    cluster.stop()


@contextmanager
def _mistakes_of(marker: str, node: pytest.Item | pytest.Module) -> Generator[None]:
    """Tell what is wrong with a marker without the lines of ours that found it."""
    from jbodlab.errors import LabError  # noqa: PLC0415 - for those who ask for a cluster

    try:
        yield
    except (LabError, TypeError) as error:
        text = str(error).replace("Cluster.__init__()", marker).replace("_put_in_force()", marker)
        told = f"{node.nodeid}: {marker}: {text}"
        raise pytest.fail.Exception(told, pytrace=False) from None


def _shape(node: pytest.Item | pytest.Module) -> dict[str, Any]:
    marker = node.get_closest_marker(SHAPE)
    if marker is None:
        return {}
    if marker.args:
        raise TypeError(f"it takes names, as {SHAPE}(brokers=1)")
    return dict(marker.kwargs)


def _started(shape: Mapping[str, Any]) -> Cluster:
    from jbodlab.api.cluster import Cluster  # noqa: PLC0415 - for those who ask for a cluster

    return Cluster(**shape).start()


def _put_in_force(cluster: Cluster, mode: str, **keys: Any) -> None:
    place = keys.get("log_dir")
    if isinstance(place, tuple):
        broker_id, number = cast("tuple[int, int]", place)
        keys["log_dir"] = cluster.log_dir(broker_id, number).path
    cluster.add_fault(mode, **keys)
