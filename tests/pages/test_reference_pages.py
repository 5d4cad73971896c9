"""The reference pages say what the declarations say."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from typing import Any

import jvms
from conformance.pairs import errors_of
from conformance.unprovoked import UNPROVOKED
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.errors import ERRORS

NAMES = {error.CONSTANT.removeprefix("JVMTI_ERROR_"): error.__name__ for error in ERRORS.values()}


def script(name: str) -> Any:
    """A module of scripts/."""
    specification = importlib.util.spec_from_file_location(
        name, jvms.ROOT / "scripts" / f"{name}.py"
    )
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_reference_is_current() -> None:
    script = jvms.ROOT / "scripts" / "reference_pages.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_error_that_a_test_provokes_is_on_the_page_of_its_function() -> None:
    """The first two may come from every function, and are said once."""
    missing = []
    for name, declaration in FUNCTIONS.items():
        said = re.findall(r"^ +(\w+): ", (declaration.method.__doc__ or ""), re.M)
        for error in errors_of(name) - {"INVALID_ENVIRONMENT", "WRONG_PHASE"}:
            if (name, error) not in UNPROVOKED and NAMES[error] not in said:
                missing.append((name, error))
    assert missing == []


def test_types_on_the_pages_are_those_of_python() -> None:
    for page in (jvms.ROOT / "docs" / "reference").rglob("*.md"):
        text = page.read_text()
        assert not re.search(r"Annotated\[|: (Int|Text|Long|Boolean|Char)\b", text), page


def test_pages_in_the_repository_have_no_directives_of_the_site() -> None:
    """Who reads them on a forge sees text; the site shows the whole interface in their place."""
    site_pages = script("site_pages")
    overviews = 0
    for page in (jvms.ROOT / "docs").rglob("*.md"):
        text = page.read_text()
        assert ":::" not in text, page
        overviews += text.count("<!-- api j")
        shown = site_pages.OVERVIEW.sub(site_pages.interface, text)
        assert shown.count("::: ") == text.count("<!-- api j")
        assert "<!-- api end -->" not in shown
    assert overviews > 20


def test_long_lines_of_code_go_on_in_the_next_line_of_the_site() -> None:
    settings = (jvms.ROOT / "mkdocs.yml").read_text()
    (style,) = re.findall(r"^extra_css:\n  - (\S+)$", settings, re.M)
    rules = re.sub(r"\s+", " ", (jvms.ROOT / "docs" / style).read_text())
    assert ".md-typeset pre > code { white-space: pre-wrap;" in rules


NOT_BY_THEMSELVES = {
    "jclass": "a kind of `jobject`",
    "jthread": "a kind of `jobject`",
    "jthreadGroup": "a kind of `jobject`",
    "jframeID": "a depth, which is an `int`",
    "jvmtiError": "constants",
    "jvmtiEvent": "constants",
    "jvmtiCapabilities": "bits",
    "jvmtiExtensionEvent": "a function pointer",
    "jvmtiExtensionFunction": "a function pointer",
    "jvmtiStartFunction": "a function pointer",
    "jvmtiReservedCallback": "a function pointer",
}
"""Types of C that the page of the specification has no row for, and as what it has them."""

TOPICS = (
    "Specification context", "Versions and their history", "Functions and events left out",
    "`FindClass` in events", "Re-entrance", "Result of the start-up", "Failures of the start-up",
    "all of them](reference/jvmti/constants.md)", "add_module_uses", "add_module_provides",
    "throw_new",
)  # fmt: skip
"""What the specification has sections of, and a reader therefore looks for."""


def test_the_page_of_the_specification_has_its_types_and_topics() -> None:
    page = (jvms.ROOT / "docs" / "specification.md").read_text()
    data = json.loads((jvms.ROOT / "tests" / "specification" / "jvmti.json").read_text())
    parts = json.dumps([data[part] for part in ("functions", "events", "structs", "callbacks")])
    types = set(re.findall(r'"(?:kind|type)": "(j(?:vmti|ni)?[A-Za-z]+)"', parts))
    own = types - data["structs"].keys() - data["constants"].keys() - data["callbacks"].keys()
    assert {"jrawMonitorID", "jvalue", "jchar", "jvmtiEventCallbacks"} <= own
    missing = {one for one in own - NOT_BY_THEMSELVES.keys() if f"`{one}" not in page}
    assert not missing
    assert [topic for topic in TOPICS if topic not in page] == []
