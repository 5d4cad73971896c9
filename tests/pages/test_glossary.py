"""The old forms of the glossary's words do not come back: CONTRIBUTING.md has the table."""

from __future__ import annotations

import re

import jvms

CONTRIBUTING = jvms.ROOT / "CONTRIBUTING.md"
ELSEWHERE = {CONTRIBUTING, jvms.ROOT / "tests" / "pages" / "test_prose.py"}
"""The pages and tests that say which words to avoid."""

FOLDERS = ("src", "native", "docs", "tests", "examples", "scripts", "benchmarks")
KINDS = {".py", ".h", ".cpp", ".java", ".js", ".html", ".css", ".md", ".ipynb", ".txt", ".cmake"}

OLD = {
    "own function": {"own": r"agent's own functions?\b|\bown_(?:function|operation)"},
    "own": {"own": r"\bown\.h\b|\bown_(?:jni|jvmti)_\w+\.(?:cpp|h)\b"},
    "handling": {"andling": r"\bHandling\b|\bhandlings\b"},
    "stops": {"top": r"\bStopTable\b|\bstop_table\b|\bclass Stops\b"},
    "watch": {"Watch": r"\bclass Watch\b|(?:->|\w:) Watch\b|\bWatch\("},
    "catch": {"Catch": r"\bclass Catch\b|(?:->|\w:) Catch\b|\bCatch\("},
    "met": {" met": r"\b(?:is|are|was|were) met\b(?<!limits are met)"},
    "fits": {"fit": r"\bfits_any\b|\b(?:event|filter|pattern|place)s? fits?\b"},
    "tell": {" tell": r"\btells? (?:Python|the controller|an? handler)\b"},
    "told": {"told": r"\btold\b|_told\b|\btold_", "Told": r"\bTold\b"},
    "hear": {
        "hear": r"\bhea(?:r|rs|rd)\b|_hears?_|_heard\b",
        "Hear": r"\bHea(?:r|rs|rd)\b",
        "deaf": r"\bdeaf\b",
        "Occurrence": r"\bOccurrence\b",
    },
    "records": {"_records": r"\b(?:undo|session|placement)_records\b"},
    "placed": {"laced": r"\b(?:class|struct) Placed\b(?! \{)|\bnote_placed\b"},
    "look": {"ook": r"^class Look\b|\blook = finder\b|\b(?:\d+|ten|twenty|thirty) looks\b"},
    "holders": {"olders": r"\b[Hh]olders\b"},
    "drop": {"Drop": r"\b(?:class|struct) Drop\b|(?:->|\w:) Drop\b|\bDrop\("},
    "garbage": {"--garbage": r"(?<![-\w])--garbage\b"},
    "holder": {
        "'s holder": r"\b(?:lock|monitor|mutex)'s holder\b",
        "holder": r"\bholders? of (?:a|the|its) (?:lock|monitor|mutex)\b",
    },
    "mirror": {"irror": r"\b[Mm]irrors?\b|\bmirror_|_mirror\b"},
    "to be had": {"be had": r"\b(?:can|to) be had\b"},
    "missing": {"missing": r"\bcapabilit\w+ (?:is|are) missing\b|\bmissing capabilit"},
    "least": {"--least": r"(?<![-\w])--least\b"},
    "for": {"--for": r"(?<![-\w])--for\b"},
    "after": {"--after": r"(?<![-\w])--after\b"},
    "frames": {"--frames": r"jvmti .*--frames\b"},
}
"""How each word of the table's last column looks in that sense, for most have others, too: what a
text must have to be searched, and what is searched for."""


def words_to_avoid() -> set[str]:
    """The last column of the table."""
    table = CONTRIBUTING.read_text().partition("## Words")[2].partition("## English")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    cells = [row[2] for row in rows[2:] if len(row) == 3]
    return {word for cell in cells for word in cell.replace(", in options", "").split(", ") if word}


def test_each_word_of_the_table_is_searched_for() -> None:
    assert words_to_avoid() == OLD.keys()


def test_no_word_has_its_old_form() -> None:
    files = [
        path
        for folder in FOLDERS
        for path in (jvms.ROOT / folder).rglob("*")
        if path.suffix in KINDS and "_native" not in path.parts and path not in ELSEWHERE
    ]
    files += [path for path in jvms.ROOT.glob("*.md") if path not in ELSEWHERE]
    assert len(files) > 900
    left = [
        f"{path.relative_to(jvms.ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path in files
        if path.name != "test_glossary.py"
        for text in [path.read_text(errors="replace")]
        for forms in OLD.values()
        for quick, form in forms.items()
        if quick in text
        for match in re.finditer(form, text, re.M)
    ]
    assert left == []


def test_a_path_has_no_old_form() -> None:
    names = {"own.h", "producers.h", "stop_table.py", "holders.py", "numbers.h", "told.py"}
    found = [path for folder in FOLDERS for path in (jvms.ROOT / folder).rglob("*")]
    assert [path for path in found if path.name in names] == []
