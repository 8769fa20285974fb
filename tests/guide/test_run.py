"""Every block of the guide is run by a test, or says why none can."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[2]
GUIDE: Final = ROOT / "docs" / "guide"
FENCE: Final = re.compile(r"^```\{?\.?(\w+)\}?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
"""Of all languages; a shown output is ``text``."""


class RunBy(NamedTuple):
    """A file of tests that runs it."""

    file: str


class Why(NamedTuple):
    """Why no test does."""

    reason: str


TUTORIAL: Final = RunBy("tests/integration/test_guide_tutorial.py")
TOUR: Final = RunBy("tests/integration/test_guide_tour.py")
HOW_TO: Final = RunBy("tests/integration/test_guide_how_to.py")
PROGRAMS: Final = RunBy("tests/integration/test_guide_programs.py")
PAGES: Final = RunBy("tests/guide/test_pages.py")
SECURED: Final = RunBy("tests/integration/test_secured_lab.py")
SECURED_CLIENTS: Final = RunBy("tests/integration/test_secured_clients.py")
SECURED_GUIDE: Final = RunBy("tests/clients/test_secured_guide.py")
TOKENS: Final = RunBy("tests/kafka_tools/test_delegation_tokens.py")
SHELLS: Final = RunBy("tests/jbodlab/commands/test_completion.py")
CONTAINERS: Final = RunBy("tests/containers/cluster_story.py")
NETWORKS: Final = RunBy("tests/containers/networks_story.py")
JOINED: Final = RunBy("tests/mixed/jbodlab_broker.py")
SHOWN: Final = Why("shown output; the test of the block before it looks for its words")
OF_A_CI: Final = Why("for a CI service; tests/guide/test_pages.py parses it")
BLOCKS: Final[Mapping[str, tuple[RunBy | Why, ...]]] = {
    "tutorial.md": (
        Why("needs the address of the repository; .ci/run begins with `make setup`"),
        *(TUTORIAL,) * 3,
        SHOWN,
        TUTORIAL,
        SHOWN,
        *(TUTORIAL,) * 3,
    ),
    "how-to/acls.md": (PAGES, RunBy("tests/kafka_tools/test_acls.py"), SHOWN),
    "how-to/ci.md": (HOW_TO, OF_A_CI, OF_A_CI, HOW_TO),
    "how-to/clients.md": (PROGRAMS, HOW_TO, PROGRAMS, PROGRAMS, PROGRAMS, HOW_TO),
    "how-to/containers.md": (
        *(CONTAINERS,) * 3,
        *(NETWORKS,) * 2,
        RunBy("tests/containers/__main__.py"),
    ),
    "how-to/coordinators.md": (HOW_TO,) * 4,
    "how-to/elsewhere.md": (HOW_TO, HOW_TO, HOW_TO, CONTAINERS),
    "how-to/failover.md": (HOW_TO,),
    "how-to/join-apache-kafka.md": (
        HOW_TO,
        JOINED,
        RunBy("tests/mixed/test_access.py"),
        RunBy("tests/mixed/test_tls.py"),
        RunBy("tests/mixed/test_jbodlab_controller.py"),
    ),
    "how-to/quotas.md": (RunBy("tests/integration/test_client_quotas.py"),),
    "how-to/scenario.md": (HOW_TO, HOW_TO),
    "how-to/secure.md": (
        SECURED,
        SECURED_CLIENTS,
        *(SECURED,) * 3,
        RunBy("tests/integration/test_metrics_topic.py"),
        *(SECURED_GUIDE,) * 4,
        PAGES,
        RunBy("tests/kafka_tools/test_listener_configs.py"),
        PAGES,
        *(SECURED_CLIENTS,) * 3,
        PAGES,
        SECURED_CLIENTS,
        PAGES,
        *(TOKENS,) * 2,
    ),
    "how-to/seeds.md": (HOW_TO, RunBy("tests/jbodlab/worlds/test_spark_seeds.py")),
    "how-to/shell.md": (SHELLS,) * 3,
    "how-to/swap.md": (TUTORIAL,) * 3,
    "how-to/tour.md": (TOUR, SHOWN, HOW_TO),
}
READS: Final = (TUTORIAL, TOUR, HOW_TO, PROGRAMS, PAGES, SHELLS)
"""Those who type what stands in a page, and so name it; others run the same in words of theirs."""


def pages() -> list[str]:
    """Return the pages that people wrote; those of the reference are made of the code."""
    found = [each.relative_to(GUIDE).as_posix() for each in GUIDE.rglob("*.md")]
    return sorted(each for each in found if not each.startswith("reference/"))


def languages(page: str) -> list[str]:
    return [found[1] for found in FENCE.finditer((GUIDE / page).read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", pages())
def test_each_block_of_a_page_has_a_test_or_a_reason(page: str) -> None:
    known = BLOCKS.get(page, ())
    assert len(known) == len(languages(page)), f"say in BLOCKS what runs each block of {page}"
    reasons = [each.reason for each in known if isinstance(each, Why)]
    assert all(len(reason) > 10 for reason in reasons)


def test_no_page_is_named_that_is_gone() -> None:
    assert set(BLOCKS) <= set(pages())


@pytest.mark.parametrize("page", BLOCKS)
def test_the_tests_of_a_page_are_there_and_read_it(page: str) -> None:
    for each in BLOCKS[page]:
        if isinstance(each, RunBy):
            text = (ROOT / each.file).read_text(encoding="utf-8")
            name = page.rpartition("/")[2]
            is_read = name in text or "how-to/*.md" in text or each is PROGRAMS
            assert is_read or each not in READS, f"{each.file} does not read {page}"


@pytest.mark.parametrize("page", BLOCKS)
def test_what_is_typed_in_a_shell_or_is_a_program_is_run(page: str) -> None:
    """Only what comes out and what another machine reads may go without."""
    code = {"sh", "python", "java", "go", "javascript", "js"}
    for language, known in zip(languages(page), BLOCKS[page], strict=True):
        is_run = isinstance(known, RunBy)
        assert language not in code or is_run, (page, language, known)
