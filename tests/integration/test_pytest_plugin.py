"""The pytest plugin, in a project of its own beside modules with our packages' names."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PROJECT = """
import pytest

SEEN = []


@pytest.mark.jbod_shape(brokers=1, log_dirs=2)
@pytest.mark.jbod_fault("slow", log_dir=(1, 2), delay_ms=1)
def test_first(jbod_cluster):
    SEEN.append(jbod_cluster.broker(1).address)
    jbod_cluster.create_topic("orders")
    assert jbod_cluster.log_dir(1, 2).signs()["fault"]["mode"] == "slow"
    assert len(jbod_cluster.broker(1).log_dirs) == 2


@pytest.mark.jbod_shape(brokers=1, log_dirs=2)
def test_second(jbod_cluster):
    assert SEEN == [jbod_cluster.broker(1).address], "it is the same cluster"
    assert jbod_cluster.log_dir(1, 2).signs()["fault"] is None
    jbod_cluster.create_topic("orders")
    jbod_cluster.log_dir(1, 1).fail("eio")
    jbod_cluster.log_dir(1, 1).wait_until_offline()
    assert False, "as it should"
"""
MODULE = """
import pytest

pytestmark = pytest.mark.jbod_shape(brokers=1, log_dirs=1)


def test_create(module_jbod_cluster):
    module_jbod_cluster.create_topic("orders")


def test_still_there(module_jbod_cluster):
    assert module_jbod_cluster.partition("orders").leader == 1
"""


def test_tests_of_others_get_clusters_and_their_story_when_they_fail(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_project=PROJECT, test_module=MODULE)
    done = pytester.runpytest_subprocess("-p", "no:randomly", "--strict-markers")
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(
        ["*- jbodlab: jbod_cluster -*", "orders to the cluster:", "*topic orders is created"]
    )
    done.stdout.fnmatch_lines(["*data/b1/d1 fails with eio", "*data/b1/d1 is offline: *injected*"])


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        ("jbod_shape(1)", "jbod_shape: it takes names, as jbod_shape(brokers=1)"),
        ("jbod_shape(log_dirz=1)", "jbod_shape: *unexpected keyword argument 'log_dirz'"),
        ("jbod_fault('eoi', log_dir=(1, 1))", "jbod_fault: mode: must be one of eio, *'eoi'*"),
        ("jbod_fault(log_dir=(1, 1))", "jbod_fault: *missing 1 required*argument: 'mode'"),
    ],
)
def test_a_mistake_in_a_marker_is_said_in_a_line(
    pytester: pytest.Pytester, marker: str, told: str
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{marker}\ndef test_it(jbod_cluster): pass\n")
    done = pytester.runpytest_subprocess()
    done.stdout.fnmatch_lines([f"*::test_it: {told}"])
    done.stdout.no_fnmatch_line("*jbodlab/pytest_plugin.py*")
    done.stdout.no_fnmatch_line("*another exception*")
    done.assert_outcomes(errors=1)


def test_projects_without_clusters_pay_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\ndef test_it(): assert 'jbodlab.api.cluster' not in sys.modules\n"
    )
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(passed=1)
    assert not list(Path(pytester.path).glob("jbodlab-*"))
