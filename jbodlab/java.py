"""Looks for the Java that Spark needs. Runs nothing but ``java -version``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from jbodlab.errors import ExitCode, LabError

JAVA_MAJOR_MIN: Final = 17
_ADVICE: Final = f"install a JDK {JAVA_MAJOR_MIN} or newer, or point JAVA_HOME at one"


def require_java(environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of a Java that Spark runs on.

    Raises:
        LabError: MISSING_JAVA.
    """
    java = find_java(environment)
    if java is None:
        raise LabError(
            ExitCode.MISSING_JAVA, f"the report runs on Spark, which needs Java: {_ADVICE}"
        )
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    major = java_major(answer.stderr + answer.stdout)
    if major is None or major < JAVA_MAJOR_MIN:
        found = "no version that can be read" if major is None else f"version {major}"
        raise LabError(ExitCode.MISSING_JAVA, f"{java} has {found}, Spark needs more: {_ADVICE}")
    return java


def find_java(environment: Mapping[str, str]) -> str | None:
    """Return the java of JAVA_HOME, else the first one on PATH."""
    home = environment.get("JAVA_HOME")
    if home and (java := Path(home) / "bin" / "java").exists():
        return str(java)
    return shutil.which("java", path=environment.get("PATH", ""))


def java_major(text: str) -> int | None:
    """Return the major version from what ``java -version`` says; 1.8 counts as 8."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    major = int(found[1])
    return int(found[2]) if major == 1 and found[2] else major
