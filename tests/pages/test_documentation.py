"""What the documentation shows happens, step by step, on a real JVM."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jvms
from documented import Reader, blocks

if TYPE_CHECKING:
    from programs import JavaPrograms

pytestmark = pytest.mark.newest

DOCS = jvms.ROOT / "docs"
HOWTOS = sorted((DOCS / "howto").glob("[!i]*.md"))
STEP_BY_STEP = [DOCS / "tutorial.md", DOCS / "breakpoints.md", *HOWTOS]


@pytest.mark.parametrize("page", STEP_BY_STEP, ids=lambda page: page.stem)
def test_a_page_can_be_followed(
    page: Path, tmp_path: Path, java_program: JavaPrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sudo" in page.read_text() and os.geteuid():
        pytest.skip("only root can do what the page says")
    monkeypatch.chdir(tmp_path)
    reader = Reader(page, tmp_path, java_program)
    reader.read()
    assert reader.compared, "nothing that the page shows was compared"


def test_the_index_of_howtos_names_them_all() -> None:
    index = (DOCS / "howto" / "index.md").read_text()
    linked = set(re.findall(r"\]\((\w+\.md)\)", index))
    assert linked == {page.name for page in HOWTOS}


def test_code_blocks_of_all_pages_are_well_formed() -> None:
    for page in [*DOCS.glob("*.md"), *DOCS.glob("howto/*.md")]:
        assert page.read_text().count("\n```") % 2 == 0, page
        for block in blocks(page):
            if block.language == "python" and "…" not in block.text:
                compile(block.text, f"{page}:{block.line}", "exec")


TERMS = {
    "cpu": "profiling.md",
    "profile": "profiling.md",
    "slow method": "slow_method.md",
    "thread dump": "commands.md#jvmti-threads",
    "uninstall": "#uninstall",
}
"""What people look for, in their words, and where the first page sends them."""


def test_the_first_page_leads_on_from_the_words_that_people_look_for() -> None:
    text = (DOCS / "index.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    for term, page in TERMS.items():
        links = [row for row in rows if term in row.partition(" | ")[0].lower()]
        assert any(page in row for row in links), term
    assert "\n## Uninstall" in text
    assert "vm.threads.sample" in text
