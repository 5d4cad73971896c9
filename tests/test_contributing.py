"""The walk-through in CONTRIBUTING.md leads where it says."""

from __future__ import annotations

import re

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
