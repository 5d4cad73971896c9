"""Settings of MkDocs beyond mkdocs.yml.

The figures of benchmarks/README.md are a page of the site, at the same place seen from the others
as in the repository, so that links to it work in both.  The chapters of the reference are in the
navigation because they are there, and so is, at the end of the guide, a page that it does not name.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
ELSEWHERE = ("benchmarks/README.md",)
#: Links to sources, which are no pages.
SOURCE = re.compile(r"\[([^]]+)\]\([\w/]+\.(?:py|java|cpp)\)")

#: What a page in the repository says of a module, in short.
OVERVIEW = re.compile(r"<!-- api ([\w.]+) -->\n.*?<!-- api end -->\n?", re.S)


def interface(found: re.Match[str]) -> str:
    """What the site shows in its place: all that is documented in the module."""
    directive = f"::: {found[1]}\n"
    if found[1].count(".") > 1:
        directive += (
            "    options:\n      show_root_heading: false\n      show_root_toc_entry: false\n"
        )
    return directive


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the chapters of the reference to the navigation, and what it does not name."""
    assert config.nav is not None
    [reference] = [one["Reference"] for one in config.nav if "Reference" in one]
    for title, directory in (("JVM TI", "jvmti"), ("JNI", "jni")):
        chapters = []
        for page in sorted(Path(config.docs_dir, "reference", directory).glob("*.md")):
            name = page.stem.replace("_1_0", " 1.0").replace("_", " ")
            chapters.append({name: f"reference/{directory}/{page.name}"})
        reference.append({title: chapters})
    named = str(config.nav)
    [guide] = [one["Guide"] for one in config.nav if "Guide" in one]
    guide += sorted(
        page.name for page in Path(config.docs_dir).glob("*.md") if page.name not in named
    )
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    from mkdocs.structure.files import File

    for path in ELSEWHERE:
        text = (ROOT / path).read_text().replace("](../docs/", "](../")
        files.append(File.generated(config, path, content=SOURCE.sub(r"\1", text)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead to those pages within the site, and show the whole interface where pages sum it up."""
    markdown = OVERVIEW.sub(interface, markdown)
    for path in ELSEWHERE:
        up = "../" * page.file.src_uri.count("/")
        markdown = markdown.replace(f"]({up}../{path}", f"]({up}{path}")
    return markdown
