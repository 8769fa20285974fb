"""Imports of packages that move get the outer package's name; what would be missed is refused."""

from __future__ import annotations

import pytest

from build_backend.nesting import Nesting, NotNestableError

NESTING = Nesting("jbodlab", frozenset({"broker", "broker.core", "broker.core.isr", "protocol"}))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from broker.core.isr import Isr", "from jbodlab.broker.core.isr import Isr"),
        ("from protocol import wire", "from jbodlab.protocol import wire"),
        ("import broker", "import jbodlab.broker as broker"),
        ("import os, broker, sys", "import os, jbodlab.broker as broker, sys"),
        ("import broker.core as rules", "import jbodlab.broker.core as rules"),
        (
            "import broker as a, protocol",
            "import jbodlab.broker as a, jbodlab.protocol as protocol",
        ),
        ("def f():\n    from broker import app", "def f():\n    from jbodlab.broker import app"),
        ("'ä'; from broker import app", "'ä'; from jbodlab.broker import app"),
    ],
)
def test_an_import_of_what_moves_names_the_outer_package(before: str, after: str) -> None:
    assert NESTING.nested(before, "f.py") == after


@pytest.mark.parametrize(
    "source",
    [
        "import brokers",
        "from os.broker import x",
        "from . import broker",
        "from jbodlab.errors import LabError",
        "broker = 'broker'\nprint(broker.core)",
        '"""Runs as ``python -m broker``:\n\nimport broker\n"""',
        "key = 'broker.id'",
        "outside = 'jbodlab.broker.core'",
        "logging.getLogger(__name__)",
        "['--of', 'broker']",
        "",
    ],
)
def test_everything_else_stays_as_it_is(source: str) -> None:
    assert NESTING.nested(source, "f.py") == source


@pytest.mark.parametrize(
    "source",
    [
        "import broker.core",
        "from  broker import app",
        "from \\\n broker import app",
        "import_module('broker.core')",
        "import_module(f'broker.core.{name}')",
        "import_module(f'broker.{name}')",
        "importlib.import_module('broker')",
        "logging.getLogger('protocol')",
        "files('broker')",
        "[sys.executable, '-m', 'broker', '--id', '1']",
        "prog = 'python -m broker'",
        "TEST = '''\nfrom broker.core import isr\n'''",
    ],
)
def test_what_cannot_be_rewritten_is_refused_and_told_where_it_stands(source: str) -> None:
    with pytest.raises(NotNestableError, match=r"^broker/f\.py:\d+: .*(write `|take the name)"):
        NESTING.nested(source, "broker/f.py")


def test_all_that_is_refused_in_a_source_is_told_at_once() -> None:
    with pytest.raises(NotNestableError) as told:
        NESTING.nested("import broker.core\n\nfiles('broker')\n", "f.py")
    assert [line.split(": ")[0] for line in str(told.value).splitlines()] == ["f.py:1", "f.py:3"]
