"""Classes, methods and fields of the model, beside what Java's own reflection says of them."""

from __future__ import annotations

import contextlib
import re
import zipfile
from typing import TYPE_CHECKING

import pytest

import jvmti
from classfile.test_class_files import comparable, javap
from jvms import ROOT
from jvmti.classfile import ClassFile, disassemble, disassemble_method
from jvmti.interface.constants import ClassStatus
from jvmti.interface.errors import InvalidClassFormat, UnmodifiableClass
from jvmti.interface.modifiers import ClassModifiers, MethodModifiers
from jvmti.interface.signatures import java_name
from jvmti.sources.source import SourceNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from jvms import Jvm
    from programs import JavaProgram, JavaPrograms

NAMED = (
    "Described$Circle",
    "Described$Base",
    "Described$Shape",
    "Described$Color",
    "Described$Mark",
    "Described",
    "java.util.HashMap",
    "java.util.Map",
    "java.lang.Thread",
    "java.lang.String",
)


@pytest.fixture(scope="module")
def described(shared_java_program: JavaPrograms) -> JavaProgram:
    program = shared_java_program("Described")
    program.expect("ready")
    return program


@pytest.fixture(scope="module")
def vm(described: JavaProgram) -> Iterator[jvmti.VM]:
    with jvmti.attach(described.pid, timeout=30) as attached:
        # What names of modules and loaders are read through is kept by the model.
        attached.classes.to_arrow()
        yield attached
    assert described.running()


@pytest.mark.parametrize("name", NAMED)
def test_a_class_is_what_reflection_says(vm: jvmti.VM, described: JavaProgram, name: str) -> None:
    cls = vm.find_class(name)
    reflected = described.ask(f"class {name}").split(";")
    modifiers, parent, interfaces, loader, package, module, *kinds = reflected
    # The VM tells of ACC_SUPER, too, which means nothing any more.
    assert cls.modifiers & ~ClassModifiers.SUPER == int(modifiers)
    assert (cls.superclass.name if cls.superclass else "none") == parent
    assert ",".join(interface.name for interface in cls.interfaces) == interfaces
    assert (cls.loader.name if cls.loader else "bootstrap") == loader
    assert (cls.package or "") == package
    assert str(cls.module.name).replace("None", "null") == module
    are = [cls.is_interface, cls.is_enum, cls.is_annotation, cls.is_array]
    assert [str(one).lower() for one in are] == kinds
    assert cls.is_public == bool(int(modifiers) & 1)
    assert cls.is_static == bool(int(modifiers) & 8)
    assert cls.status & ClassStatus.PREPARED


@pytest.mark.parametrize("name", NAMED)
def test_methods_are_those_of_reflection(vm: jvmti.VM, described: JavaProgram, name: str) -> None:
    cls = vm.find_class(name)
    file = cls.class_file
    shown = []
    for method in cls.methods:
        if method.name != "<clinit>":
            declared = file.method(method.name, method.signature).exceptions
            thrown = ",".join(java_name(f"L{one};") for one in declared)
            shown.append(f"{method.name}{method.signature} {int(method.modifiers)} {thrown}")
    reflected = described.ask(f"methods {name}").split(";")
    if name.startswith("Described"):
        assert sorted(shown) == sorted(_pieces(reflected))
    else:
        # Reflection keeps some of the JDK's own members to itself.
        assert set(_pieces(reflected)) <= set(shown)


def _pieces(reflected: list[str]) -> list[str]:
    """Descriptors have semicolons, too: a piece ends with modifiers and exceptions."""
    text = ";".join(reflected)
    found = []
    at = 0
    while at < len(text):
        space = text.index(" ", at)
        end = text.index(" ", space + 1)
        stop = text.find(";", end)
        stop = len(text) if stop < 0 else stop
        found.append(text[at:stop])
        at = stop + 1
    return found


@pytest.mark.parametrize("name", NAMED)
def test_fields_are_those_of_reflection(vm: jvmti.VM, described: JavaProgram, name: str) -> None:
    cls = vm.find_class(name)
    shown = {f"{field.name} {field.type} {int(field.modifiers)}" for field in cls.fields}
    reflected = {line.rpartition(" ")[0] for line in _items(described.ask(f"fields {name}"))}
    reflected = {" ".join(line.split()[:3]) for line in reflected}
    if name.startswith("Described"):
        assert shown == reflected
    else:
        assert reflected <= shown
    assert all(field.declaring_class == cls for field in cls.fields)


def _items(line: str) -> list[str]:
    return line.split(";") if line else []


def test_inherited_methods_are_those_that_java_finds(vm: jvmti.VM, described: JavaProgram) -> None:
    cls = vm.find_class("Described$Circle")
    reflected = described.ask("public Described$Circle")
    found = {
        f"{one.name}{one.signature}"
        for one in cls.all_methods
        if one.is_public and not one.is_constructor and not _static_of_interface(one)
    }
    assert found == _signatures(reflected)
    assert "own" not in cls.all_methods
    assert cls.all_methods["peek"].declaring_class.name == "Described$Base"
    names = [field.name for field in cls.all_fields]
    assert {"size", "secret", "SIDES", "parts"} <= set(names)


def _static_of_interface(method: object) -> bool:
    return method.is_static and method.declaring_class.is_interface  # type: ignore[attr-defined]


def _signatures(reflected: str) -> set[str]:
    """Names with descriptors, which have semicolons of their own."""
    found = set()
    rest = reflected
    while rest:
        close = rest.index(")")
        after = close + 1
        while rest[after] == "[":
            after += 1
        end = rest.index(";", after) + 1 if rest[after] == "L" else after + 1
        found.add(rest[:end])
        rest = rest[end:].removeprefix(";")
    return found


def test_a_method_is_found_by_name_types_or_descriptor(vm: jvmti.VM) -> None:
    methods = vm.find_class("Described$Circle").methods
    assert methods["twice()Ljava/lang/Integer;"].result_type == "java.lang.Integer"
    assert methods["put(Object, Object)"].signature == "(Ljava/lang/Object;Ljava/lang/Object;)V"
    assert methods["put(java.lang.Object)"].signature == "(Ljava/lang/Object;)V"
    assert methods["put(String,int...)"].is_varargs
    assert methods["put(Ljava/lang/Object;)V"] == methods["put(Object)"]
    assert methods[0] == next(iter(methods))
    assert len(methods.named("put")) == 3
    assert "answer" in methods
    assert "put(int)" not in methods
    with pytest.raises(KeyError, match=r"3 methods 'put'; say which:(.*\n)*.*put\(.*String, int\["):
        methods["put"]
    with pytest.raises(KeyError, match=r"no method 'put\(int\)', but put\(java.lang"):
        methods["put(int)"]
    with pytest.raises(KeyError, match=r"no method 'answr'; did you mean 'answer'"):
        methods["answr"]
    with pytest.raises(KeyError, match=r"no field 'part'; did you mean 'parts'"):
        vm.find_class("Described$Circle").fields["part"]


def test_members_print_as_javap_declares_them(
    vm: jvmti.VM, jdk: Path, java_classes: Callable[..., Path]
) -> None:
    lines = javap(jdk, [java_classes("Described") / "Described$Circle.class"])
    cls = vm.find_class("Described$Circle")
    theirs = {line.strip().rstrip(";") for line in lines}
    # What is thrown is in the class file only, but where a type variable is thrown.
    own = {str(one) for one in (*cls.methods, *cls.fields)}
    assert own == theirs - {lines[0], lines[1], "}", ""}
    shape = vm.find_class("Described$Shape")
    assert str(shape.methods["describe"]) == "public default java.lang.String describe()"


def test_what_nobody_has_looked_at_yet_prints_its_name(vm: jvmti.VM) -> None:
    cls = vm.jni.find_class("java/util/TreeMap")
    method = vm.jni.get_method_id(cls, "clear", "()V")
    field = vm.jni.get_field_id(cls, "size", "I")
    assert repr(cls) == "<Class java.util.TreeMap>"
    assert repr(method) == "<Method java.util.TreeMap.clear>"
    assert repr(field) == "<Field size>"


def test_a_class_that_was_released_prints_without_its_name(vm: jvmti.VM) -> None:
    cls = vm.jni.find_class("java/util/TreeMap")
    cls.release()
    assert re.fullmatch("<Class [0-9]+>", repr(cls))


def test_modifiers_are_numbers_that_read_as_words(vm: jvmti.VM) -> None:
    base = vm.find_class("Described$Base")
    assert base.modifiers & ClassModifiers.ABSTRACT
    assert str(base.modifiers) == "static abstract"
    peek = base.methods["peek"]
    assert peek.modifiers == MethodModifiers.PROTECTED | MethodModifiers.FINAL | 0x20
    assert (peek.is_final, peek.is_synchronized, peek.is_static) == (True, True, False)
    assert base.fields["secret"].is_transient
    assert base.fields["size"].is_volatile


def test_the_hierarchy_is_known_both_ways(vm: jvmti.VM, described: JavaProgram) -> None:
    circle, base = vm.find_class("Described$Circle"), vm.find_class("Described$Base")
    shape = vm.find_class("Described$Shape")
    assert [one.name for one in circle.superclasses] == ["Described$Base", "java.lang.Object"]
    assert [one.name for one in circle.all_interfaces] == ["Described$Shape"]
    below = {one.name for one in shape.subclasses()}
    assert {"Described$Base", "Described$Circle"} <= below
    direct = {one.name for one in shape.subclasses(direct=True)}
    assert "Described$Base" in direct
    assert "Described$Circle" not in direct
    for one, other in ((circle, base), (base, circle), (circle, shape)):
        reflected = described.ask(f"assignable {one.name} {other.name}")
        assert str(one.is_assignable_to(other)).lower() == reflected


def test_a_field_knows_its_class_whatever_way_it_was_found(vm: jvmti.VM) -> None:
    circle = vm.find_class("Described$Circle")
    inherited = vm.jni.get_field_id(circle, "size", "Ljava/lang/Comparable;")
    assert inherited.name == "size"
    assert inherited.type == "java.lang.Comparable"
    assert inherited.declaring_class.name == "Described$Base"
    assert str(inherited) == "protected volatile T size"
    assert vm.jni.get_static_field_id(circle, "NAME", "Ljava/lang/String;").is_static


def test_nested_classes_know_where_they_are(vm: jvmti.VM, described: JavaProgram) -> None:
    for name in ("Described$Circle", "Described$Circle$1Local", "Described$Circle$1"):
        cls = vm.find_class(name)
        host, enclosing, method = described.ask(f"nest {name}").split(";")
        assert cls.nest_host == host
        assert cls.outer_class is not None
        assert cls.outer_class.name == enclosing
        place = cls.enclosing_method
        assert (place.name if place else "null") == method
    outer = vm.find_class("Described")
    assert outer.outer_class is None
    assert sorted(outer.inner_classes) == described.ask("declared Described").split(";")
    assert "Described$Circle" in outer.nest_members


def test_records_and_sealed_classes_are_known_where_there_are_any(vm: jvmti.VM, jvm: Jvm) -> None:
    if jvm.feature < 21:
        assert not vm.find_class("java.lang.String").is_record
        return
    vm.jni.find_class("java/security/SecureClassLoader$CodeSourceKey")
    key = vm.find_class("java.security.SecureClassLoader$CodeSourceKey")
    assert key.is_record
    assert [(one.name, one.descriptor) for one in key.record_components] == [
        ("cs", "Ljava/security/CodeSource;")
    ]
    permitted = vm.find_class("java.lang.constant.ConstantDesc").permitted_subclasses
    assert {"java.lang.String", "java.lang.Integer"} <= set(permitted)


def test_annotations_are_read_from_a_running_class(vm: jvmti.VM, described: JavaProgram) -> None:
    circle = vm.find_class("Described$Circle")
    mark = circle.annotations[0]
    assert str(mark["number"]) == described.ask("mark")
    mixed = circle.methods["mixed"]
    assert [one.type for one in mixed.annotations] == ["Described$Mark", "java.lang.Deprecated"]
    assert mixed.parameter_annotations[0][0].elements == {"number": 1}
    assert mixed.exceptions == ["java.lang.Exception", "java.io.IOException"]
    assert circle.fields["parts"].annotations[0].type == "Described$Mark"
    assert circle.fields["BIG"].constant_value == 1 << 40
    default = vm.find_class("Described$Mark").methods["ratios"].annotation_default
    assert default == [0.5, 1e10]


def test_the_class_file_of_a_running_class_is_that_of_the_disk(
    vm: jvmti.VM, described: JavaProgram, java_classes: Callable[..., Path]
) -> None:
    file = java_classes("Described") / "Described$Circle.class"
    cls = vm.find_class("Described$Circle")
    running = cls.class_file
    assert isinstance(running, bytes)
    disk = ClassFile(file.read_bytes())
    # The VM has methods in an order of its own, and numbers constants anew.
    assert sorted(_code(running)) == sorted(_code(disk))
    assert cls.disassemble() == disassemble(running)
    # Reading has changed nothing: no version of a method is obsolete, and the class answers.
    method = cls.methods["answer"]
    assert not vm.env.is_method_obsolete(method)
    assert described.ask("answer") == "one"
    mixed = cls.methods["mixed"]
    assert mixed.disassemble() in disassemble(running)
    assert mixed.class_file.code is not None
    assert mixed.bytecodes == mixed.class_file.code.bytecodes
    assert {one.name for one in mixed.local_variables} >= {"key", "wide", "grid", "sum"}
    assert [(one.start_location, one.line_number) for one in mixed.lines] == (
        mixed.class_file.code.lines
    )
    assert cls.methods["nothing"].bytecodes == b""
    assert cls.methods["nothing"].instructions == []


def _code(file: ClassFile) -> list[str]:
    """The methods as text, without the numbers of their constants, and the fields."""
    methods = [disassemble_method(file, method) for method in file.methods]
    fields = [f"{one.modifiers} {one.name} {one.generic_signature}" for one in file.fields]
    # With longer numbers `ldc` becomes `ldc_w` on disk only where there are so many.
    return [re.sub(r"#\d+(,  \d)? +", "# ", text) for text in methods] + fields


def test_classes_of_the_jdk_are_disassembled_as_javap_does(
    vm: jvmti.VM, jdk: Path, tmp_path: Path
) -> None:
    names = [*NAMED[6:], "java.lang.invoke.MethodHandles", "java.util.concurrent.ConcurrentHashMap"]
    names += ["java.lang.Math", "java.lang.Enum", "java.lang.Class", "java.lang.Character"]
    written, own = [], []
    for number, name in enumerate(names):
        file = vm.find_class(name).class_file
        path = tmp_path / f"C{number}.class"
        path.write_bytes(file)
        written.append(path)
        own += comparable(disassemble(file))
    assert own == javap(jdk, written, "-c")
    assert len(own) > 5_000


def test_constants_are_had_without_a_class_file(vm: jvmti.VM) -> None:
    cls = vm.find_class("Described$Circle")
    pool = cls.constant_pool
    assert "circle" in {one.value for one in pool.values() if one.kind == "String"}
    assert set(pool) == set(cls.class_file.constant_pool)


def test_the_methods_of_a_hidden_class_are_disassembled_all_the_same(vm: jvmti.VM) -> None:
    hidden = next(
        cls for cls in vm.classes("Described$Shape*") + vm.classes("Described$*") if cls.is_hidden
    )
    area = next(one for one in hidden.methods if not one.is_constructor)
    assert "Described" in area.disassemble()
    with pytest.raises(UnmodifiableClass, match=r"hidden.*no class file"):
        hidden.class_file  # noqa: B018
    with pytest.raises(UnmodifiableClass, match=r"int\[\] is an array class"):
        vm.find_class("int[]").class_file  # noqa: B018


def test_a_class_is_redefined_and_brought_back(vm: jvmti.VM, described: JavaProgram) -> None:
    cls = vm.find_class("Described$Circle")
    file = cls.class_file
    changed = bytes(file).replace(b"\x01\x00\x03one", b"\x01\x00\x03two")
    assert changed != file
    cls.redefine(changed)
    try:
        assert described.ask("answer") == "two"
        assert b"\x00\x03two" in cls.class_file
        cls.retransform()
        assert described.ask("answer") == "two"
    finally:
        cls.redefine(file)
    assert described.ask("answer") == "one"
    with pytest.raises(TypeError, match="must be bytes, not str"):
        cls.redefine("Circle.class")  # type: ignore[arg-type]
    with pytest.raises(InvalidClassFormat):
        cls.redefine(b"nothing")
    assert not vm.env.get_capabilities()


def test_all_classes_are_listed_with_names_and_loaders(
    vm: jvmti.VM, described: JavaProgram
) -> None:
    table = vm.classes.names()
    assert len(table.names) == len(table.loader_of) == len(table.signatures)
    assert abs(len(table) - len(vm.env.get_loaded_classes())) < 50
    assert table.names == [java_name(signature) for signature in table.signatures]
    by_name = dict(zip(table.names, table.loader_names, strict=True))
    assert by_name["java.util.HashMap"] == "bootstrap"
    assert by_name["Described$Circle"] == "app"
    assert by_name["int[]"] == "bootstrap"
    rows = {row["name"]: row for row in vm.classes.to_arrow().to_pylist()}
    assert len(vm.classes) == pytest.approx(len(table), abs=50)
    circle = rows["Described$Circle"]
    reflected = described.ask("class Described$Circle").split(";")
    assert circle["modifiers"] & ~ClassModifiers.SUPER == int(reflected[0])
    assert (circle["module"], circle["package"]) == (None, None)
    assert rows["java.util.Map"]["is_interface"]
    assert rows["java.util.Map"]["module"] == "java.base"
    assert rows["java.util.Map"]["package"] == "java.util"
    assert rows["java.util.Map"]["is_initialized"]
    some = vm.classes("Described$C*")
    few = some.to_arrow().to_pylist()
    assert [row["name"] for row in few] == [cls.name for cls in some]
    for row in few:
        if row["name"] in ("Described$Circle", "Described$Color"):
            assert row == rows[row["name"]]


def test_names_are_completed(vm: jvmti.VM) -> None:
    assert vm.classes.complete("java.util.HashM")[0] == "java.util.HashMap"
    assert "java.util.HashMap$Node" in vm.classes.complete("java.util.HashM")
    assert "java.util.concurrent.ConcurrentHashMap" in vm.classes.complete("ConcurrentHashM")
    assert vm.classes.complete("Described$Ci", limit=1) == ["Described$Circle"]
    assert vm.classes.complete("no.such.package.") == []
    # Arrays are among them where their classes are loaded.
    arrays = vm.classes.complete("int[")
    assert arrays[0] == "int[]"
    assert all(vm.classes[name].is_array and vm.classes[name].name == name for name in arrays)
    assert "java.lang.String[]" in vm.classes.complete("java.lang.Str")
    assert "java.lang.String[]" in vm.classes.complete("String[")
    assert not [one for one in vm.classes.complete("java.l", 9999, arrays=False) if "[" in one]


def test_a_class_loaded_since_is_completed(vm: jvmti.VM) -> None:
    name = "java.util.IllegalFormatWidthException"
    assert vm.classes.complete("java.util.IllegalFormatWidth") == []
    vm.jni.find_class(name.replace(".", "/"))
    assert vm.classes.complete("java.util.IllegalFormatWidth") == [name]
    assert name in vm.classes


def test_a_misspelt_class_names_near_ones_and_several_name_their_loaders(vm: jvmti.VM) -> None:
    with pytest.raises(LookupError, match=r"similar ones: java.util.HashMap.*loads it"):
        vm.find_class("java.util.HasMap")
    with pytest.raises(LookupError, match=r"similar ones: java.util.HashMap"):
        vm.find_class("Hashmap")
    with pytest.raises(LookupError, match=r"3 class loaders have .*first \(.*vm.classes\("):
        vm.find_class("Described$Twice")
    assert len(vm.classes("Described$Twice")) == 3
    with pytest.raises(TypeError, match="must be text, not int"):
        vm.find_class(7)  # type: ignore[arg-type]


def test_class_loaders_are_counted_with_their_parents(vm: jvmti.VM) -> None:
    found = {one.name.partition(" ")[0]: one for one in vm.class_loaders}
    assert found["bootstrap"].loader is None
    assert found["bootstrap"].classes > 300
    assert found["app"].type == "jdk.internal.loader.ClassLoaders$AppClassLoader"
    assert found["app"].parent == "platform"
    first = found["first"]
    assert (first.type, first.parent) == ("Described$Own", "app")
    assert first.loader is not None
    assert [cls.name for cls in first.loader.classes] == ["Described$Twice"]
    assert first.classes == 1
    assert not first.loader.unnamed_module.is_named


@pytest.mark.parametrize("name", ["java.lang.String", "Described"])
def test_a_module_is_what_java_says(vm: jvmti.VM, described: JavaProgram, name: str) -> None:
    module = vm.find_class(name).module
    assert ";".join(module.packages) == described.ask(f"packages {name}")
    assert ";".join(module.exports) == described.ask(f"exports {name}")
    assert ";".join(module.opens) == described.ask(f"opens {name}")
    reads = sorted(other.name or "" for other in module.reads)
    # Modules that Java makes for proxies are in no layer.
    layered = [one for one in reads if not one.startswith("jdk.proxy")]
    assert ";".join(layered) == described.ask(f"reads {name}")


def test_modules_are_found_by_name(vm: jvmti.VM) -> None:
    base = vm.modules["java.base"]
    assert base.exports_to("java.util", vm.find_class("Described").module)
    assert not base.exports_to("jdk.internal.misc", vm.find_class("Described").module)
    assert base.loader is None
    assert "java.base" in vm.modules
    with pytest.raises(KeyError, match=r"no module 'java.bse'; did you mean 'java.base'"):
        vm.modules["java.bse"]


def test_source_is_found_in_directories_and_archives(
    vm: jvmti.VM, tmp_path: Path, described: JavaProgram
) -> None:
    text = (described_source()).read_text()
    circle = vm.find_class("Described$Circle")
    with pytest.raises(SourceNotFound, match=r"Described.java.*source_path.append"):
        circle.source  # noqa: B018
    with zipfile.ZipFile(tmp_path / "app-sources.jar", "w") as archive:
        archive.writestr("Described.java", text)
        archive.writestr("some.module/java/util/HashMap.java", "class HashMap {\n}\n")
    for place in (described_source().parent, tmp_path / "app-sources.jar"):
        with looking_in(vm, place):
            assert circle.source.text == text
            lines = circle.methods["answer"].source
            assert lines.lines[0].strip() == "static String answer() {"
            assert lines.lines[-1].strip() == "}"
            assert len(lines.lines) == 3
            constructor = circle.methods["<init>"].source
            assert constructor.lines[0].strip() == "Circle(int size) {"
            number = lines.first + 1
            around = vm.source_path.around("Described$Circle", None, number, 1)
            assert around.line(number).strip() == 'return "one";'
            assert f"> {number}" in str(around)
            with pytest.raises(
                SourceNotFound, match="no line numbers for Described.Circle.nothing"
            ):
                circle.methods["nothing"].source  # noqa: B018
    with looking_in(vm, tmp_path / "app-sources.jar"):
        assert vm.find_class("java.util.HashMap").source.text == "class HashMap {\n}\n"
    with looking_in(vm, tmp_path), pytest.raises(SourceNotFound) as missing:
        circle.source  # noqa: B018
    assert str(tmp_path) in missing.value.searched


def described_source() -> Path:
    from compiler import source

    return source("Described").path


@contextlib.contextmanager
def looking_in(vm: jvmti.VM, place: Path) -> Iterator[None]:
    vm.source_path.append(place)
    try:
        yield
    finally:
        vm.source_path.remove(place)


def test_the_examples_of_the_page_show_what_it_says(
    vm: jvmti.VM, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "classes.md").read_text()
    examples = re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", page, re.S)
    assert len(examples) == 7
    names = {"vm": vm, "sources": described_source().parent}
    vm.find_class("java.util.concurrent.ConcurrentHashMap")
    for code, shown in examples:
        exec(code, names)
        printed = capsys.readouterr().out
        if "java.util.concurrent.*Map" in code:
            # Which classes are loaded, and their order, differs among releases.
            assert set(shown.splitlines()) <= set(printed.splitlines())
        elif shown:
            assert printed == shown
        else:
            assert 'return "one";' in printed
