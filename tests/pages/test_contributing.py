"""The walk-through in CONTRIBUTING.md leads where it says."""

from __future__ import annotations

import ast
import re
from collections import Counter

import jvms

TEXT = (jvms.ROOT / "CONTRIBUTING.md").read_text()


def test_every_link_and_folder_is_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    folders = re.findall(r"`((?:src|native|tests|docs|benchmarks|examples)(?:/\w+)*)`", TEXT)
    assert len(links) > 10
    assert len(folders) > 15
    missing = [name for name in {*links, *folders} if not (jvms.ROOT / name).exists()]
    assert missing == []


def test_every_name_stands_in_the_file_that_is_linked_behind_it() -> None:
    named = re.findall(r"`([^`]+)`\s+in\s+\[[^]]+\]\(([^)#]+)\)", TEXT)
    assert len(named) >= 10
    missing = [(name, file) for name, file in named if name not in (jvms.ROOT / file).read_text()]
    assert missing == []


ROOMS = sorted(path.parent for path in (jvms.ROOT / "src" / "jvmti").glob("*/__init__.py"))


def test_every_room_is_in_the_table_and_in_the_picture() -> None:
    text = (jvms.ROOT / "docs" / "architecture.md").read_text()
    picture = text.split("```")[1]
    drawn = {
        name for line in picture.splitlines() for name in re.split(r"  +", line)[0].split(", ")
    }
    assert len(ROOMS) > 15
    assert [room.name for room in ROOMS if room.name not in drawn] == []
    assert [room.name for room in ROOMS if f"`src/jvmti/{room.name}`" not in TEXT] == []


def test_every_room_says_what_lives_there() -> None:
    said = {
        room.name: ast.get_docstring(ast.parse((room / "__init__.py").read_text()))
        for room in ROOMS
    }
    assert [name for name, text in said.items() if len((text or "").splitlines()) < 3] == []


CODE = {".py", ".cpp", ".h"}


def test_no_folder_has_too_many_files() -> None:
    files = [
        path.relative_to(jvms.ROOT)
        for folder in ("src", "native", "tests", "benchmarks", "scripts", "examples")
        for path in (jvms.ROOT / folder).rglob("*")
        if path.suffix in CODE and path.name != "__init__.py"
    ]
    counts = Counter(str(path.parent) for path in files)
    assert len(counts) > 100
    assert {folder: count for folder, count in counts.items() if count > 16} == {}


def test_no_file_of_the_agent_is_long() -> None:
    files = [
        file
        for suffix in (".cpp", ".h", ".py")
        for file in (jvms.ROOT / "native" / "agent").rglob(f"*{suffix}")
    ]
    assert len(files) > 150
    assert [file.name for file in files if len(file.read_text().splitlines()) > 500] == []


def test_every_native_source_is_in_the_table_of_its_folder() -> None:
    folder = jvms.ROOT / "native"
    sources = [path for path in folder.rglob("*") if path.suffix in (".cpp", ".h")]
    assert len(sources) > 150
    missing = []
    for path in sources:
        page = next(one / "README.md" for one in path.parents if (one / "README.md").exists())
        named = set(re.findall(r"`([\w.]+)`", page.read_text()))
        if page.parent == folder or not {path.name, path.stem} & named:
            missing.append(path.name)
    assert missing == []
