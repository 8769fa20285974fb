"""Asks adya, an isolation checker that goes by Elle's rules; it is built once, by cargo.

Elle itself is on Clojars alone, which not everybody reaches; adya gives the results that Elle's
own examples are to give. Source: https://docs.rs/crate/adya.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

VERSION: Final = "0.1.0"
MODEL: Final = "strong-snapshot-isolation"
"""Whoever reads sees all of a transaction or nothing, and what was committed before it began.

The stronger models ask for an order of transactions that write, which Kafka does not promise.
"""
_BUILD_S: Final = 900
_CHECK_S: Final = 300


class AdyaMissingError(RuntimeError):
    """It cannot be had on this machine; the message says what is missing."""


def built(folder: Path) -> Path:
    """Return the program, which is built in ``folder`` where it is not there.

    Raises:
        AdyaMissingError: cargo is not installed, or cannot fetch or build it.
    """
    program = folder / "bin" / "adya"
    if program.exists():
        return program
    cargo = shutil.which("cargo")
    if cargo is None:
        raise AdyaMissingError("adya is built by cargo, which is not installed: install Rust")
    source = ["adya", "--version", VERSION, "--no-default-features", "--locked"]
    build = [cargo, "install", *source, "--root", str(folder)]
    done = subprocess.run(build, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    if done.returncode:
        raise AdyaMissingError(f"adya {VERSION} was not built: {done.stderr.strip()[-500:]}")
    return program


def anomalies_in(program: Path, history: Path) -> tuple[list[str], str]:
    """Return the names of the anomalies of a history, and what is told of them.

    Raises:
        RuntimeError: it could not be judged; the text says why.
    """
    asked = [str(program), "check", "--model", "rw-register", "--consistency-models", MODEL]
    done = subprocess.run(
        [*asked, "--json", str(history)],
        capture_output=True,
        text=True,
        timeout=_CHECK_S,
        check=False,
    )
    if done.returncode not in {0, 1}:
        raise RuntimeError(f"{history}: {done.stderr.strip() or done.stdout.strip()}")
    report = json.loads(done.stdout)
    return report["anomaly_types"], json.dumps(report["anomalies"])
