"""Events of programs that others wrote: by probes, in the order and with the values of the VM.

    python tests/emulation/witnesses/program_witness.py [--jvms 11,17,21,25] [--only ecj,h2]

The witness is a JVM that was started for events.  In it, and in one that was attached to late, the
same code asks for the same events of some classes, while the Eclipse compiler compiles a program or
the database H2 answers queries: entries, returns with their values, exceptional exits, every line
with the local variables there, fields read and written with their values, exceptions caught.
`Exception` is left out, which probes send where an exception is made, thrown or not.  Hits of
logpoints at each kind of place, such as calls, new objects and monitors, are compared with the VM's
single steps (`place_witness`).  All sequences must be equal from the first event to the last.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).parents[2]
sys.path[:0] = [str(TESTS)]

import compiler  # noqa: E402
import jars  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
from emulation.witnesses import place_witness  # noqa: E402
from jvmti.classfile.opcodes import instructions  # noqa: E402
from jvmti.interface.errors import Error  # noqa: E402
from jvmti.target.agent_library import library_for_executable  # noqa: E402
from programs import JavaProgram, JavaPrograms  # noqa: E402

EVENTS = (
    "MethodEntry",
    "MethodExit",
    "FieldAccess",
    "FieldModification",
    "ExceptionCatch",
)
DONE = re.compile(r"done \d+ -?\d+")
GETTERS = {
    "Z": "get_local_int",
    "B": "get_local_int",
    "C": "get_local_int",
    "S": "get_local_int",
    "I": "get_local_int",
    "J": "get_local_long",
    "F": "get_local_float",
    "D": "get_local_double",
}


COLUMNS = (
    *("event", "method_class", "method", "method_signature", "location", "line"),
    *("return_value", "return_value_float", "return_value_class", "was_popped_by_exception"),
    *("field_class", "field", "new_value", "new_value_float", "new_value_class"),
    "exception",
)
"""What of a recorded event is no number of one JVM alone."""
_NO_CODE = 0x0100 | 0x0400
TRIES = 10
"""Runs until none drops a hit."""
Row = tuple[Any, ...]
Way = Callable[[jvmti.VM, "Work", Callable[[], None]], dict[str, list[Row]]]


class DroppedError(Exception):
    """A program was faster than the reader of what it records."""


class Work(NamedTuple):
    """What a program does, and the classes that are watched meanwhile."""

    arguments: tuple[str, ...]
    """Those of the launcher: options, class path and main class."""
    classes: tuple[str, ...]
    """All events of these are recorded."""
    closely: tuple[str, ...]
    """On each line of these the thread stops, and its variables are read."""
    places: tuple[str, ...]
    """Each kind of place in these is compared; each instruction of the first."""


def compiling(to: Path, jvm: jvms.Jvm) -> Work:
    """The Eclipse compiler compiles a program of the tests, in one thread."""
    jar = jars.eclipse_compiler(jvm)
    package = "org.eclipse.jdt.internal.compiler"
    return Work(
        (
            "-Djdt.compiler.useSingleThread=true",
            *("-cp", f"{jar}:{compiler.classes('Repeated')}", "Repeated", "ecj"),
            *("-11", "-g", "-nowarn", "-proc:none", "-d", str(to)),
            str(TESTS / "java" / "Probed.java"),
        ),
        tuple(
            f"{package}.{one}"
            for one in (
                "codegen.BranchLabel",
                "codegen.StackMapFrame",
                "codegen.VerificationTypeInfo",
                "flow.LoopingFlowContext",
                "ast.MethodDeclaration",
                "lookup.MethodScope",
            )
        ),
        (f"{package}.codegen.BranchLabel",),
        tuple(
            f"{package}.{one}"
            for one in (
                "codegen.BranchLabel",
                "Compiler",
                "ast.TryStatement",
                "ast.TypeDeclaration",
                "codegen.StackMapFrame",
                "flow.FlowContext",
                "lookup.MethodScope",
            )
        ),
    )


def querying() -> Work:
    """H2 answers queries in the thread that asks, without a file."""
    (jar,) = jars.fetched(jars.DATABASE)
    path = f"{jar}:{compiler.classes('Querying')}:{compiler.classes('Repeated')}"
    return Work(
        ("-cp", path, "Repeated", "h2", "jdbc:h2:mem:orders"),
        (
            "org.h2.expression.condition.CompareLike",
            "org.h2.message.DbException",
            "org.h2.table.TableFilter",
            "org.h2.value.ValueVarchar",
        ),
        ("org.h2.message.DbException",),
        (
            "org.h2.message.DbException",
            "org.h2.engine.Database",
            "org.h2.index.IndexCursor",
            "org.h2.jdbc.JdbcStatement",
            "org.h2.mvstore.db.MVPrimaryIndex",
            "org.h2.mvstore.db.MVSecondaryIndex",
            "org.h2.schema.Schema",
        ),
    )


class Shown:
    """What values look like that two JVMs have in common."""

    def __init__(self, vm: jvmti.VM) -> None:
        self._vm = vm
        self._string = vm.jni.find_class("java/lang/String")

    def __call__(self, value: Any) -> Any:
        """A number or a truth value; a text; the class of another object."""
        if value is None or isinstance(value, int | float | str | bool):
            return value
        jni = self._vm.jni
        if jni.is_instance_of(value, self._string):
            return ("text", str(value))
        return ("object", self._vm.env.get_class_signature(jni.get_object_class(value)).signature)


def variables(env: Any, shown: Shown, table: Sequence[Any], event: Any) -> list[tuple[str, Any]]:
    """The names and values of the local variables where a thread has stopped."""
    found: list[tuple[str, Any]] = []
    for one in table:
        if not one.start_location <= event.location < one.start_location + one.length:
            continue
        if one.slot == 0 and event.method.name == "<init>":
            continue  # probes do not have it before super(…) has returned
        getter = GETTERS.get(one.signature, "get_local_object")
        try:
            found.append((one.name, shown(getattr(env, getter)(event.thread, 0, one.slot))))
        except Error as error:
            found.append((one.name, type(error).__name__))
    return found


Before = Callable[[Any, Sequence[int]], Sequence[int]]


class Lines:
    """Breakpoints on all lines of some classes, while a ``with`` block runs.

    Args:
        vm: the VM.
        classes: the names of the classes.
        before: for methods that have probes, the indices that theirs had before.
    """

    def __init__(
        self, vm: jvmti.VM, classes: Sequence[str], before: Before = lambda method, given: given
    ) -> None:
        self._env = vm.env
        self._before = before
        self.methods: dict[Any, Sequence[Any]] = {}
        """The methods with code, and their tables of local variables."""
        self._places: list[tuple[Any, int]] = []
        for name in classes:
            for method in vm.find_class(name).methods:
                if method.modifiers & _NO_CODE:
                    continue
                try:
                    self.methods[method] = vm.env.get_local_variable_table(method)
                except jvmti.errors.AbsentInformation:
                    self.methods[method] = ()
                try:
                    lines = {one.start_location for one in vm.env.get_line_number_table(method)}
                except jvmti.errors.AbsentInformation:
                    continue  # made by a compiler
                first = self._first(method)
                self._places += [(method, one or first) for one in sorted(lines)]

    def _first(self, method: Any) -> int:
        """Where the first line begins: a loop to it leads behind the probe of the entry, unlike
        what begins the method again.
        """
        code = instructions(self._env.get_bytecodes(method))
        heads = {one.target for one in code if one.target and one.target < one.location}
        found = sorted(heads)[:1]
        return found[0] if found and self._before(method, found)[0] == 0 else 0

    def __enter__(self) -> Lines:
        for place in self._places:
            self._env.set_breakpoint(*place)
        return self

    def __exit__(self, *exception: object) -> None:
        for place in self._places:
            self._env.clear_breakpoint(*place)


def streamed(vm: jvmti.VM, work: Work, run: Callable[[], None]) -> dict[str, list[Row]]:
    """All events of some classes while a program runs, and what it answers.

    The VM's own breakpoints are the witness of steps, which probes send where lines begin.
    """
    env, main = vm.env, vm.threads["main"]
    late = bool(vm.emulation.held(env))
    for name in work.classes:
        cls = vm.find_class(name)
        for field in env.get_class_fields(cls):
            env.set_field_access_watch(cls, field)
            env.set_field_modification_watch(cls, field)
    events = [*EVENTS, "SingleStep" if late else "Breakpoint"]
    with ExitStack() as stack:
        if not late:
            stack.enter_context(Lines(vm, work.classes))
        stream = stack.enter_context(
            env.stream(events, classes=list(work.classes), thread=main, policy="wait")
        )
        assert set(stream.emulated) == (set(events) if late else set())
        blocks = read_while([stream], run)
    names = {"SingleStep": "Line", "Breakpoint": "Line"}
    rows = (row for _, block in blocks for row in rows_of(block, COLUMNS))
    return {"events": [(names.get(kind, kind), *more) for kind, *more in rows]}


def read_while(
    recorders: Sequence[Any], run: Callable[[], None], waiting: Any = None
) -> list[tuple[Any, Any]]:
    """All that streams or logpoints record while a program runs, with which of them did.

    Args:
        recorders: the streams or logpoints.
        run: runs the program.
        waiting: a thread of it that is suspended while they are read, as it waits for no logpoint.
    """
    found: list[tuple[Any, Any]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            if waiting is None:
                found.extend([(one, one.read(0.1)) for one in recorders])
                continue
            waiting.suspend()
            found.extend([(one, one.read(0)) for one in recorders])
            waiting.resume()
            time.sleep(0.001)

    reader = threading.Thread(target=read)
    reader.start()
    run()
    done.set()
    reader.join()
    found.extend([(one, one.read(0)) for one in recorders])
    dropped = sum(one.dropped for one in recorders)
    if dropped:
        raise DroppedError(dropped)
    return found


def rows_of(block: Any, columns: Sequence[str]) -> Iterator[Row]:
    """What two JVMs have in common of recorded events."""
    values = [list(block[name][:]) for name in columns]
    values = [[None if value != value else value for value in one] for one in values]
    return zip(*values, strict=True)


def stepped(vm: jvmti.VM, work: Work, run: Callable[[], None]) -> dict[str, list[Row]]:
    """What happens at each kind of place, by the VM's single steps."""
    classes = [vm.find_class(name) for name in work.places]
    codes = {one.name: place_witness.codes_of(one.class_file) for one in classes}
    with vm.env.stream(
        list(place_witness.EVENTS),
        classes=list(work.places),
        thread=vm.threads["main"],
        policy="wait",
    ) as stream:
        blocks = read_while([stream], run)
    rows = (row for _, block in blocks for row in rows_of(block, place_witness.COLUMNS))
    found = place_witness.by_steps(rows, codes)
    found["index"] = [row for row in found["index"] if row[0] == work.places[0]]
    return {f"hits of {name}": hits for name, hits in found.items()}


def logged(vm: jvmti.VM, work: Work, run: Callable[[], None]) -> dict[str, list[Row]]:
    """The same by logpoints."""
    places = [
        (name, f"{name} {kind.place.format(owner)}", kind.text)
        for name, kind in place_witness.KINDS.items()
        for owner in (work.places[:1] if name == "index" else work.places)
    ]
    found: dict[str, list[Any]] = {name: [] for name in place_witness.KINDS}
    for name, hits in read_places(vm, places, run):
        found[name] += [hit for hit in hits if hit.thread == "main"]
    return {
        f"hits of {name}": [
            (one.class_name, one.method, one.descriptor, one.line, one.text)
            for one in sorted(hits, key=lambda one: one.time)
        ]
        for name, hits in found.items()
    }


def read_places(
    vm: jvmti.VM, places: Sequence[tuple[str, str, str]], run: Callable[[], None]
) -> list[tuple[str, Any]]:
    """The hits at some places, by kinds, of a run of the program that they were all recorded of."""
    for _ in range(TRIES):
        with ExitStack() as stack:
            logs = {}
            for name, place, text in places:
                with suppress(LookupError):  # the class has no such place
                    log = vm.logpoint(place, text, limit=None, text_size=112)
                    logs[stack.enter_context(log)] = name
            try:
                found = read_while(list(logs), run, vm.threads["main"])
            except DroppedError:
                continue
            return [(logs[log], hits) for log, hits in found]
    raise AssertionError(f"hits were dropped in each of {TRIES} runs")


def stopped(vm: jvmti.VM, work: Work, run: Callable[[], None]) -> dict[str, list[Row]]:
    """The local variables on each line of some classes while a program runs."""
    env, shown = vm.env, Shown(vm)
    found: list[Row] = []
    with Lines(vm, work.closely) as lines:

        def note(event: Any) -> None:
            name = f"{event.method.class_name}.{event.method.name}"
            values = variables(env, shown, lines.methods[event.method], event)
            found.append((name, event.location, *values))

        with env.on("Breakpoint", note, thread=vm.threads["main"]):
            run()
    return {"lines with variables": found}


def begun(started: JavaPrograms, work: Work, options: Sequence[str]) -> JavaProgram:
    """The program, which has done the same before, so that its classes are loaded."""
    program = started.start([*options, *jvms.QUICK, "-Xmx512m", *work.arguments])
    program.expect("ready", timeout=60)
    program.send("run 1")
    program.expect(DONE, timeout=120)
    return program


def compared(
    jvm: jvms.Jvm, started: JavaPrograms, work: Work
) -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
    """The events of the VM itself, and those of probes: of streams, of stops with variables, of
    places."""
    ways: list[Way] = [streamed, *([stopped] if work.closely else [])]
    reserved = f"-agentpath:{library_for_executable(jvm.java)}=reserve"
    native = asked(started, work, [reserved], [*ways, *([stepped] if work.places else [])])
    late = asked(started, work, [], ways)
    if work.places:
        # Hits come in bursts, for which nobody waits.
        late |= asked(started, work, ["-Xint"], [logged])
    assert native.pop("answer") == late.pop("answer")
    return native, late


def asked(
    started: JavaPrograms, work: Work, options: Sequence[str], ways: Sequence[Way]
) -> dict[str, list[Row]]:
    """What a JVM says in these ways about what the program does, and the program's answer."""
    program = begun(started, work, options)
    numbers = count(2)
    found: dict[str, list[Row]] = {}
    answers = set()

    def run() -> None:
        program.send(f"run {next(numbers)}")
        answers.add(program.expect(DONE, timeout=600))

    is_prepared = any("reserve" in one for one in options)
    with jvmti.attach(program.pid, capabilities="all", timeout=60, emulate=not is_prepared) as vm:
        vm.timeout = 600
        assert bool(vm.emulation.held(vm.env)) is not is_prepared
        for way in ways:
            found |= way(vm, work, run)
    assert len(answers) == 1, answers
    return {**found, "answer": list(answers)}


def first_difference(one: Sequence[Any], other: Sequence[Any]) -> str:
    """Where two sequences part, with what came before."""
    at = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    return "\n".join(
        [
            f"{len(one)} and {len(other)} events; number {at} differs, behind",
            *map(str, one[max(0, at - 5) : at]),
            f"by the VM: {one[at : at + 3]}",
            f"by probes: {other[at : at + 3]}",
        ]
    )


def main() -> int:
    """Compare, and say what was the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvms", default="11,17,21,25")
    parser.add_argument("--only", default="ecj,h2")
    given = parser.parse_args()
    failed = 0
    for version in given.jvms.split(","):
        jvm = jvms.named(version)
        for name in given.only.split(","):
            with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
                started = JavaPrograms(jvm, Path(folder))
                stack.callback(started.close)
                work = compiling(Path(folder) / "made", jvm) if name == "ecj" else querying()
                began = time.monotonic()
                native, late = compared(jvm, started, work)
                for what, events in native.items():
                    took = f"{time.monotonic() - began:.0f} s"
                    if events != late[what]:
                        failed = 1
                        said = first_difference(events, late[what])
                    else:
                        kinds = Counter(row[0] for row in events if what == "events")
                        counts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
                        said = f"{len(events):,} are the same {counts}".rstrip()
                    print(f"{version}, {name}, {what}: {said}; {took}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
