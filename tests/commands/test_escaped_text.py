"""Text of a target is harmless wherever it is printed: nothing of it reaches a terminal as it is.

A class file has control characters in every name, text and annotation that the format allows; each
thing that it consists of is printed.  Things of a live JVM with such names follow.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import pkgutil
import re
import struct
from typing import TYPE_CHECKING, Any

import pytest

import compiler
import jvms
import jvmti
from jvmti.classfile import ClassFile, disassemble
from jvmti.interface.errors import JavaException
from jvmti.model.classes.sources import Source
from jvmti.text.printable import Lines, PrintableError, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from programs import JavaProgram

pytestmark = pytest.mark.oldest_and_newest

HOSTILE = "\x1b[2J\x07\u202e\u0085"
CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def hostile(data: bytes, names: Collection[bytes] = (), by: str = HOSTILE) -> bytes:
    """A class file whose names and texts begin with `HOSTILE`, but for names of attributes.

    Or only these names, and by another text.
    """
    mark = by.encode()
    count = struct.unpack_from(">H", data, 8)[0]
    out, at, number = [data[:10]], 10, 1
    sizes = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4}
    sizes |= {15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
    while number < count:
        tag = data[at]
        if tag == 1:
            size = struct.unpack_from(">H", data, at + 1)[0]
            text = data[at + 3 : at + 3 + size]
            at += 3 + size
            plain = re.fullmatch(rb"[A-Za-z][\w$/]*", text) and text not in ATTRIBUTES
            if text in names if names else plain:
                text = mark + text
            elif not names and text.startswith((b"L", b"(L", b"[L")):
                text = text.replace(b"L", b"L" + mark, 1)
            out.append(b"\x01" + struct.pack(">H", len(text)) + text)
        else:
            out.append(data[at : at + 1 + sizes[tag]])
            at += 1 + sizes[tag]
            number += tag in (5, 6)
        number += 1
    return b"".join([*out, data[at:]])


ATTRIBUTES = {
    name.encode()
    for name in (
        "Code ConstantValue StackMapTable Exceptions InnerClasses EnclosingMethod Synthetic"
        " Signature SourceFile SourceDebugExtension LineNumberTable LocalVariableTable"
        " LocalVariableTypeTable Deprecated RuntimeVisibleAnnotations AnnotationDefault"
        " RuntimeInvisibleAnnotations RuntimeVisibleParameterAnnotations BootstrapMethods"
        " RuntimeVisibleTypeAnnotations MethodParameters Module NestHost NestMembers Record"
        " PermittedSubclasses Z B C S I J F D V"
    ).split()
}


def check(thing: Any, seen: set[int], depth: int = 0) -> int:
    """Print a thing and all that its public attributes give: how many were printed."""
    if id(thing) in seen or depth > 6 or isinstance(thing, bool | int | float | bytes | None):
        return 0
    seen.add(id(thing))
    printed = 0
    if not isinstance(thing, str):
        for text in (repr(thing), str(thing), f"{thing}"):
            assert not CONTROL.search(text), (type(thing), text[:200])
            printed += 1
        assert "\n" not in repr(thing) or isinstance(thing, Lines), type(thing)
    if isinstance(thing, dict):
        return printed + sum(check(one, seen, depth + 1) for one in thing.values())
    if isinstance(thing, list | tuple | set | frozenset):
        printed += sum(check(one, seen, depth + 1) for one in thing)
    if not type(thing).__module__.startswith("jvmti"):
        return printed
    for name in dir(type(thing)):
        if name.startswith("_") or not hasattr(type(thing), name):
            continue
        if callable(getattr(type(thing), name)):
            continue
        try:
            value = getattr(thing, name)
        except Exception:
            continue
        printed += check(value, seen, depth + 1)
    for name in getattr(thing, "__dataclass_fields__", ()):
        printed += check(getattr(thing, name), seen, depth + 1)
    return printed


@pytest.mark.parametrize("name", ["Described", "Witness"])
def test_nothing_of_a_class_file_is_obeyed(name: str) -> None:
    printed = 0
    for path in sorted(compiler.classes(name).glob("*.class"))[:30]:
        data = path.read_bytes()
        assert not CONTROL.search(repr(ClassFile(data)))
        file = ClassFile(hostile(data))
        assert HOSTILE in file.name
        printed += check(file, set())
        for verbose in (False, True):
            assert not CONTROL.search(disassemble(file, verbose=verbose))
        for one in [*file.fields, *file.methods, *file.constant_pool]:
            printed += check(one, set())
    assert printed > 500


def public_errors() -> list[type[Exception]]:
    """Every exception class of the package."""
    for module in pkgutil.walk_packages(jvmti.__path__, "jvmti."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: list[type[Exception]] = []
    todo = [Exception]
    while todo:
        cls = todo.pop()
        todo += cls.__subclasses__()
        if cls.__module__.startswith("jvmti."):
            found.append(cls)
    return found


def test_messages_of_the_package_s_own_exceptions_are_harmless() -> None:
    """Those that a command raises for itself are about its words, and are written by one place."""
    # Shown by nobody as they are; most of the last ones become an ExpressionError.
    own = {"CommandFailed", "RemoteTraceback", "_Unanswered"}
    own |= {"_Undecided", "Forbidden", "NoSuchCall", "NotAssigned", "NotReadable", "AsksProgram"}
    others = [cls for cls in public_errors() if not issubclass(cls, PrintableError)]
    assert [one for one in others if own.isdisjoint(cls.__name__ for cls in one.__mro__)] == []
    for error in (
        jvmti.errors.InvalidThread(10, "get_thread_info", f"of {HOSTILE}"),
        jvmti.errors.SessionClosed(HOSTILE),
        jvmti.AttachError(f"the JVM {HOSTILE}"),
    ):
        assert not CONTROL.search(str(error))
        assert printable(HOSTILE) in str(error)


SOURCE = jvms.ROOT / "src" / "jvmti"
TEXTS_OF_A_TARGET = re.compile(
    r"\b(cls|method|field|item|place|owner|class_name|method_name|descriptor|signature|shown|path|"
    r"self\.method|loaders|called|candidates|given)\b(?!\w)"
)
"""What in the code of a message may be text of a target."""
OF_OUR_OWN = {
    "'constructor' if name == '<init>' else name",
    "type(class_file).__name__",
    "type(place).__name__",
    "len(given)",
}


def test_messages_of_builtin_exceptions_escape_what_they_quote() -> None:
    """By ``!r`` or `printable`; a KeyError shows its repr."""
    bare = []
    packages = ("model", "classfile", "heap", "events", "callbacks", "jni", "refs")
    for path in (one for name in packages for one in (SOURCE / name).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            made = isinstance(node, ast.Call) and getattr(builtins, ast.unparse(node.func), None)
            if not (isinstance(made, type) and issubclass(made, Exception)):
                continue
            message = node.args[0] if node.args else node
            if made is KeyError or ast.unparse(message).startswith("printable("):
                continue
            bare += [
                f"{path.name}:{node.lineno}: {ast.unparse(one.value)}"
                for one in ast.walk(message)
                if isinstance(one, ast.FormattedValue)
                and one.conversion != ord("r")
                and TEXTS_OF_A_TARGET.search(ast.unparse(one.value))
                and ast.unparse(one.value) not in OF_OUR_OWN
            ]
    assert bare == []


def test_errors_about_a_class_with_hostile_names_are_harmless(witness: JavaProgram) -> None:
    """Its own names, and those of its members, come in the messages of what is asked wrongly."""
    data = (compiler.classes("Witness") / "Witness$Base.class").read_bytes()
    mark = HOSTILE.replace("[", "")  # which the VM allows in no name
    data = hostile(data, {b"Witness$Base", b"depth", b"name", b"count", b"initialized"}, mark)
    with jvmti.attach(witness.pid, timeout=30) as vm:
        defined = vm.jni.define_class(None, None, data)
        cls = vm.find_class("java.lang.Object")
        assert defined is not None
        assert mark in defined.name
        jni = vm.jni
        jni.get_static_field_id(defined, f"{mark}initialized", "I")  # it is initialised for this
        raised: list[str] = []

        def wrong(ask: Callable[[], Any]) -> None:
            with pytest.raises(Exception) as caught:
                ask()
            raised.append(str(caught.value))

        wrong(lambda: defined["nosuch"])
        wrong(lambda: defined.call("nosuch"))
        wrong(lambda: defined.new(1, 2, 3))
        wrong(lambda: defined.source)
        wrong(lambda: vm.breakpoint(defined, "nosuch"))
        wrong(lambda: vm.breakpoint(defined, line=100_000))
        wrong(lambda: defined.redefine(b"no class file"))
        wrong(lambda: cls.call(HOSTILE))
        wrong(lambda: vm.threads[HOSTILE])
        wrong(lambda: vm.modules[HOSTILE])
        wrong(lambda: vm.find_class(HOSTILE))
        wrong(lambda: vm.properties[HOSTILE])
        for method in defined.methods:
            wrong(lambda method=method: method.breakpoint(line=100_000))
            wrong(lambda method=method: method.call(1, 2, 3, 4, 5))
        for one in raised:
            assert not CONTROL.search(one), one
        assert sum(printable(mark) in one for one in raised) > 5


LINES = [f"int a; // {HOSTILE}", "\treturn 1;"]


def test_nothing_of_a_source_or_an_error_is_obeyed() -> None:
    source = Source(path=f"/src/{HOSTILE}.java", first=1, lines=LINES)
    for text in (repr(source), str(source)):
        assert not CONTROL.search(text)
    assert "\treturn 1;" in str(source)
    assert not CONTROL.search(str(JavaException(None, f"a.{HOSTILE}", f"said {HOSTILE}")))
    shown = Lines(f"a {HOSTILE}\n\tb")
    assert repr(shown) == f"a {printable(HOSTILE)}\n\tb"


def test_nothing_of_a_live_jvm_is_obeyed(witness: JavaProgram) -> None:
    with jvmti.attach(witness.pid, timeout=30) as vm:
        jni = vm.jni
        thread = vm.find_class("java.lang.Thread").new(HOSTILE)
        text = vm.string(HOSTILE)
        map_class = vm.find_class("java.util.HashMap")
        a_map = map_class.new()
        a_map.call("put", HOSTILE, text)
        thrown = vm.find_class("java.lang.IllegalArgumentException").new(HOSTILE)
        builder = vm.find_class("java.lang.StringBuilder").new(HOSTILE)
        array = jni.new_object_array(2, jni.find_class("java/lang/String"), text)
        optional = jni.find_class("java/util/Optional").call("of", HOSTILE)
        vm.find_class("java.lang.System").call("setProperty", "hostile", HOSTILE)
        loader = vm.find_class("java.util.concurrent.locks.ReentrantLock").new()
        for one in (thread, a_map, thrown, builder, array, optional, loader):
            for shown in (repr(one), str(one), getattr(one, "table", str)()):
                assert not CONTROL.search(shown), shown
        assert printable(HOSTILE) in repr(a_map)
        # What text is, is what str() gives of it.
        assert str(text) == HOSTILE
        for many in (vm.threads, vm.threads.snapshot(), vm.modules, vm.properties, vm):
            assert not CONTROL.search(repr(many))
        for one in vm.threads.snapshot():
            assert not CONTROL.search(str(one))
