"""Probes at every kind of place, in a program that runs: what they hand over and change."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

import compiler
import jvms
from jvmti.classfile import ClassFile, MalformedClassFile
from jvmti.instrumentation import BadProbe, Instrumenter, Probe, instrument
from jvmti.instrumentation.archives import instrument_file
from jvmti.interface.errors import Error
from jvmti.layouts.probes import Site
from jvmti.model.debug.late.stop_probes import stop_probe
from jvmti.tracing.call_probes import RecordShape, call_probes
from jvmti.tracing.summaries import Grouping

HOOK = "Probed$Hook"
SOURCE = (Path(__file__).parents[1] / "java" / "Probed.java").read_text().splitlines()
THROWS = next(number for number, line in enumerate(SOURCE, 1) if "throw new IOException" in line)
OUTPUT = [
    "added 40 42",
    "[0, 1, 4, 9]",
    "ada!",
    f"failed: no key in line {THROWS}",
    "onesevenmany3",
    "count 1",
]
"""What the program prints without any probe."""


class Run:
    """Runs the program with probes."""

    def __init__(self, jvm: jvms.Jvm, folder: Path) -> None:
        self.jvm = jvm
        self.folder = folder

    def __call__(self, *probes: str, arguments: tuple[str, ...] = ()) -> list[str]:
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        summary = instrument_file(compiler.classes("Probed"), out, probes)
        assert summary.sites
        assert not summary.unreadable
        # What is not of the JDK is verified anyway.
        command = [self.jvm.java, *jvms.QUICK, "-cp", out, "Probed", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()


@pytest.fixture
def run(jvm: jvms.Jvm, tmp_path: Path) -> Run:
    return Run(jvm, tmp_path)


def reported(lines: list[str]) -> list[str]:
    """What the hook printed, where the program printed what it always does."""
    assert [line for line in lines if not line.startswith("> ")] == OUTPUT
    return [line[2:] for line in lines if line.startswith("> ")]


def test_an_entry_hands_over_the_object_and_the_arguments(run: Run) -> None:
    lines = run(f"entry Probed.add -> {HOOK}.say(String method, Object this, Object[] args)")
    assert reported(lines) == [
        "Probed.add a Probed [2, 10, 0.5]",
        "Probed.add a Probed [1, 1, 0.25]",
    ]


def test_a_static_method_has_no_object(run: Run) -> None:
    lines = run(
        f"entry Probed.described -> {HOOK}.say(String descriptor, Object this, Object arg0)"
    )
    assert reported(lines) == [f"(I)Ljava/lang/String; null {kind}" for kind in (1, 7, 3)]


def test_a_constructor_begins_without_an_object_and_ends_with_one(run: Run) -> None:
    lines = run(
        f'entry Probed.<init> -> {HOOK}.say(String "in", Object this, Object arg1)',
        f'return Probed.<init> -> {HOOK}.say(String "out", Object this, Object arg0)',
    )
    assert reported(lines) == ["in null false", "out a Probed ada"]


def test_a_return_hands_over_its_value_and_what_was_passed_at_first(run: Run) -> None:
    lines = run(
        f'return Probed.add -> {HOOK}.say(String "object", Object arg0, Object value)',
        f'return Probed.add -> {HOOK}.say(String "long", long value)',
        f'return Probed.add -> {HOOK}.say(String "double", double value)',
    )
    assert reported(lines) == [
        *("object 2 40", "long 40", "double 40.0"),
        *("object 1 42", "long 42", "double 42.0"),
    ]


def test_nothing_is_returned_by_a_method_that_returns_nothing(run: Run) -> None:
    lines = run(f'return Probed.nothing -> {HOOK}.say(String "left", Object value)')
    assert reported(lines) == ["left null"]


def test_a_value_that_an_entry_keeps_is_passed_to_the_others_of_its_call(run: Run) -> None:
    lines = run(
        f'entry Probed.depth -> mine = {HOOK}.now(String "entry")',
        f'return Probed.depth -> {HOOK}.say(String "left", long mine)',
    )
    assert reported(lines) == [
        *(f"entry keeps {number}" for number in (100, 101, 102, 103)),
        *(f"left {number}" for number in (103, 102, 101, 100)),
    ]


def test_an_exception_is_seen_where_it_is_thrown_leaves_and_is_caught(run: Run) -> None:
    lines = run(
        f'entry Probed.guarded -> mine = {HOOK}.now(String "entry")',
        f'throw Probed.* -> {HOOK}.say(String "thrown", Throwable value)',
        f'unwind Probed.guarded -> {HOOK}.say(String "unwound", Object arg0, Object value)',
        f'unwind Probed.guarded -> {HOOK}.say(String "kept", long mine)',
        f'catch java.io.IOException in Probed.* -> {HOOK}.say(String "caught", Throwable value)',
        f'catch java.lang.Error in Probed.* -> {HOOK}.say(String "never", Throwable value)',
        f'unwind Probed.main -> {HOOK}.say(String "never", Throwable value)',
    )
    failed = "java.io.IOException: no key"
    assert reported(lines) == [
        "entry keeps 100",
        "entry keeps 101",
        f"thrown {failed}",
        f"thrown {failed}",  # once more behind the monitor's end
        f"unwound null {failed}",
        "kept 101",
        f"caught {failed}",
    ]


def test_lines_are_those_of_the_source(run: Run) -> None:
    first = next(n for n, line in enumerate(SOURCE, 1) if "int[] squares(int most)" in line)
    lines = run(f'line Probed.squares -> {HOOK}.say(String "line", int line)')
    reached = [int(one.split()[1]) - first for one in reported(lines)]
    assert reached == [1, 2, *[3, 2] * 4, 5]
    lines = run(f'line Probed.squares:{first + 3} -> {HOOK}.say(String "line", int local.i)')
    assert reported(lines) == [f"line {i}" for i in range(4)]


def test_a_bytecode_index_is_one_place(run: Run) -> None:
    lines = run(f'index Probed.nothing@3 -> {HOOK}.say(String "here")')
    assert reported(lines) == ["here"]


def test_fields_are_seen_when_they_are_read_and_written(run: Run) -> None:
    lines = run(
        "read Probed.total in Probed.add -> "
        f'{HOOK}.say(String "read", Object target, Object value)',
        f"write Probed.total in *.* -> {HOOK}.say(String member, Object target, Object value)",
        f'write Probed.count in *.* -> {HOOK}.say(String "count", int value)',
    )
    assert reported(lines) == [
        *("read a Probed 0", "Probed.total a Probed 40", "read a Probed 40"),
        *("read a Probed 40", "Probed.total a Probed 42", "read a Probed 42"),
        "count 1",
    ]


def test_calls_are_seen_before_and_after(run: Run) -> None:
    lines = run(
        "call java.util.Arrays.toString in Probed.* -> "
        f"{HOOK}.say(String member, Object target, Object[] passed)",
        "called Probed.guarded in Probed.* -> "
        f'{HOOK}.say(String "gave", Object value, Object passed0)',
    )
    assert reported(lines) == ["java.util.Arrays.toString null [[0, 1, 4, 9]]", "gave ada! !"]


def test_objects_and_arrays_are_seen_when_they_are_made(run: Run) -> None:
    lines = run(
        f"new Probed in *.* -> {HOOK}.say(String member, Object value)",
        f'new java.io.* in *.* -> {HOOK}.say(String "made", Object value)',
        f'new int[] in *.* -> {HOOK}.say(String "array", Object value)',
    )
    assert reported(lines) == [
        "Probed.<init> a Probed",
        "array [0, 0, 0, 0]",
        "made java.io.IOException: no key",
    ]


def test_monitors_are_seen_with_their_objects(run: Run) -> None:
    lines = run(
        f'monitor-enter Probed.guarded -> {HOOK}.say(String "in")',
        f'monitor-exit Probed.guarded -> {HOOK}.say(String "out")',
    )
    assert reported(lines) == ["in", "out", "in", "out"]


def test_values_are_replaced(run: Run) -> None:
    lines = run(
        f"return Probed.add -> value = long {HOOK}.instead(long value)",
        f"return Probed.guarded -> value = Object {HOOK}.instead(Object value)",
    )
    changed = {0: "added -40 -42", 2: "ada!?"}
    assert lines == [changed.get(number, line) for number, line in enumerate(OUTPUT)]


def test_several_probes_at_one_place_come_in_order(run: Run) -> None:
    lines = run(*(f'entry Probed.nothing -> {HOOK}.say(String "{n}")' for n in range(5)))
    assert reported(lines) == [str(n) for n in range(5)]


# Bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("entry com.acme.Order.add", "has no '->'"),
        ("enter a.B.c -> x.Y.z()", "or 'entry'?"),
        ("entry Order -> x.Y.z()", "is not CLASS.MEMBER"),
        ("entry a.B.c -> z()", "names no class"),
        ("entry a.B.c -> x.Y.z", "is not a call"),
        ("entry a.B.c -> x.Y.z(this)", "is not TYPE WHAT"),
        ("entry a.B.c -> x.Y.z(integer line)", "is not a type of an argument"),
        ("entry a.B.c -> x.Y.z(int this)", "is passed as Object, not as int"),
        ("entry a.B.c -> x.Y.z(Object value)", "there is no 'value' at a entry"),
        ("return a.B.c -> x.Y.z(Throwable value)", "there is one at"),
        ("entry a.B.c -> x.Y.z(Object target)", "there is no 'target'"),
        ("line a.B.c:x -> x.Y.z()", "'x' after ':' is not a number"),
        ("call in a.B.c -> x.Y.z()", "does not say which"),
        ("return a.B.c -> mine = x.Y.z()", "only an entry can keep"),
        ("entry a.B.c -> value = int x.Y.z()", "has no value to replace"),
        ("entry a.B.c -> x.Y.z(int 5000000000)", "does not fit int"),
    ],
)
def test_a_probe_that_makes_no_sense_says_what_is_expected(text: str, message: str) -> None:
    with pytest.raises(BadProbe) as failed:
        Probe.parse(text)
    assert message in str(failed.value)


def test_a_value_that_no_entry_keeps_cannot_be_passed() -> None:
    with pytest.raises(BadProbe, match="no entry keeps it"):
        Instrumenter(["return a.B.c -> x.Y.z(long started)"])


def test_what_is_no_class_file_is_refused() -> None:
    for data in (b"", b"\xca\xfe\xba\xbe", b"PK\3\4" * 20):
        with pytest.raises(MalformedClassFile):
            instrument(data, f"entry *.* -> {HOOK}.say()")


def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match="a class file is bytes, not str"):
        instrument("Probed.class", "entry *.* -> a.B.c()")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="probes are a list of Probe or text, not int"):
        instrument(b"", 7)  # type: ignore[arg-type]


def test_a_class_without_a_place_stays_as_it_is() -> None:
    data = (compiler.classes("Probed") / "Probed.class").read_bytes()
    made = instrument(data, f"entry com.acme.*.* -> {HOOK}.say()")
    assert (made.data, made.is_changed, made.inserted) == (data, False, [])


def test_places_are_named_by_method_and_line() -> None:
    data = (compiler.classes("Probed") / "Probed.class").read_bytes()
    made = instrument(data, [f"return Probed.described -> {HOOK}.say(int site)"])
    methods = ClassFile(data).methods
    assert {methods[one.method].name for one in made.inserted} == {"described"}
    assert len(made.inserted) == 3
    assert all(one.line > 0 for one in made.inserted)


def test_a_probe_without_its_value_is_left_out_and_says_so() -> None:
    data = (compiler.classes("Probed") / "Probed.class").read_bytes()
    made = instrument(data, f"return Probed.nothing -> {HOOK}.say(long value)")
    (omitted,) = made.omitted
    assert "no such value" in omitted.why
    assert not made.is_changed


def padded(data: bytes, constants: int) -> bytes:
    """A class file with so many constants: those in addition are empty texts."""
    sizes = {3: 5, 4: 5, 5: 9, 6: 9, 7: 3, 8: 3, 9: 5, 10: 5, 11: 5, 12: 5, 15: 4, 16: 3, 18: 5}
    there = int.from_bytes(data[8:10])
    at, number = 10, 1
    while number < there:
        tag = data[at]
        at += sizes[tag] if tag != 1 else 3 + int.from_bytes(data[at + 1 : at + 3])
        number += 2 if tag in (5, 6) else 1
    return b"".join(
        [data[:8], constants.to_bytes(2), data[10:at], b"\1\0\0" * (constants - there), data[at:]]
    )


@pytest.mark.newest
def test_sites_have_numbers_where_there_are_more_of_them_than_constants(
    jvm: jvms.Jvm, tmp_path: Path
) -> None:
    shutil.copytree(compiler.classes("Probed"), tmp_path, dirs_exist_ok=True)
    file = tmp_path / "Probed.class"
    probes = [
        f'return Probed.described -> {HOOK}.say(String "site", int site)',
        f'return Probed.described -> {HOOK}.say(String "time", long 9000000000)',
    ]
    made = Instrumenter(probes).instrument(padded(file.read_bytes(), 65_500), first_site=98_303)
    file.write_bytes(made.data)
    command = [jvm.java, "-Xverify:all", "-cp", tmp_path, "Probed"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    said = reported(done.stdout.splitlines())
    assert said[1::2] == ["time 9000000000"] * 3
    assert sorted(said[::2]) == [f"site {number}" for number in (98_303, 98_305, 98_307)]


def test_a_class_that_has_no_space_for_constants_stays_as_it_is(tmp_path: Path) -> None:
    data = padded((compiler.classes("Probed") / "Probed.class").read_bytes(), 65_534)
    (tmp_path / "Probed.class").write_bytes(data)
    probe = f"entry Probed.add -> {HOOK}.say()"
    with pytest.raises(Error, match="no space for the constants of the probes: use fewer"):
        instrument(data, probe)
    summary = instrument_file(tmp_path, tmp_path / "out", [probe])
    ((entry, why),) = summary.unreadable
    assert (entry, summary.changed) == ("Probed.class", 0)
    assert "no space for the constants" in why


def test_four_times_as_many_variables_and_lines_take_little_more_than_four_times_as_long(
    tmp_path: Path,
) -> None:
    counts = (75, 300)
    for count in counts:
        source = tmp_path / f"Tries{count}.java"
        tries = "\n".join(
            f"try {{ sum += text.length(); }} catch (IllegalStateException of{n}) {{ sum = {n}; }} "
            "finally { sum++; }"
            for n in range(count)
        )
        source.write_text(
            f"class Tries{count} {{ static int all(String text) {{ int sum = 0;\n{tries}\n"
            "return sum; } }"
        )
    command = [*compiler.compile_command(11, None), "-g", "-d", str(tmp_path)]
    subprocess.run([*command, *map(str, tmp_path.glob("*.java"))], check=True, capture_output=True)
    stopping = Instrumenter([stop_probe(Site.LINE, None)])
    took = []
    for count in counts:
        data = (tmp_path / f"Tries{count}.class").read_bytes()
        rounds = []
        for _ in range(3):
            began = time.process_time()
            stopping.instrument(data)
            rounds.append(time.process_time() - began)
        took.append(min(rounds))
    # With one search for each variable at each line it was fifty times as long.
    assert took[1] < 20 * took[0], took


def test_numbers_of_old_code_take_turns_in_few_slots() -> None:
    # Each slot for itself takes them from objects, which the verifier must never merge.
    data = bytearray((compiler.classes("Traced") / "Traced.class").read_bytes())
    data[6:8] = (49).to_bytes(2, "big")  # without frames
    probes = call_probes("call *.* in *.*", "started", RecordShape.of(16), by=Grouping.of("method"))
    made = instrument(bytes(data), probes)

    def slots(one: bytes) -> int:
        return max(method.code.max_locals for method in ClassFile(one).methods if method.code)

    assert len(made.inserted) > 50
    assert slots(made.data) - slots(bytes(data)) <= 16


def test_annotations_of_methods_and_of_classes_choose() -> None:
    folder = compiler.classes("Matched")

    def methods(name: str, condition: str) -> set[str]:
        data = (folder / f"Matched${name}.class").read_bytes()
        made = instrument(data, f"entry *.[!<]* {condition} -> {HOOK}.say(String method)")
        return {ClassFile(data).methods[one.method].name for one in made.inserted}

    assert methods("Pages", "annotated *Mapped") == {"applyAsInt"}
    assert methods("Pages", "annotated Matched$Written") == {"written"}
    # The second of two.
    assert methods("Pages", "annotated java.lang.Deprecated") == {"written"}
    assert methods("Pages", "annotated *.Nested") == set()
    assert methods("AllPages", "annotated *Mapped") == {"applyAsInt", "plain"}
    assert methods("AllPages", "extends *.IntUnaryOperator annotated *Mapped")
    assert methods("AllPages", "annotated *Mapped extends *.IntUnaryOperator")
    assert methods("AllPages", "annotated *Mapped extends *.LongUnaryOperator") == set()


def test_in_a_directory_classes_are_chosen_that_are_far_below(tmp_path: Path) -> None:
    folder = compiler.classes("Matched")

    def classes(above: str) -> set[str]:
        out = tmp_path / above.strip("*.")
        probe = f"entry Matched*.apply* extends {above} -> {HOOK}.say(String method)"
        return {
            one.class_name.removeprefix("Matched$")
            for one in instrument_file(folder, out, [probe]).sites
        }

    assert classes("Matched$Middle") == {"Leaf", "OtherLeaf"}
    assert classes("*$Served") == {"Leaf", "OtherLeaf", "Middle", "Base", "Far"}
    assert classes("*.Nothing") == set()
    # A class file alone names what is directly above.
    leaf = (folder / "Matched$Leaf.class").read_bytes()
    for above, is_changed in (("Matched$Middle", True), ("Matched$Base", False)):
        probe = f"entry *.apply* extends {above} -> {HOOK}.say(String method)"
        assert instrument(leaf, probe).is_changed == is_changed


def test_a_class_file_has_no_loader() -> None:
    with pytest.raises(BadProbe, match="'loader shop': a class file has no loader yet"):
        Instrumenter([f"entry *.* loader shop -> {HOOK}.say(String method)"])
