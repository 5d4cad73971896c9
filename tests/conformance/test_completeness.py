"""What the conformance tests show is all there is to show, and the page tells it.

Runs after all other conformance tests.  What was shown is looked at only when the run was whole:
all of them, on all JVMs.
"""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

import jvms
from conformance.evidence import BOOK, EVENT, LACKS, RESULT
from conformance.pairs import EVERY, FACTS, pairs
from conformance.unprovoked import UNPROVOKED
from jvmti.env.events import EVENTS
from jvmti.env.interface import FUNCTIONS
from jvmti.interface.declaration import Declaration
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS

PAGE = jvms.ROOT / "docs" / "conformance.md"

# The first to ask waits for the other workers.
pytestmark = pytest.mark.timeout(2400)


@pytest.fixture
def whole_run(is_whole_run: bool) -> None:
    """Only for a run of everything."""
    if not is_whole_run:
        pytest.skip("what was shown is looked at after a run of all conformance tests")


@pytest.fixture(scope="module")
def page() -> ModuleType:
    """The script that writes the page."""
    path = jvms.ROOT / "scripts" / "conformance_page.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_facts_name_only_known_functions_and_errors() -> None:
    known = {fact["name"].removeprefix("JVMTI_ERROR_") for fact in FACTS["errors"]}
    for function, error in pairs():
        assert function in FUNCTIONS or function == EVERY
        assert error in known


def test_few_errors_are_not_provoked_and_each_has_its_reason() -> None:
    assert len(UNPROVOKED) <= len(pairs()) / 10
    assert set(UNPROVOKED) <= pairs()
    assert all(reason.endswith(".") for reason in UNPROVOKED.values())


def test_every_error_is_provoked_or_has_its_reason(whole_run: None) -> None:
    provoked = {(function, error) for function in BOOK.shown for error in BOOK.errors(function)}
    assert pairs() - provoked == set(UNPROVOKED), "not provoked, and what is said not to be"


@pytest.mark.parametrize("jvm_name", jvms.NAMES)
def test_every_function_gave_a_right_result(jvm_name: str, whole_run: None) -> None:
    jvm = jvms.named(jvm_name)

    def shown(name: str, declaration: Declaration) -> bool:
        what = BOOK.shown.get(name, {}).get(jvm_name, set())
        too_new = int(declaration.since.removeprefix("1.")) > jvm.feature
        return RESULT in what or too_new or any(one.startswith(LACKS) for one in what)

    missing = [name for name, one in FUNCTIONS.items() if not shown(name, one)]
    assert missing == []


@pytest.mark.parametrize("jvm_name", jvms.NAMES)
def test_every_jni_function_gave_a_right_result(jvm_name: str, whole_run: None) -> None:
    jvm = jvms.named(jvm_name)
    missing = []
    for name, declaration in JNI_FUNCTIONS.items():
        since = int(declaration.since.split(".")[0])
        wanted = RESULT if since <= jvm.feature else "NOT_IN_THIS_VERSION"
        if wanted not in BOOK.shown.get(f"jni.{name}", {}).get(jvm_name, set()):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("jvm_name", jvms.NAMES)
def test_every_event_was_handled(jvm_name: str, whole_run: None) -> None:
    jvm = jvms.named(jvm_name)
    missing = [
        event.__name__
        for event in EVENTS.values()
        if int(event.declaration.since.split(".")[0]) <= jvm.feature
        and not event.declaration.vm_stopped
        and not BOOK.shown.get(EVENT + event.__name__, {}).get(jvm_name)
    ]
    assert missing == []


def test_the_page_has_every_function_and_no_blank_cell(page: ModuleType) -> None:
    rows = page.rows_of(PAGE.read_text())
    assert {name for name in rows if not name.startswith(("jni.", EVENT))} == set(FUNCTIONS)
    assert {name.removeprefix(EVENT) for name in rows if name.startswith(EVENT)} == {
        event.__name__ for event in EVENTS.values()
    }
    assert {name.removeprefix("jni.") for name in rows if name.startswith("jni.")} == set(
        JNI_FUNCTIONS
    )
    for name, cells in rows.items():
        assert len(cells) == len(jvms.NAMES), name
        assert all(cells), name
        assert page.NOT_SHOWN not in cells, name


def test_the_page_tells_why_each_error_is_not_provoked() -> None:
    text = PAGE.read_text()
    for (function, error), reason in UNPROVOKED.items():
        assert error in text
        assert function in text
        assert reason in text


def test_the_page_is_what_the_run_showed(page: ModuleType, whole_run: None) -> None:
    written = page.text_of(
        {name: {j: sorted(w) for j, w in by.items()} for name, by in BOOK.shown.items()}
    )
    committed = page.rows_of(PAGE.read_text())
    assert committed == page.rows_of(written), "run scripts/conformance_page.py"
