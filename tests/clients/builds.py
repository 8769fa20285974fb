"""Makes client programs ready to run: fetches what they stand on, the first time, and compiles."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from analytics.errors import ConnectorMissing
from analytics.kafka_connector import connector_jars

FOLDER: Final = Path(__file__).parent
JVM_FLAGS: Final = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
SAID_LAST: Final = 300
"""Characters shown of what a tool said that failed."""


class NotRunError(RuntimeError):
    """A program cannot run on this machine; the message says what is missing."""


def tool(name: str) -> str:
    """Return the path of a program of this machine.

    Raises:
        NotRunError: it is not installed.
    """
    found = shutil.which(name)
    if found is None:
        raise NotRunError(f"no {name}")
    return found


def build(*command: str, folder: Path) -> None:
    """Run a tool that fetches or compiles.

    Raises:
        NotRunError: it failed; what it said last is in the message.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-SAID_LAST:]
        raise NotRunError(f"{Path(command[0]).name} {command[1]} failed: {said}")


def go_program(name: str, build_dir: Path) -> list[str]:
    """Compile ``go/NAME``; go.sum says which modules it may fetch."""
    compiled = build_dir / name
    build(tool("go"), "build", "-o", str(compiled), f"./{name}", folder=FOLDER / "go")
    return [str(compiled)]


def rust_program(name: str, build_dir: Path) -> list[str]:
    """Compile ``rust/NAME``; its Cargo.lock says which crates it may fetch."""
    target, folder = build_dir / "rust", FOLDER / "rust" / name
    build(tool("cargo"), "build", "-q", "--locked", "--target-dir", str(target), folder=folder)
    return [str(target / "debug" / f"jbodlab-{name}")]


def node_program(name: str, build_dir: Path) -> list[str]:
    """Fetch what ``js/NAME`` stands on, as its package-lock.json says, beside a copy of it."""
    node, npm = tool("node"), tool("npm")
    source, copy = FOLDER / "js" / name, build_dir / name
    modules, lock = copy / "node_modules", "package-lock.json"
    is_fetched = modules.is_dir() and (copy / lock).read_bytes() == (source / lock).read_bytes()
    ignored = shutil.ignore_patterns("node_modules")
    shutil.copytree(source, copy, dirs_exist_ok=True, ignore=ignored)
    shutil.copy(FOLDER / "js" / "ledger.js", copy)
    if not is_fetched:
        build(npm, "ci", "--no-audit", "--no-fund", folder=copy)
    return [node, str(copy / "main.js")]


def java_program(release: str, build_dir: Path) -> list[str]:
    """Fetch the Java clients of a Kafka release and compile ``java/`` against them."""
    java, compiler, maven = tool("java"), tool("javac"), tool("mvn")
    source, folder = FOLDER / "java", build_dir / f"java-{release}"
    libs, classes = folder / "libs", folder / "classes"
    if not any(libs.glob("kafka-streams-*.jar")):
        options = (f"-DoutputDirectory={libs}", f"-Dkafka.version={release}")
        build(maven, "-q", "-B", "dependency:copy-dependencies", *options, folder=source)
    programs = sorted(map(str, source.glob("*.java")))
    build(compiler, "-nowarn", "-d", str(classes), "-cp", f"{libs}/*", *programs, folder=source)
    return [java, *JVM_FLAGS, "-cp", f"{classes}{os.pathsep}{libs}/*", "Clients"]


def python_program(name: str, _build_dir: Path) -> list[str]:
    """Return how ``python/NAME`` starts: requirements.lock has its client."""
    return [sys.executable, "-m", f"tests.clients.python.{name}"]


def spark_program(build_dir: Path) -> list[str]:
    """Fetch Spark's connector; requirements.lock has Spark."""
    tool("java")
    try:
        connector_jars()
    except ConnectorMissing as error:
        raise NotRunError(str(error)) from error
    return python_program("spark_program", build_dir)


def connect_program(release: str, build_dir: Path) -> list[str]:
    """Fetch Kafka Connect with its connectors."""
    tool("java")
    libs = build_dir / f"connect-{release}" / "libs"
    if not any(libs.glob("connect-mirror-*.jar")):
        options = (f"-DoutputDirectory={libs}", f"-Dkafka.version={release}")
        command = (tool("mvn"), "-q", "-B", "dependency:copy-dependencies", *options)
        build(*command, folder=FOLDER / "connect")
    return [*python_program("connect_program", build_dir), str(libs)]
