"""Events of one run of a program with many threads: by probes and by the VM, at the same time.

    python tests/emulation/witnesses/load_witness.py [--jvms 17,25] [--only h2,spark] [--threads 4]

Where threads wait for each other no run is like another, so those of two JVMs cannot be compared.
Here one JVM has both: it was started for events, which one session asks for; another has them
emulated, so that its probes are in the same code. Each thread's events must be the same, in the
same order, with the same values.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

TESTS = Path(__file__).parents[2]
sys.path[:0] = [str(TESTS), str(TESTS / "integrations")]

import compiler  # noqa: E402
import jars  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
from emulation.witnesses.program_witness import (  # noqa: E402
    EVENTS,
    Before,
    Lines,
    first_difference,
    rows_of,
)
from jvmti.interface.capabilities import Capabilities  # noqa: E402
from jvmti.interface.constants import ClassStatus  # noqa: E402
from programs import VARIABLES, JavaProgram, JavaPrograms  # noqa: E402

COLUMNS = (
    *("event", "method_class", "method", "method_signature", "line"),
    *("return_value", "return_value_float", "return_value_class", "was_popped_by_exception"),
    *("field_class", "field", "new_value", "new_value_float", "new_value_class"),
    "exception",
)
Row = tuple[Any, ...]
NEEDED = Capabilities.of(
    "can_generate_breakpoint_events",
    "can_generate_method_entry_events",
    "can_generate_method_exit_events",
    "can_generate_single_step_events",
    "can_generate_field_access_events",
    "can_generate_field_modification_events",
    "can_generate_exception_events",
)


H2 = (
    "org.h2.engine.SessionLocal",
    "org.h2.expression.condition.CompareLike",
    "org.h2.jdbc.JdbcStatement",
    "org.h2.message.DbException",
    "org.h2.mvstore.db.MVTable",
    "org.h2.mvstore.tx.Transaction",
    "org.h2.table.TableFilter",
    "org.h2.value.ValueVarchar",
)
SPARK = (
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.storage.memory.MemoryStore",
    "org.apache.spark.executor.Executor$TaskRunner",
    "org.apache.spark.scheduler.DAGScheduler",
    "org.apache.spark.storage.BlockManager",
)


class Work(NamedTuple):
    """A program at work."""

    pid: int
    run: Callable[[], str]
    """Has it do the same once more; what it answers."""
    classes: tuple[str, ...]
    """The classes whose calls, lines and catches are compared."""
    threads: str
    """A pattern for the names of the threads that are compared."""
    fields: tuple[str, ...] = ()
    """Those of the classes whose fields are compared, too, each of which is a change of probes."""
    excused: Mapping[str, str] = MappingProxyType({})
    """Exceptions, by class, that are not made where they say, with the reason."""


def database(started: JavaPrograms, threads: int) -> Work:
    """Threads that ask the database H2, all the same one."""
    (jar,) = jars.fetched(jars.DATABASE)
    path = f"{jar}:{compiler.classes('Querying')}:{compiler.classes('Repeated')}"
    program = started.start(
        [
            *(reserved(), *jvms.QUICK, "-Xmx512m", "-cp", path),
            *("Repeated", "h2", "jdbc:h2:mem:orders", str(threads)),
        ]
    )
    program.expect("ready", timeout=60)
    return Work(
        program.pid,
        running(program),
        H2,
        "load .*",
        H2,
    )


def spark(started: JavaPrograms, threads: int) -> Work:
    """A PySpark driver: the scheduler's thread, Python's, and those that execute tasks."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    kept |= {
        "JAVA_HOME": str(jvms.home_for_spark(started.jvm)),
        "JAVA_TOOL_OPTIONS": " ".join([reserved(), *jvms.QUICK]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": "--driver-memory 1g pyspark-shell",
        "PYSPARK_PYTHON": sys.executable,
    }
    folder = Path(tempfile.mkdtemp())
    command = [sys.executable, __file__, "--drive", str(threads)]
    program = JavaProgram(command, folder, kept)
    ready = program.expect(re.compile(r"ready \d+"), timeout=180)
    return Work(
        int(ready.split()[1]),
        running(program),
        SPARK,
        r"dag-scheduler-event-loop|Thread-\d+|(Executor task|dispatcher-|broadcast-|task-result).*",
        SPARK[:2],
        {
            "Lorg/apache/spark/sql/catalyst/ExtendedAnalysisException;": "has the trace of another",
            "Lorg/apache/spark/SparkRuntimeException;": "was read from what an executor has sent",
        },
    )


PROGRAMS = {"h2": database, "spark": spark}


def reserved() -> str:
    """The option of a JVM that is started for events."""
    return jvmti.java_tool_options(jvmti.AgentOptions(listen="", reserve=()))


def running(program: JavaProgram) -> Callable[[], str]:
    """Asks a program to do the same once more."""
    numbers = iter(range(1, 1000))

    def run() -> str:
        program.send(f"run {next(numbers)}")
        return program.expect(re.compile(r"done .*"), timeout=900)

    return run


def drive(threads: int) -> None:
    """Be a PySpark program that does a job for each line of input."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
    from spark_witness import job

    session = (
        SparkSession.builder.master(f"local[{threads}]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.broadcastTimeout", "3600")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")

    def failing(query: str) -> str:
        try:
            return str(session.sql(query).collect())
        except PySparkException as error:
            return str(error.getCondition())

    print("ready", session.sparkContext._gateway.proc.pid, flush=True)
    for _ in sys.stdin:
        said = job(session)
        for query in ("select nothing from range(3)", "select raise_error('no') from range(9)"):
            said.append(failing(query))
        text = json.dumps(said)
        print("done", len(text), sum(text.encode()), flush=True)


# ---- both at once --------------------------------------------------------------------------------


def emulated(vm: jvmti.VM) -> Any:
    """An environment whose events come from probes, though the VM would grant them."""
    env = vm.new_env()
    vm.emulation.add(env, NEEDED)
    return env


def locating(late: jvmti.VM) -> Before:
    """Finds what the indices of another session's methods were before they got probes."""

    def before(method: Any, locations: Sequence[int]) -> Sequence[int]:
        [same] = [
            one
            for one in late.find_class(method.class_name).methods
            if (one.name, one.signature) == (method.name, method.signature)
        ]
        probes = late.breakpoints.event_probes
        assert probes is not None
        return probes.before(same, locations)

    return before


def streamed(native: jvmti.VM, late: jvmti.VM, work: Work) -> dict[str, tuple[Any, Any]]:
    """The events of some classes by thread, those of the VM and those of probes."""
    made = emulated(late)
    classes = [
        name
        for name in work.classes
        if native.env.get_class_status(native.find_class(name)) & ClassStatus.INITIALIZED
    ]
    with ExitStack() as stack:
        for vm, env in ((late, made), (native, native.env)):
            for cls in map(vm.find_class, {*work.fields} & {*classes}):
                for field in env.get_class_fields(cls):
                    env.set_field_access_watch(cls, field)
                    env.set_field_modification_watch(cls, field)
        wanted: dict[str, Any] = {"classes": classes, "policy": "wait"}
        probed = stack.enter_context(made.stream([*EVENTS, "SingleStep"], **wanted))
        assert set(probed.emulated) == {*EVENTS, "SingleStep"}, probed.emulated
        stack.enter_context(Lines(native, classes, locating(late)))
        events = stack.enter_context(native.env.stream([*EVENTS, "Breakpoint"], **wanted))
        assert not events.emulated
        found = read_while([events, probed], work.run)
    return by_thread(found, work.threads)


def read_while(streams: Sequence[Any], run: Callable[[], object]) -> list[list[Any]]:
    """What each stream records while a program runs; it waits for those who read."""
    found: list[list[Any]] = [[] for _ in streams]
    done = threading.Event()

    def read(stream: Any, to: list[Any]) -> None:
        while not done.is_set():
            to.append(stream.read(0.1))
        to.append(stream.read(0))

    readers = [threading.Thread(target=read, args=one) for one in zip(streams, found, strict=True)]
    for reader in readers:
        reader.start()
    run()
    time.sleep(1)  # for threads that end behind the answer
    done.set()
    for reader in readers:
        reader.join()
    assert not any(stream.dropped for stream in streams)
    return found


def by_thread(found: list[list[Any]], threads: str) -> dict[str, tuple[Any, Any]]:
    """The rows of each thread, of both."""
    names = {"SingleStep": "Line", "Breakpoint": "Line"}
    both: dict[str, tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for number, blocks in enumerate(found):
        for block in blocks:
            for thread, kind, *more in rows_of(block, ("thread", *COLUMNS)):
                if re.fullmatch(threads, thread or ""):
                    both[thread][number].append((names.get(kind, kind), *more))
    return {name: (without_ours(native), late) for name, (native, late) in both.items()}


def without_ours(rows: list[Row]) -> list[Row]:
    """The VM's rows without the catches of the probes' own handlers, which throw again at once."""
    kinds = itertools.pairwise([*rows, ("", "")])
    return [
        one
        for one, after in kinds
        if not (one[0] == "ExceptionCatch" and after[0] == "MethodExit" and after[8])
        or one[1:4] != after[1:4]
    ]


class Thrown(NamedTuple):
    """An exception."""

    pool: str
    """The name of its thread, without what Spark adds for each task."""
    identity: int
    kind: str


Place = tuple[str, str, int]
"""Class, method and line; empty for an exception without a trace of its stack."""


def pool_of(thread: str | None) -> str:
    """What a thread's name says of its pool."""
    return re.sub(r"(Executor task) (idle|launch) (worker).*", r"\1 \3", thread or "")


def excepted(native: jvmti.VM, late: jvmti.VM, work: Work) -> tuple[list[Any], list[Any]]:
    """Exceptions that the VM says were thrown, with the place that they themselves say they were
    made at, and those that probes say were made, each in their order.

    The VM must have entered a constructor of Throwable for each of the latter.
    """
    made: list[tuple[Thrown, Place]] = []
    thrown: dict[Thrown, Place] = {}
    jni = native.jni
    throwable = jni.find_class("java/lang/Throwable")
    trace = jni.get_method_id(throwable, "getStackTrace", "()[Ljava/lang/StackTraceElement;")
    element = jni.find_class("java/lang/StackTraceElement")
    getters = {
        name: jni.get_method_id(element, name, f"(){of}")
        for name, of in (
            ("getClassName", "Ljava/lang/String;"),
            ("getMethodName", "Ljava/lang/String;"),
            ("getLineNumber", "I"),
        )
    }

    def described(vm: jvmti.VM, event: Any) -> Thrown:
        kind = vm.env.get_class_signature(vm.jni.get_object_class(event.exception)).signature
        identity = vm.env.get_object_hash_code(event.exception)
        return Thrown(pool_of(event.thread.name), identity, kind)

    def note_made(event: Any) -> None:
        if re.fullmatch(work.threads, event.thread.name):
            method = event.method
            line = line_of(late.env, method, event.location)
            made.append((described(late, event), (method.class_name, method.name, line)))

    def note_thrown(event: Any) -> None:
        if not re.fullmatch(work.threads, event.thread.name):
            return
        one, place = described(native, event), ("", "", 0)
        frames = jni.call_object_method(event.exception, trace)
        if one not in thrown and jni.get_array_length(frames):
            top = jni.get_object_array_element(frames, 0)
            owner, name = (
                str(jni.call_object_method(top, getters[one]))
                for one in ("getClassName", "getMethodName")
            )
            place = (owner, name, jni.call_int_method(top, getters["getLineNumber"]))
        thrown.setdefault(one, place)

    with (
        emulated(late).on("Exception", note_made),
        native.env.on("Exception", note_thrown),
        native.env.stream(
            "MethodEntry", classes="java.lang.Throwable", methods="<init>", policy="wait"
        ) as constructors,
    ):
        [blocks] = read_while([constructors], work.run)
    for vm in (native, late):
        assert vm.handler_errors == [], vm.handler_errors
    entered = Counter(
        pool_of(thread)
        for block in blocks
        for thread in block["thread"][:]
        if re.fullmatch(work.threads, thread or "")
    )
    begun = Counter(one.pool for one, _ in made)
    assert entered == begun, (entered, begun)
    return list(thrown.items()), made


def line_of(env: Any, method: Any, location: int) -> int:
    """The line of a location, as the trace of a stack has it."""
    try:
        table = env.get_line_number_table(method)
    except jvmti.errors.AbsentInformation:
        return -1
    except jvmti.errors.NativeMethod:
        return -2
    before = [one for one in table if one.start_location <= location]
    return int(max(before, key=lambda one: one.start_location).line_number)


def exceptions_compared(work: Work, thrown: list[Any], made: list[Any]) -> tuple[bool, str]:
    """Whether each exception that was thrown was made where it says, and what was the same."""
    places = dict(made)
    other = [
        (one, place, places.get(one))
        for one, place in thrown
        if one not in places or (place[0] and places[one] != place)
    ]
    bare = sum(not place[0] for _, place in thrown)
    said = (
        f"{len(made):,} exceptions made, each with a constructor of Throwable that the VM entered; "
        f"{len(thrown):,} thrown, {len(thrown) - bare - len(other):,} of them with a trace that "
        f"begins where they were made, {bare:,} without a trace"
    )
    excused = [f"{one.kind} {work.excused.get(one.kind)}: {places}" for one, *places in other]
    return all(one.kind in work.excused for one, *_ in other), "\n".join([said, *excused[:20]])


def main() -> int:
    """Compare, and say what was the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvms", default="11,17,21,25")
    parser.add_argument("--only", default="h2,spark")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--drive", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        drive(given.drive)
        return 0
    failed = 0
    for version in given.jvms.split(","):
        for name in given.only.split(","):
            with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
                started = JavaPrograms(jvms.named(version), Path(folder))
                stack.callback(started.close)
                began = time.monotonic()
                work = PROGRAMS[name](started, given.threads)
                work.run()
                native = stack.enter_context(jvmti.attach(work.pid, capabilities="all", timeout=60))
                late = stack.enter_context(
                    jvmti.attach(
                        work.pid, capabilities={"can_get_line_numbers"}, timeout=60, emulate=True
                    )
                )
                native.timeout = late.timeout = 600
                good, said = exceptions_compared(work, *excepted(native, late, work))
                failed |= not good
                print(f"{version}, {name}: {said}", flush=True)
                both = streamed(native, late, work)
                for thread, (one, other) in sorted(both.items()):
                    if one != other:
                        failed = 1
                        said = first_difference(one, other)
                    else:
                        kinds = Counter(row[0] for row in one)
                        said = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
                    print(f"{version}, {name}, {thread}: {len(one):,}, {said}", flush=True)
                print(f"{time.monotonic() - began:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
