"""Failures that the file system itself makes: no permission any more, no space any more."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.integration.labs import Lab, produce_with_confluent, running_lab
from tests.integration.test_kip_18 import break_dir, wait_for_return

pytestmark = pytest.mark.sampled_among("the longest stories of clusters", kept=1)

WITHOUT_OVERRIDE = (
    "setpriv",
    "--bounding-set=-dac_override,-dac_read_search",
    "--inh-caps=-dac_override,-dac_read_search",
)
SMALL_BYTES = 8 << 20


@pytest.fixture
def bound_lab(tmp_path: Path) -> Generator[Lab]:
    """A cluster whose processes obey permissions: root gives up what lets it ignore them."""
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root ignores permissions, and there is no setpriv to give that up")
        prefix = WITHOUT_OVERRIDE
    with running_lab(tmp_path, command_prefix=prefix) as lab:
        yield lab


@pytest.fixture
def small_file_system(tmp_path: Path) -> Generator[Path]:
    """The first log dir of broker 1, on a small file system of its own."""
    folder = tmp_path / "data" / "b1" / "d1"
    folder.mkdir(parents=True)
    mounted = mount_small(folder)
    if mounted.returncode != 0:
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def mount_small(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.scenario(2, 269, 270)
def test_a_log_dir_whose_permissions_are_taken_away_goes_offline_alone(bound_lab: Lab) -> None:
    lab = bound_lab
    lab.create("t")
    leader = lab.partition("t").leader
    broken = lab.log_dir_of(leader, "t").path
    load = lab.load("t")
    lab.wait_for_records(load, 100)
    Path(broken).chmod(0)
    try:
        lab.wait_for_new_leader("t", leader)
        lab.wait_for_records(load, 100)
        report = load.stop()
        assert report.failed == ()
        assert lab.offline_dirs(leader) == [broken]
        lab.assert_nothing_lost("t", report.acknowledged)
    finally:
        Path(broken).chmod(0o755)


@pytest.mark.scenario(269)
def test_a_full_file_system_takes_its_log_dir_offline_alone(
    tmp_path: Path, small_file_system: Path
) -> None:
    with running_lab(tmp_path) as lab:
        lab.create("t", assignment={0: [2, 3, 1]})
        held = lab.log_dir_of(1, "t").path
        if held != str(small_file_system):
            lab.move(1, "t", str(small_file_system))
        values = [os.urandom(100_000) for _ in range(2 * SMALL_BYTES // 100_000)]
        produce_with_confluent(lab, "t", values)
        lab.cluster.wait_until(
            lambda admin: admin.any_view(["t"]).partition("t", 0).offline_replicas == (1,),
            "the replica on the full file system is offline",
        )
        assert lab.offline_dirs(1) == [str(small_file_system)]
        assert sorted(lab.partition("t").isr) == [2, 3]
        assert 1 in lab.running_brokers()


def test_the_disk_behind_a_mount_point_is_replaced_under_load(
    tmp_path: Path, small_file_system: Path
) -> None:
    path = str(small_file_system)
    with running_lab(tmp_path) as lab:
        lab.create("t", assignment={0: [1, 2, 3]}, configs={"min.insync.replicas": "2"})
        if lab.log_dir_of(1, "t").path != path:
            lab.move(1, "t", path)
        load = lab.load("t")
        lab.wait_for_records(load, 100)

        lab.control(1).replace(path, accept_loss=False, force=True)
        wait_for_return(lab, 1, path)
        (aside,) = small_file_system.glob("__replaced-0.*-stray")
        assert list((aside / "t-0").glob("*.log"))

        assert break_dir(lab, 1, "t") == path
        exchange_disk(lab, small_file_system)
        lab.control(1).replace(path, accept_loss=False)
        wait_for_return(lab, 1, path)
        assert list(small_file_system.glob("__replaced-0.*")) == []

        lab.wait_for_full_isr("t")
        assert lab.log_dir_of(1, "t").path == path
        lab.wait_for_records(load, 100)
        report = load.stop()
        assert report.failed == ()
        lab.assert_nothing_lost("t", report.acknowledged)


def exchange_disk(lab: Lab, folder: Path) -> None:
    """Take the file system away, which is refused while the broker holds a file of it."""
    lab.cluster.wait_until(
        lambda _: (
            subprocess.run(["umount", folder], capture_output=True, check=False).returncode == 0
        ),
        f"{folder} is held by nobody",
    )
    assert mount_small(folder).returncode == 0
