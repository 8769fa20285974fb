"""The house rules that no linter knows: sizes, names, mirrors, words."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.mirrors import source_of

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("protocol", "broker", "controller", "analytics", "conformance", "simulation", "jbodlab"),
    "build_backend",
)
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
BANNED_NAMES = ("utils", "util", "helpers", "helper", "common", "misc", "manager")
REGISTRIES = (
    "broker/handlers/__init__.py",
    "controller/handlers/__init__.py",
    "jbodlab/__init__.py",
)
"""The last names what users of the package import."""
SHOWN_ELSEWHERE = {
    "protocol/configs/coordination.py": "a table, shown by tests/protocol/configs/test_parsing.py",
    "protocol/configs/broker.py": "a table, shown by tests/protocol/configs/test_parsing.py",
    "protocol/configs/group.py": "a table, shown by tests/protocol/configs/test_group_parsing.py",
    "protocol/configs/group_defaults.py": "a table, shown there too",
    "protocol/configs/security.py": "a table, shown by tests/protocol/configs/test_parsing.py",
    "protocol/configs/topic.py": "a table, shown by tests/protocol/configs/test_parsing.py",
    "protocol/configs/topic_defaults.py": "a table, shown by tests/protocol/configs",
    "protocol/cluster_file/document.py": "the checks behind load_cluster_spec: test_spec.py beside",
    "protocol/transport/link_owner.py": "doors without code",
    "protocol/ports.py": "doors without code",
    "protocol/witness.py": "a door without code, taken in tests/simulation/world/test_cluster.py",
    "analytics/columns.py": "names without code",
    "jbodlab/commands/widths.py": "a number without code",
    "jbodlab/commands/scenario_names.py": "shown by tests/jbodlab/commands/test_completion.py",
    "broker/broker_state.py": "an enum",
    "broker/config_ports.py": "doors without code",
    "broker/context.py": "types without code",
    "broker/controller_ports.py": "doors without code",
    "broker/coordinator_ports.py": "doors without code",
    "broker/engine_ports.py": "doors without code",
    "broker/exit_codes.py": "numbers without code",
    "controller/exit_codes.py": "numbers without code",
    "controller/core/events.py": "values without code",
    "controller/core/effects.py": "values without code",
    "controller/core/settings.py": "values without code",
    "protocol/zookeeper_client/port.py": "a door without code",
    "protocol/zookeeper/operations.py": "values without code",
    "controller/core/store.py": "doors without code",
    "controller/zookeeper/reading.py": "shown by tests/controller/zookeeper/test_store.py",
    "controller/zookeeper/term.py": "values without code",
    "simulation/cluster_instance.py": "a door without code",
    "simulation/core/actions.py": "values without code",
    "simulation/core/conditions.py": "values without code",
    "jbodlab/worlds/real_cluster_instance.py": "shown by tests/integration/test_scenarios.py",
    "simulation/core/verdict.py": "values without code",
    "simulation/run/run_context.py": "shown by tests/simulation/run/test_ordering.py",
    "simulation/run/acting.py": "shown by tests/simulation/run/test_ordering.py and its neighbours",
    "simulation/core/plan_names.py": "shown by tests/simulation/core/test_plan_checks.py",
    "simulation/core/observation.py": "values without code",
    "simulation/core/samples.py": "values without code",
    "simulation/core/feature_percents.py": "a table, shown by tests/test_steering.py",
    "simulation/core/checkers/evidence.py": "shown by tests/simulation/core/checkers/test_table.py",
    **dict.fromkeys(
        (f"jbodlab/api/{name}.py" for name in ("broker", "cluster", "connections", "fault")),
        "needs a cluster: tests/integration/test_python_api.py",
    ),
    "jbodlab/api/log_dir.py": "needs a cluster: tests/integration/test_python_api.py",
    "jbodlab/api/access.py": "needs a cluster: tests/integration/test_secured_lab.py",
    "jbodlab/api/reset.py": "needs a cluster: tests/integration/test_python_api.py",
    "jbodlab/pytest_plugin.py": "needs a cluster: tests/integration/test_pytest_plugin.py",
    "jbodlab/asking/lab_values.py": "values without code",
    "jbodlab/http_api/core/bodies.py": "values without code",
    "jbodlab/processes/node_status.py": "needs nodes: tests/integration/test_http_api.py",
    "jbodlab/asking/fault_orders.py": "shown by tests/jbodlab/commands/test_faults.py",
    "conformance/errors.py": "exceptions without code",
    "conformance/core/script.py": "values, shown by test_case_run.py and test_catalogue.py",
    **dict.fromkeys(
        (f"jbodlab/http_api/{name}.py" for name in ("app", "looking", "orders")),
        "needs a cluster: tests/integration/test_http_api.py",
    ),
    "jbodlab/commands/serve.py": "needs a cluster: tests/integration/test_http_api.py",
    "jbodlab/errors.py": "numbers, shown by tests/jbodlab/test_cli.py",
    "jbodlab/commands/records.py": "needs a cluster: tests/integration/test_record_commands.py",
    "jbodlab/commands/demo.py": "one call: tests/integration/test_demo.py runs it",
    "jbodlab/demo/steps.py": "needs a cluster: tests/integration/test_demo.py runs it",
    "protocol/cluster_file/dump.py": "shown by tests/protocol/cluster_file/test_spec.py",
    "protocol/cluster_file/fault_checks.py": "shown by tests/protocol/cluster_file/test_spec.py",
}
TABLES = ("protocol/messages/", "conformance/core/cases/")
"""Message tables are shown version by version by the golden vectors; cases by what Apache Kafka and
jbodlab answer to them."""
# Put together here, so that this file does not hold them.
FORBIDDEN = [
    "/".join(("", "work", "main")),
    "/".join(("", "work", "shared")),
    "/".join(("", "root", "")),
    ".".join(("pypi", "org")),
    ".".join(("pythonhosted", "org")),
    ".".join(("repo1", "maven")),
    ".".join(("registry", "npmjs")),
    ".".join(("proxy", "golang")),
]
VIRTUAL_TIME = (
    "tests/broker/coordinators/",
    "tests/broker/engine/",
    "tests/broker/storage/test_disk_watchdog.py",
    "tests/jbod/",
    "tests/crash/",
    "tests/mutations/",
    "tests/simulation/",
)
"""Their loop jumps to the next timer, so that sleeping takes no time."""
CLOCKS = ("time.monotonic", "time.perf_counter", "time.time", "time.monotonic_ns")
AT_LEAST = {
    "tests/integration/test_kip_18.py",
    "tests/integration/test_replication.py",
    "tests/integration/test_throttles.py",
}
"""They show that a throttle takes its time: what takes longer on a busy machine passes."""
LOCK_FILES = ("requirements.lock", "requirements-runtime.lock", "requirements-spark.lock")


LOOKED_AT: Final = (
    ast.AsyncFor,
    ast.AsyncFunctionDef,
    ast.Attribute,
    ast.BinOp,
    ast.Call,
    ast.For,
    ast.FunctionDef,
    ast.comprehension,
)
"""The kinds of nodes that can break a rule."""


def tracked() -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


FILES = tracked()
PYTHON = [name for name in FILES if name.endswith(".py")]
SOURCES = [name for name in PYTHON if name.split("/")[0] in ROOMS]
TESTS = [name for name in PYTHON if name.startswith("tests/")]


@cache
def found_in_syntax() -> dict[str, list[str]]:
    """Return by rule what breaks it. Reads each file once: a file has a thousand nodes."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in PYTHON:
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"), name)):
            if isinstance(node, LOOKED_AT):
                for rule in broken_rules(node, name):
                    line = node.iter.lineno if isinstance(node, ast.comprehension) else node.lineno
                    found[rule].append(f"{name}:{line}")
    return found


def broken_rules(node: ast.expr | ast.stmt | ast.comprehension, name: str) -> list[str]:
    rules: list[str] = []
    is_test = name.startswith("tests/")
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if (node.end_lineno or 0) - node.lineno >= FUNCTION_LINES_MAX:
            rules.append("long function")
    elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
        if name in SOURCES and is_set(node.iter):
            rules.append("iterates over a set")
    elif is_test and isinstance(node, ast.Call):
        if is_sleep(node, virtual=name.startswith(VIRTUAL_TIME)):
            rules.append("sleeps")
    elif (
        is_test
        and name not in AT_LEAST
        and isinstance(node, ast.BinOp | ast.Attribute)
        and (
            measures_by_the_clock(node)
            or (name.startswith("tests/integration/") and reads_a_rate(node))
        )
    ):
        rules.append("measures by the clock")
    return rules


def mirror_of(source: str) -> str:
    folder, _, name = source.rpartition("/")
    return f"tests/{folder}/test_{name}"


def is_source(path: str) -> bool:
    return path.replace("/main.py", "/__main__.py") in SOURCES


def test_files_are_short() -> None:
    lengths = {name: len((ROOT / name).read_text().splitlines()) for name in PYTHON}
    assert {name: count for name, count in lengths.items() if count > FILE_LINES_MAX} == {}


def test_functions_are_short() -> None:
    assert found_in_syntax()["long function"] == []


def test_every_source_file_has_its_test_file() -> None:
    unshown = [
        name
        for name in SOURCES
        if not name.endswith(("__init__.py", "__main__.py"))
        and name not in SHOWN_ELSEWHERE
        and not name.startswith(TABLES)
        and mirror_of(name) not in FILES
    ]
    assert unshown == []


def test_the_list_of_exceptions_is_not_stale() -> None:
    assert [name for name in SHOWN_ELSEWHERE if name not in SOURCES] == []
    assert [name for name in SHOWN_ELSEWHERE if mirror_of(name) in FILES] == []


def test_every_test_file_mirrors_a_source_file() -> None:
    rooms = tuple(f"tests/{room}/" for room in ROOMS)
    orphans = [
        name
        for name in TESTS
        if name.startswith(rooms)
        and name.rpartition("/")[2].startswith("test_")
        and source_of(name, is_source) is None
    ]
    assert orphans == []


def test_no_file_is_a_drawer_for_odds_and_ends() -> None:
    assert [name for name in PYTHON if Path(name).stem in BANNED_NAMES] == []


def test_init_files_are_empty_but_for_registries() -> None:
    filled = [
        name
        for name in PYTHON
        if name.endswith("__init__.py")
        and name not in REGISTRIES
        and (ROOT / name).read_text().strip()
    ]
    assert filled == []


def test_no_file_names_a_machine_or_a_registry() -> None:
    found = [
        f"{name}: {word}"
        for name in FILES
        for word in FORBIDDEN
        if word in (ROOT / name).read_bytes().decode("utf-8", errors="ignore")
    ]
    assert found == []


def test_lock_files_pin_hashes_and_name_no_host() -> None:
    for name in LOCK_FILES:
        text = (ROOT / name).read_text()
        assert re.findall(r"://|https?:|-url|find-links", text) == []
        assert "--hash=sha256:" in text


def test_nothing_is_left_to_do_without_an_issue() -> None:
    pattern = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [
        f"{name}:{number}"
        for name in PYTHON
        if name != "tests/test_tidy.py"
        for number, line in enumerate((ROOT / name).read_text().splitlines(), start=1)
        if pattern.search(line)
    ]
    assert found == []


def test_nobody_iterates_over_a_set() -> None:
    assert found_in_syntax()["iterates over a set"] == []


def test_no_test_sleeps() -> None:
    assert found_in_syntax()["sleeps"] == []


@pytest.mark.parametrize(
    ("code", "name", "rules"),
    [
        ("time.sleep(1)", "tests/broker/test_app.py", ["sleeps"]),
        ("await asyncio.sleep(0)", "tests/broker/test_app.py", []),
        ("await asyncio.sleep(1)", "tests/jbod/test_moves.py", []),
        ("for x in set(y): pass", "broker/app.py", ["iterates over a set"]),
        ("[x for x in {1, 2}]", "broker/app.py", ["iterates over a set"]),
        ("for x in sorted(set(y)): pass", "broker/app.py", []),
        ("time.monotonic() - start", "tests/broker/test_app.py", ["measures by the clock"]),
        ("time.monotonic() - start", "tests/integration/test_kip_18.py", []),
        ("load.longest_gap_ms", "tests/integration/test_kip_113.py", ["measures by the clock"]),
        ("load.longest_gap_ms", "benchmarks/move_under_load.py", []),
        ("def f():\n" + "    x\n" * FUNCTION_LINES_MAX, "broker/app.py", ["long function"]),
        ("def f():\n" + "    x\n" * (FUNCTION_LINES_MAX - 1), "broker/app.py", []),
    ],
)
def test_what_breaks_a_rule_is_found(code: str, name: str, rules: list[str]) -> None:
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, LOOKED_AT)]
    assert [rule for node in nodes for rule in broken_rules(node, name)] == rules


def test_no_test_patches_our_own_code() -> None:
    pattern = re.compile(r"\b(unittest\.mock|monkeypatch\.setattr|mocker)\b")
    found = [
        name
        for name in TESTS
        if name != "tests/test_tidy.py" and pattern.search((ROOT / name).read_text())
    ]
    assert found == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_a_package(room: str) -> None:
    assert f"{room}/__init__.py" in FILES


def is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("set", "frozenset")
    )


def is_sleep(call: ast.Call, *, virtual: bool) -> bool:
    """Tell a real wait: not one of no length, nor one on a loop whose time is virtual."""
    function = call.func
    if virtual and ast.unparse(function) == "asyncio.sleep":
        return False
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    yields = (
        len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    )
    return name == "sleep" and not yields


def test_no_test_measures_by_the_clock_how_fast_something_is() -> None:
    """A busy machine would fail it. Benchmarks measure; tests have tests/deadlines.py."""
    assert found_in_syntax()["measures by the clock"] == []


def test_deadlines_are_long_enough_for_a_busy_machine() -> None:
    pattern = re.compile(r"^_?DEADLINE_(S|MS)\b[^=]*= ([\d_.]+)$", re.MULTILINE)
    found = [
        f"{name}: {value} {unit}"
        for name in TESTS
        if not name.startswith((*VIRTUAL_TIME, "tests/properties/"))
        for unit, value in pattern.findall((ROOT / name).read_text())
        if float(value) < (60 if unit == "S" else 60_000)
    ]
    assert found == []


def measures_by_the_clock(node: ast.expr) -> bool:
    """Tell whether it takes one time of day from another."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)):
        return False
    return isinstance(node.left, ast.Call) and ast.unparse(node.left.func) in CLOCKS


def reads_a_rate(node: ast.expr) -> bool:
    """Tell whether it reads what a load measured by the clock."""
    return isinstance(node, ast.Attribute) and node.attr in {"longest_gap_ms", "records_per_second"}
