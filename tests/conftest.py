"""What the tests share: a JVM of each kind, and Java programs running on it.

`jvm`                  the JVM that the test runs on, one after the other
`java_program`         starts a program of tests/java; it ends with the test
`shared_java_program`  the same for a whole module of tests
`witness`              the program Witness for a whole module, ready to be asked
`sole_jar`             a program with a name of its own
`java_classes`         compiles a program only
`jdk`                  home of a JDK with javac, javap and jcmd, for witnesses
`static_agent`         libjvmti.a, for linking the agent into a launcher
`jdk_headers`          directories of jni.h and jvmti.h, for compiling one
`evidence`             where a test of conformance says what it shows
`rounds`               how often a test does what chance decides
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
import time
import uuid
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import agent_builds
import bytecode  # noqa: F401 - before what it keeps
import compiler
import jvms
import prepared
import programs
from conformance.evidence import BOOK, FOLDERS, REPORT, SAVED, Evidence, counts
from runs import cost, turns
from runs.scheduling import is_long, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each of the JVMs that may get it, if it needs one."""
    if "jvm" in metafunc.fixturenames:
        able = choice_of(metafunc.config).able(metafunc.definition)
        metafunc.parametrize("jvm", able, indirect=True, ids=str, scope="session")


def choice_of(config: pytest.Config) -> turns.Choice:
    """Which JVMs the tests of this run have."""
    if _CHOICE not in config.stash:
        config.stash[_CHOICE] = turns.Choice(every=config.option.every_jvm)
    return config.stash[_CHOICE]


_CHOICE = pytest.StashKey[turns.Choice]()


@pytest.fixture(scope="session")
def jvm(request: pytest.FixtureRequest) -> jvms.Jvm:
    """The Java virtual machine that the test runs on."""
    chosen: jvms.Jvm = request.param
    if chosen.missing:
        (pytest.fail if jvms.was_named() else pytest.skip)(chosen.missing)
    return chosen


@pytest.fixture
def java_program(jvm: jvms.Jvm, tmp_path: Path) -> Iterator[programs.JavaPrograms]:
    """Start Java programs that end with the test: `java_program("Idle", jvm_args=[…])`."""
    started = programs.JavaPrograms(jvm, tmp_path)
    yield started
    started.close()


@pytest.fixture(scope="module")
def shared_java_program(
    jvm: jvms.Jvm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[programs.JavaPrograms]:
    """Start Java programs that the tests of one module use together."""
    started = programs.JavaPrograms(jvm, tmp_path_factory.mktemp(f"shared-{jvm}"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def witness(shared_java_program: programs.JavaPrograms) -> programs.JavaProgram:
    """The program Witness, ready to be asked, for all tests of a module."""
    program = shared_java_program("Witness")
    program.expect("ready", timeout=60)
    return program


@pytest.fixture(scope="session")
def java_classes() -> Callable[..., Path]:
    """Compile a program: `java_classes("Idle", debug=False)` is a directory of classes."""
    return compiler.classes


@pytest.fixture(scope="session")
def jdk() -> Path:
    """Home of a JDK that has the tools: javac, javap, jcmd."""
    home = jvms.distribution_jdk() or compiler.javac_home(compiler.OLDEST)
    if home is None:
        pytest.skip("no JDK here; `make java` installs one")
    return home


@pytest.fixture(scope="session")
def jdk_headers() -> list[Path]:
    """Return the directories that a C compiler finds jni.h and jvmti.h in."""
    include = jvms.named("25").home / "include"
    return [include, include / "linux"]


@pytest.fixture(scope="session")
def static_agent() -> Path:
    """Build the agent as a static library and return its path."""
    return agent_builds.static()


@pytest.fixture
def sole_jar(tmp_path: Path) -> Path:
    """A jar of the program Idle with a name that no other JVM of this machine has."""
    jar = tmp_path / f"sole-{uuid.uuid4().hex}.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Main-Class: Idle\n")
        archive.write(compiler.classes("Idle") / "Idle.class", "Idle.class")
    return jar


@pytest.fixture
def evidence(request: pytest.FixtureRequest, jvm: jvms.Jvm) -> Iterator[Evidence]:
    """Where a test says what it shows; that counts when it passes."""
    claims = Evidence(jvm.name)
    yield claims
    report = request.node.stash.get(REPORT, None)
    if report is not None and report.passed:
        for function, what in claims.claims:
            BOOK.enter(function, jvm.name, what)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the report of the call for the fixture `evidence`."""
    report = yield
    if report.when == "call":
        item.stash[REPORT] = report
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test in which a Ctrl-C comes where none was expected, and not the worker.

    A worker that ends early ends the whole run.  Ctrl-C at the terminal still does: it reaches the
    process that has started the workers.
    """
    try:
        return (yield)
    except KeyboardInterrupt as interruption:
        if not hasattr(item.config, "workerinput"):
            raise
        raise AssertionError("Ctrl-C came where none was expected") from interruption


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """How often to do what chance decides: `rounds(3, 10)` is 10 with `--every-jvm`, else 3."""
    return lambda few, many: many if request.config.option.every_jvm else few


@pytest.fixture(scope="session")
def launched_reports(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Where sanitizers report on the JVMs that tests launch, when they run with any."""
    if not agent_builds.SANITIZED:
        return None
    directory = tmp_path_factory.mktemp("sanitizer")
    agent_builds.preload_in_launched(directory)
    return directory


@pytest.fixture(scope="session", autouse=True)
def _sanitizers_are_silent(launched_reports: Path | None) -> Iterator[None]:
    """What a sanitizer reports on a launched JVM fails the run, at its end."""
    yield
    if launched_reports and (found := agent_builds.reports(launched_reports)):
        pytest.fail("\n".join(one.read_text()[:6000] for one in found), pytrace=False)


@pytest.fixture(scope="session")
def is_whole_run(request: pytest.FixtureRequest) -> bool:
    """Whether this run has all tests of conformance and events, on all JVMs.

    Comes back when all that count have run, here and in the other workers; the book is complete.
    """
    if not is_whole(request.config):
        return False
    awaited = {
        item.nodeid for item in request.session.items if counts(item.path) and not comes_last(item)
    }
    awaited |= request.config.stash.get(ELSEWHERE, set())
    deadline = time.monotonic() + LONGEST_WAIT
    while missing := awaited - BOOK.gather(request.config.stash[PIECES]):
        if time.monotonic() > deadline:
            pytest.fail(f"{len(missing)} tests never finished: {sorted(missing)[:20]}")
        time.sleep(0.5)
    return True


LONGEST_WAIT = 1800
"""Seconds that the tests of completeness wait for those that other workers still run."""

PIECES: pytest.StashKey[Path] = pytest.StashKey()
"""The directory where each process of the run leaves its book."""

SHARED = "JVMTI_TEST_EVIDENCE"
"""A variable: a directory for the books of two runs that are one, as in CI."""

RELEASED = "JVMTI_TEST_RELEASED"
"""A variable: the JVM on which the other of them has the tests of conformance, with the wheel."""

ELSEWHERE: pytest.StashKey[set[str]] = pytest.StashKey()
"""The tests that the other run has."""

FINISHED: set[str] = set()
"""The tests that count and that this process has run."""


def pytest_configure(config: pytest.Config) -> None:
    """Make the directory of the books, or take the one of the whole run; build the agent.

    A shell starts what runs in the background with Ctrl-C ignored, and so would all controllers.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if meter := cost.meter(config):
        config.pluginmanager.register(meter)
    worker = getattr(config, "workerinput", None)
    if worker is None:
        agent_builds.choose()
    shared = worker["pieces"] if worker else os.environ.get(SHARED)
    if shared is None:
        shared = tempfile.mkdtemp(prefix="jvmti-evidence-")
    config.stash[PIECES] = Path(shared)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Name the directory of the books to a worker."""
    node.workerinput["pieces"] = str(node.config.stash[PIECES])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Leave the book at the end of each file that counts, on each JVM."""
    yield
    if counts(item.path):
        FINISHED.add(item.nodeid)
        if nextitem is None or unit_of(nextitem.nodeid) != unit_of(item.nodeid):
            BOOK.leave(item.config.stash[PIECES], FINISHED)


def comes_last(item: pytest.Item) -> bool:
    """Whether a test looks at what all the others have shown."""
    return item.path.name == "test_completeness.py"


def is_shown_elsewhere(item: pytest.Item, jvm: str) -> bool:
    """Whether a test is one of conformance on that JVM."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return FOLDERS[0] in item.path.parents and str(parameters.get("jvm")) == jvm


def is_whole(config: pytest.Config) -> bool:
    """Whether a run has all tests of conformance and events, on all JVMs."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return (
        [jvm.name for jvm in jvms.selected()] == list(jvms.NAMES)
        and not any(jvm.missing for jvm in jvms.selected())
        and not config.option.keyword
        and not config.option.markexpr
        and not any("::" in argument for argument in config.args)
        and all(any(one == path or path in one.parents for path in asked) for one in FOLDERS)
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    """A run of the tests that failed completes the run before."""
    if session.config.getoption("lf", False):
        BOOK.open(SAVED)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--every-jvm`, for the whole that nobody waits for."""
    parser.addoption(
        "--every-jvm", action="store_true", help="no test is left to the turn of another JVM"
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Choose the JVMs of what is the same on all; put long tests first, and completeness last.

    Those of completeness look at what all the others have shown. Pytest puts the others in order
    meanwhile, which takes a second of processor time in each worker for what is left out.
    """
    choice = choice_of(config)
    left_out = {item for item in items if not choice.is_for(item)}
    if released := os.environ.get(RELEASED):
        elsewhere = {item for item in items if is_shown_elsewhere(item, released)} - left_out
        config.stash[ELSEWHERE] = {item.nodeid for item in elsewhere}
        left_out |= elsewhere
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    yield
    items.sort(key=lambda item: (comes_last(item), not is_long(item)))
    if agent_builds.SANITIZED:
        for item in items:
            for mark in item.iter_markers("not_sanitized"):
                item.add_marker(pytest.mark.skip(reason=mark.kwargs["reason"]))


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Collect no garbage while all that pytest makes is kept: it takes a fifth of the time."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keep what was collected out of the garbage collector's way.

    Else each collection looks at 400,000 objects of pytest's, which takes 0.15 s. There is little
    garbage among them.
    """
    gc.enable()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what the tests share, and write down what all processes of the run have shown."""
    prepared.end()
    if hasattr(session.config, "workerinput"):
        return
    pieces = session.config.stash[PIECES]
    BOOK.gather(pieces)
    if SHARED not in os.environ:
        shutil.rmtree(pieces)
    if BOOK.shown:
        BOOK.save(SAVED, whole=is_whole(session.config))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Name what a run should not have: tests that pass the second time, and that nothing runs."""
    named = {
        how: [report.nodeid for report in terminalreporter.stats.get(how, [])]
        for how in ("passed", "failed", "skipped")
    }
    if config.getoption("lf", False):
        # A test or a race to be mended.
        tell(terminalreporter, "passed only the second time", named["passed"])
    elif is_whole(config):
        ran = {turns.without_jvm(one) for one in (*named["passed"], *named["failed"])}
        skipped = {turns.without_jvm(one) for one in named["skipped"]}
        tell(terminalreporter, "skipped on each JVM whose turn it was", sorted(skipped - ran))


def tell(terminalreporter: pytest.TerminalReporter, title: str, names: list[str]) -> None:
    """Write names of tests under a title, if there are any."""
    if names:
        terminalreporter.section(title)
        for name in names:
            terminalreporter.line(name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Several workers (`-n 2`) share the tests, each file's on one JVM together."""
    from runs.scheduling import ByFileAndJvm

    return ByFileAndJvm(config, log)
