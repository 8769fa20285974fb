"""The demo: a three-broker cluster loses a disk under load and nobody loses a record.

Every number it tells was measured in the same run. It leaves nothing running and no data behind.
"""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

from analytics.report import print_report
from jbodlab.demo import steps
from jbodlab.demo.narrator import Narrator
from jbodlab.errors import ExitCode, LabError
from jbodlab.processes.cluster import Cluster, running
from jbodlab.processes.lab_spec import relocated
from jbodlab.spark_job import read_report, run_report
from protocol.cluster_file.dump import dump_cluster_spec
from protocol.cluster_file.spec import ClusterSpec

_NO_SPARK: Final = (ExitCode.MISSING_JAVA, ExitCode.MISSING_PACKAGE)
"""Without Java or PySpark everything works but reports."""


def run_demo(spec: ClusterSpec, narrator: Narrator) -> None:
    """Run the demo on a cluster like ``spec``, with its data in a folder of its own.

    Raises:
        LabError: a step went wrong; everything has been stopped, the folder with the logs stays.
    """
    folder = Path(tempfile.mkdtemp(prefix="jbodlab-demo-"))
    _run_steps(Cluster(_write_config(spec, folder)), narrator)
    shutil.rmtree(folder, ignore_errors=True)


def _run_steps(cluster: Cluster, narrator: Narrator) -> None:
    narrator.title("jbodlab: a Kafka cluster that survives a disk")
    began = time.monotonic()
    with running(cluster):
        steps.show_start(cluster, narrator, (time.monotonic() - began) * 1000)
        demo = steps.DemoSteps(cluster, narrator)
        try:
            demo.create_topic()
            demo.produce_and_consume()
            demo.break_log_dir()
            demo.verify()
            demo.move_replica()
            demo.repair()
            demo.write_client_rows()
        finally:
            demo.close()
        dump_dir = Path(cluster.spec.metrics.dump_dir)
    check_all_stopped(cluster)
    narrator.step("Aggregate the brokers' metric dumps with Spark")
    show_report(dump_dir, cluster.config_path.parent, narrator)


def show_report(dump_dir: Path, folder: Path, narrator: Narrator) -> None:
    """Show what Spark makes of a dump, or why it cannot; paths are told from ``folder`` on.

    Raises:
        LabError: the job failed.
    """
    began = time.monotonic()
    try:
        text = run_report(dump_dir, folder / "report", "--plain", "--no-archive")
    except LabError as error:
        if error.exit_code not in _NO_SPARK:
            raise
        narrator.found(f"no report: {error}; everything else was shown, nothing is left running")
        return
    report = read_report(text, folder)
    # Moves and requests are in the report too; the story has told enough of them.
    print_report(dataclasses.replace(report, moves=(), requests=(), latencies=()), narrator.console)
    narrator.found(f"Spark took {time.monotonic() - began:.1f} s; nothing is left running")


def check_all_stopped(cluster: Cluster) -> None:
    """Look that nothing was left running.

    Raises:
        LabError: FAILED.
    """
    left = [name for name in cluster.names if cluster.is_running(name)]
    if left:
        raise LabError(ExitCode.FAILED, f"still running after the end: {', '.join(left)}")


def _write_config(spec: ClusterSpec, folder: Path) -> Path:
    """Write the cluster's file anew with all data below ``folder``: a demo never touches yours."""
    file = folder / "cluster.yaml"
    file.write_text(dump_cluster_spec(relocated(spec, folder / "data")))
    return file
