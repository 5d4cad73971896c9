"""Lets a JVM's verifier look at classes with every kind of probe in them.

    python tests/instrumentation/verification.py 17 [JAR …]

Without jars: all classes of the modules of that JVM.  The classes are loaded, then redefined in
batches whose last definition is another class's: the VM verifies all that come before it, and then
refuses the whole, so none of them ever runs.
"""

from __future__ import annotations

# ruff: noqa: E501  the probes are lines
import argparse
import re
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

sys.path.insert(0, str(Path(__file__).parents[2] / "native/agent/generate"))

from probe_helper import LEAVING, RESTARTING, helper_class, leaving_class, restarting_class

import compiler
import jvms
import jvmti
import programs
from jvmti.classfile import ClassFile, MalformedClassFile
from jvmti.env.structures import ClassDefinition
from jvmti.instrumentation import Instrumented, Instrumenter
from jvmti.instrumentation.library import TOO_LARGE
from jvmti.instrumentation.probes import Operand, Probe
from jvmti.interface.constants import Event
from jvmti.interface.errors import Error, NamesDontMatch
from jvmti.layouts.probes import Operand as Kind
from jvmti.layouts.probes import Site
from jvmti.model.debug.late.probed_events import EVERYWHERE as EVENTS_EVERYWHERE
from jvmti.model.debug.late.stop_probes import stop_probe
from jvmti.model.debug.late.stoppoints import probes_at
from jvmti.tracing.call_probes import HELPER as CALLED
from jvmti.tracing.call_probes import RecordShape, call_probes, recorded
from jvmti.tracing.conditions import EVERYWHERE, compiled
from jvmti.tracing.places import Place, condition_at
from jvmti.tracing.summaries import Grouping

HELPER = "java.lang.Probed"
EVERYTHING: list[str | Probe] = [
    f"entry *.* -> started = {HELPER}.entry(int site, String method, Object this, Object[] args)",
    f"return *.* -> {HELPER}.left(int site, Object value, Object this, Object[] args, long started)",
    f"unwind *.* -> {HELPER}.unwound(int site, Throwable value, Object this, Object[] args, long started)",
    f"throw *.* -> {HELPER}.thrown(int site, Throwable value, Object this)",
    f"catch * in *.* -> {HELPER}.caught(int site, Throwable value, Object this)",
    f"line *.* -> {HELPER}.line(int line, Object this, Object[] args)",
    f"read *.* in *.* -> {HELPER}.read(int site, String member, Object target, Object value)",
    f"write *.* in *.* -> {HELPER}.written(int site, Object this, Object target, Object value)",
    f"call *.* in *.* -> {HELPER}.call(int site, String member, Object target, Object[] passed)",
    f"called *.* in *.* -> {HELPER}.called(int site, Object target, Object value, Object[] passed)",
    f"new * in *.* -> {HELPER}.made(int site, String member, Object value)",
    f"monitor-enter *.* -> {HELPER}.entered(int site, Object target)",
    f"monitor-exit *.* -> {HELPER}.exited(int site, Object target)",
    f"return *.* -> value = Object {HELPER}.same(Object value)",
    f"return *.* -> value = int {HELPER}.same(int value)",
    f"read *.* in *.* -> value = Object {HELPER}.same(Object value)",
    f"called *.* in *.* -> value = long {HELPER}.same(long value)",
]
"""Probes of every kind, with everything that they can be handed."""

_BY = {
    2: Grouping.of("method"),
    3: Grouping.of("value"),
    4: Grouping.of("arg0"),
    5: Grouping.of("class"),
    7: Grouping.of("thread"),
}
RECORDING: list[str | Probe] = [
    probe
    for number, (pattern, condition) in enumerate(
        [
            ("*.*", None),
            ("*.<init>", "arg0 != None and this.value == 1 or thread.name == 'main'"),
            ("*.*", "arg0 > 1.5 or not arg1 == 'a' or this.size == 3 or this.count < 0"),
            ("*.*", "value == None or value > 70000000000"),
            ("*.*", "exception.detailMessage != 'none' and (name == None or n == 1)"),
            ("*.*", "caller in 'java.*' and took > 0.1 and type(this) != 'x'"),
            ("*.<init>", None),
            ("call *.* in *.*", "value != 3 and took > 0.5"),
            ("call *.* in *.*", None),
        ]
    )
    for probe in call_probes(
        pattern,
        f"started {number}",
        RecordShape.of(16),
        by=_BY.get(number),
        condition=condition and compiled(condition),
        stack=number == 1,
        objects=number in (0, 6, 8),
    )
] + [
    probe
    for place in (
        *("write *.* in *.*", "read *.* in *.*", "throw *.*", "catch * in *.*", "new * in *.*"),
        *("called *.* in *.*", "call *.* in *.*", "monitor-enter *.*", "monitor-exit *.*"),
    )
    for probe in Place.of(place).probes(
        recorded(
            (
                *(Operand(Kind.NUMBER, "I", 0), Operand(Kind.SITE, "I")),
                Operand(Kind.NUMBER, "J", 1),
                *(one for one in Place.of(place).words.values() if one.kind is not Kind.ALL_PASSED),
                *(EVERYWHERE["took"], Operand(Kind.THIS, "X", path="class")),
            ),
            RecordShape.of(16, objects=4),
        ),
        [],
        times=True,
    )
]
"""Probes that record, count, and have conditions."""

_THIS, _TARGET, _VALUE = (Operand(kind, "L") for kind in (Kind.THIS, Kind.TARGET, Kind.VALUE))
STOPPING: list[str | Probe] = [
    stop_probe(Site.ENTRY, None),
    stop_probe(Site.ENTRY, "arg0 > 3 or this.count == 1"),
    stop_probe(Site.LINE, None),
    stop_probe(Site.RETURN, None, _VALUE),
    stop_probe(Site.UNWIND, None, _VALUE),
    stop_probe(Site.READ, None, _TARGET, _VALUE),
    stop_probe(Site.WRITE, None, _TARGET, _VALUE),
    stop_probe(Site.THROW, None, _VALUE),
    stop_probe(Site.CATCH, None, _VALUE),
]
"""Probes that stop threads, with all variables, and may leave the method."""

PLACED: list[str | Probe] = [
    probe
    for place, condition in (
        ("call *.* in *.*", None),
        ("called *.* in *.*", "value != 3 and took > 0.5"),
        ("new * in *.*", "this.count == 1"),
        ("monitor-enter *.*", "target != None"),
        ("monitor-exit *.*", None),
    )
    for probe in probes_at(Place.of(place), condition_at(condition, 0, Place.of(place).words))
]
"""The same at the places that have no events of the VM's."""


def _event_probes(*, reports: bool) -> list[str | Probe]:
    """The probes of all events, of all fields too, or the same ones as those of breakpoints."""
    sites = {
        **{event: (place.sites, place.brings) for event, place in EVENTS_EVERYWHERE.items()},
        Event.FIELD_ACCESS: ((Site.READ,), (_TARGET, _VALUE)),
        Event.FIELD_MODIFICATION: ((Site.WRITE,), (_TARGET, _VALUE)),
    }
    return [
        stop_probe(site, None, *brings, event=int(event) if reports else 0)
        for event, (places, brings) in sites.items()
        for site in places
    ]


EVENTS = _event_probes(reports=True)
"""Probes that report events, with all variables where there is room for them."""
_WITH_VARIABLES = _event_probes(reports=False)

PLAIN: list[str | Probe] = [
    f"entry *.* -> {HELPER}.entry(int site)",
    f"return *.* -> {HELPER}.left(int site)",
    f"unwind *.* -> {HELPER}.unwound(int site)",
]
"""What most tools want."""

PROBES = {
    "everything": EVERYTHING,
    "recording": RECORDING,
    "plain": PLAIN,
    "stopping": STOPPING,
    "placed": PLACED,
    "events": EVENTS,
}

BATCH = 100


class Loaded(NamedTuple):
    """A class that the JVM has loaded."""

    cls: Any
    name: str
    data: bytes


@dataclass
class Verified:
    """What came of it.

    Attributes:
        classes: those that the verifier looked at.
        failed: those that it refused, though it takes them as they were.
        left_out: those that could not be asked about, by the reason.
        omitted: probes without a place, by the reason.
        inserted: probes that have one.
        too_large: methods without probes, because they would be too large with them.
        bare: methods whose events have no variables, because they would be too large with those.
    """

    classes: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    omitted: Counter[str] = field(default_factory=Counter)
    inserted: int = 0
    too_large: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.classes:,} classes with {self.inserted:,} probes verified, "
            f"{len(self.failed)} failed; left out: {dict(self.left_out)}; "
            f"probes without a place: {dict(self.omitted)}; "
            f"methods too large for probes: {len(self.too_large)}; "
            f"for variables at events: {len(self.bare)}"
        )

    def add(self, other: Verified) -> None:
        """Count what came of other classes, too."""
        self.classes += other.classes
        self.failed |= other.failed
        self.left_out += other.left_out
        self.omitted += other.omitted
        self.inserted += other.inserted
        self.too_large += other.too_large
        self.bare += other.bare


class Verification:
    """Asks the verifier of one JVM."""

    def __init__(
        self, vm: jvmti.VM, program: programs.JavaProgram, probes: list[str | Probe]
    ) -> None:
        self.vm = vm
        self.env = vm.new_env()
        self.env.add_capabilities({"can_redefine_classes", "can_redefine_any_class"})
        self.program = program
        self.instrumenter = Instrumenter(probes)
        self.with_variables = Instrumenter(_WITH_VARIABLES) if probes is EVENTS else None
        self.end = self.vm.jni.find_class("Loads")
        # The verifier asks whether they are exceptions.
        self.vm.jni.define_class(LEAVING, None, leaving_class())
        self.vm.jni.define_class(RESTARTING, None, restarting_class())
        helper = CALLED.replace(".", "/")
        self.vm.jni.define_class(helper, None, helper_class(helper))

    def ask(self, question: str, file: Path, every: int = 1) -> Iterator[Loaded]:
        """Have classes loaded, and give each so many-th of those."""
        self.program.send(f"{question} {file}")
        self.program.expect(re.compile(r"loaded \d+"), timeout=600)
        jni = self.vm.jni
        field = jni.get_static_field_id(self.end, "loaded", "[Ljava/lang/Class;")
        array = jni.get_static_object_field(self.end, field)
        data = memoryview(file.read_bytes())
        at = 0
        for index in range(jni.get_array_length(array)):
            (length,) = struct.unpack_from(">H", data, at)
            name = bytes(data[at + 2 : at + 2 + length]).decode(errors="replace")
            at += 2 + length
            (size,) = struct.unpack_from(">i", data, at)
            if index % every == 0:
                yield Loaded(
                    jni.get_object_array_element(array, index),
                    name,
                    bytes(data[at + 4 : at + 4 + size]),
                )
            at += 4 + size

    def verify(
        self, loaded: Iterator[Loaded], damage: tuple[bytes, bytes] | None = None
    ) -> Verified:
        """Instrument classes, damage them where asked for, and have them verified."""
        found = Verified()
        batch: list[tuple[Loaded, bytes]] = []
        for one in loaded:
            if not self.env.is_modifiable_class(one.cls):
                found.left_out["not modifiable"] += 1
                continue
            try:
                made = self.instrumenter.instrument(one.data)
            except (Error, MalformedClassFile) as error:
                found.left_out[str(error)] += 1
                print(f"  {one.name}: {error}")
                continue
            for omitted in made.omitted:
                found.omitted[omitted.why] += 1
            found.inserted += len(made.inserted)
            large = too_large(made)
            found.too_large += _named(one, large)
            if self.with_variables is not None:
                full = too_large(self.with_variables.instrument(one.data))
                found.bare += _named(one, full - large)
            batch.append((one, made.data if damage is None else made.data.replace(*damage, 1)))
            if len(batch) == BATCH:
                self._look(batch, found)
                batch = []
        self._look(batch, found)
        return found

    def _look(self, batch: list[tuple[Loaded, bytes]], found: Verified) -> None:
        if not batch:
            return
        wrong = self._refused([(one.cls, data) for one, data in batch])
        if wrong is None:
            found.classes += len(batch)
            return
        if len(batch) > 1:
            half = len(batch) // 2
            self._look(batch[:half], found)
            self._look(batch[half:], found)
            return
        one = batch[0][0]
        if as_it_was := self._refused([(one.cls, one.data)]):
            found.left_out[f"refused as it was: {as_it_was.partition(':')[0]}"] += 1
        else:
            found.failed[one.name] = wrong

    def _refused(self, classes: list[tuple[Any, bytes]]) -> str | None:
        last = ClassDefinition(self.end, OTHER)
        try:
            self.env.redefine_classes(
                [*(ClassDefinition(cls, data) for cls, data in classes), last]
            )
        except NamesDontMatch:
            return None
        except Error as error:
            return f"{type(error).__name__}: {error}"
        raise AssertionError("the VM took another class for this one")


def too_large(made: Instrumented) -> set[int]:
    """The methods, by their positions, that would be too large with probes."""
    return {one.method for one in made.omitted if one.why == TOO_LARGE}


def _named(one: Loaded, methods: set[int]) -> list[str]:
    if not methods:
        return []
    all_methods = ClassFile(one.data).methods
    return [f"{one.name}.{all_methods[number].name}" for number in sorted(methods)]


OTHER = (compiler.classes("Idle") / "Idle.class").read_bytes()
"""No class file for the last of a batch, whatever that is."""


def run(
    jvm: jvms.Jvm,
    jars: list[Path],
    probes: list[str | Probe],
    step: int = 1000,
    first: int = 0,
    most: int | None = None,
    damage: tuple[bytes, bytes] | None = None,
    beside: list[Path] | None = None,
    every: int = 1,
) -> Verified:
    """Verify the classes of jars, or of a JVM's own modules.

    Args:
        jvm: whose verifier.
        jars: the jars; without any the JVM's own modules.
        probes: what to put into all classes.
        step: how many classes are loaded at a time.
        first: of the JVM's modules, the first class.
        most: and the one to end before.
        damage: bytes to replace in what was instrumented, and what with, once in each class.
        beside: jars behind each of those on its class path.
        every: instrument each so many-th of the classes that were loaded.
    """
    with tempfile.TemporaryDirectory() as folder:
        started = programs.JavaPrograms(jvm, Path(folder))
        program = started(
            "Loads",
            jvm_args=[
                *("-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal"),
                *(*jvms.QUICK, "-Xmx1g"),
                # Incubating ones, too, which a program has to ask for.
                *(() if jars else ("--add-modules=ALL-SYSTEM",)),
            ],
        )
        program.expect("ready", timeout=60)
        total = Verified()
        with jvmti.attach(program.pid) as vm:
            asked = Verification(vm, program, probes)
            path = "".join(f":{one}" for one in beside or [])
            questions = [f"jar {jar}{path}" for jar in jars]
            at = first
            while questions or (not jars and (most is None or at < most)):
                question = questions.pop(0) if jars else f"jdk {at} {at + step}"
                at += step
                loaded = list(asked.ask(question, Path(folder) / "loaded", every))
                if not loaded and not jars:
                    break
                one = asked.verify(iter(loaded), damage)
                print(
                    f"{question.partition(':')[0]}: {one.classes:,} verified, {len(one.failed)} failed, left out {dict(one.left_out)}",
                    flush=True,
                )
                for name, why in list(one.failed.items())[:10]:
                    print(f"  {name}: {why}")
                total.add(one)
        started.close()
    return total


def main() -> int:
    """Verify what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jvm", help="11, 17, 21 or 25")
    parser.add_argument(
        "jars", nargs="*", type=Path, help="jars; without any the JVM's own modules"
    )
    parser.add_argument("--probes", choices=PROBES, default="everything")
    parser.add_argument(
        "--from",
        type=int,
        default=0,
        dest="first",
        metavar="N",
        help="leave out the JVM's first N classes",
    )
    parser.add_argument("--most", type=int, metavar="N", help="end before its class N")
    given = parser.parse_args()
    began = time.monotonic()
    found = run(
        jvms.named(given.jvm), given.jars, PROBES[given.probes], first=given.first, most=given.most
    )
    print(f"{found} in {time.monotonic() - began:.0f} s")
    return 1 if found.failed else 0


if __name__ == "__main__":
    sys.exit(main())
