"""The pages lead to places that exist, and phrases that were reworded do not come back."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Sequence
from pathlib import Path

import pytest

import jvms

PAGES = sorted(
    [
        *jvms.ROOT.glob("*.md"),
        *(jvms.ROOT / "docs").rglob("*.md"),
        *(jvms.ROOT / one for one in ("tests/README.md", "benchmarks/README.md")),
        *(jvms.ROOT / "native").rglob("*.md"),
    ]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
NAMED = re.compile(r"`((?:src|native|tests|docs|examples|benchmarks|scripts)/[\w./-]+)`")
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)

GENERATED = ("docs/reference", "docs/conformance.md", "docs/model.md", "CONTRIBUTING.md")
"""Pages whose prose is elsewhere, and the one that says which words to avoid."""

REWORDED = (
    "can be had",
    "cannot be had",
    "cannot be told",
    "as long as it is",
    "so many",
    "is told",
    "are told",
    "be told",
    "was told",
    "were told",
    "whoever",
    "to be had",
    "who holds what",
    "near names",
    "stands still",
    "stand still",
    "nobody here wrote",
    "near ones",
    "used wrongly",
    "for the time of a",
    "beforehand what",
    "once and for all",
    "was looked for",
    "equally well",
    "came after its start",
    "java code running",
    "say of themselves",
    "good as an argument",
    "whatever its kind",
    "field watch",
    "field watches",
)
"""Phrases that have better ones, in pages and code: CONTRIBUTING.md says which."""

IN_PROSE = (
    *REWORDED,
    "a further, last",
    "as far as there is",
    "as it stands",
    "as it travels",
    "by what they are equal to",
    "came to its end",
    "for how many seconds",
    "has gone on",
    "how it was had",
    "in the place of",
    "is of no use",
    "seconds for everything",
    "stood still",
    "that nobody",
    "the one that is meant",
    "what it is made of",
    "whatever becomes",
    r"(?:goes|go) on without",
    r"(?:is|are|was|were|been) handed",
    r"gives? (?:them|it|all of them|the handles) up",
    r"let(?:s|ting)? go of",
    r"makes? no sense",
    r"that there (?:is|are) not",
    r"ways? (?:from|to) (?:the|a) roots?",
    r"passed time",
    r"(?:is|are) let go",
    r"as they are now",
    r"goes on as it was",
    r"nothing prepared",
    r"worth saying",
)
"""The same for pages and Python, some as expressions: passives of "tell" and "hand", clauses in
place of a noun, verbs of common speech in place of the field's."""

IN_CODE = (
    *IN_PROSE,
    r"(?:it|this) is no (?:array|class|collection|constant|expression|handle|object|table|thread)",
)
"""Phrases that docstrings, comments and messages do without."""

CLAUSES = ("What ", "Who ", "Whoever ")
"""A docstring begins with a noun or a verb, not with one of these."""

SOURCES = sorted((jvms.ROOT / "src" / "jvmti").rglob("*.py"))
NATIVE = sorted(
    one
    for one in (jvms.ROOT / "native").rglob("*")
    if one.suffix in (".h", ".cpp", ".py") and one.name != "__init__.py"
)


def ids(page: Path) -> str:
    return str(page.relative_to(jvms.ROOT))


def anchors(page: Path) -> set[str]:
    """Headings as the site and GitHub name them, and anchors that are written out."""
    text = FENCED.sub("", page.read_text())
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    plain = (re.sub(r"[^\w\s-]", "", one.lower()).strip() for one in headings)
    written = re.findall(r"(?:id|name)=\"([^\"]+)\"|\{ ?#([\w-]+)", text)
    return {one.replace(" ", "-") for one in plain} | {a or b for a, b in written}


def found_in(text: str, phrases: Sequence[str]) -> list[str]:
    """Where a text has one of these phrases, with some of the text around."""
    return [
        text[max(0, found.start() - 40) : found.end() + 20]
        for phrase in phrases
        if re.search(phrase, text)  # a tenth of the time without the ends of words
        for found in re.finditer(rf"\b{phrase}\b", text)
    ]


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_and_named_paths_lead_somewhere(page: Path) -> None:
    text = FENCED.sub("", page.read_text())
    dead = []
    for path, anchor in LINK.findall(text):
        if re.match(r"\w+:", path):
            continue
        there = (page.parent / path).resolve() if path else page
        if not there.exists():
            dead.append(path)
        elif anchor and there.suffix == ".md" and anchor not in anchors(there):
            dead.append(f"{path}#{anchor}")
    dead += [path for path in NAMED.findall(text) if not (jvms.ROOT / path).exists()]
    assert dead == []


@pytest.mark.parametrize(
    "page", [one for one in PAGES if not ids(one).startswith(GENERATED)], ids=ids
)
def test_reworded_phrases_do_not_come_back(page: Path) -> None:
    text = " ".join(FENCED.sub("", page.read_text()).lower().split())
    assert found_in(text, IN_PROSE) == []


def prose(source: Path) -> str:
    """The comments and texts of a module, docstrings and messages among them."""
    kinds = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None))
    with source.open("rb") as file:
        tokens = [one.string for one in tokenize.tokenize(file.readline) if one.type in kinds]
    lines = (line.lstrip("# ") for one in tokens for line in one.lower().splitlines())
    return " ".join(" ".join(lines).split())


def test_reworded_phrases_do_not_come_back_in_code() -> None:
    found = [
        f"{source.relative_to(jvms.ROOT)}: {found}"
        for source in SOURCES
        for found in found_in(prose(source), IN_CODE)
    ]
    assert found == []


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    found = [
        f"{source.relative_to(jvms.ROOT)}:{node.lineno}: {node.value.value[:60]}"
        for source in SOURCES
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str) and node.value.value.startswith(CLAUSES)
    ]
    assert found == []


def test_reworded_phrases_do_not_come_back_in_native_code() -> None:
    found = [
        f"{source.relative_to(jvms.ROOT)}: {found}"
        for source in NATIVE
        for lines in [(line.strip().removeprefix("//") for line in source.read_text().splitlines())]
        for found in found_in(" ".join(" ".join(lines).lower().split()), REWORDED)
    ]
    assert found == []
