"""Text of a target is harmless wherever it is printed: nothing of it reaches a terminal as it is.

A class file has control characters in every name, text and annotation that the format allows; each
thing that it consists of is printed.  Things of a live JVM with such names follow.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

import pytest

import compiler
import jvmti
from jvmti.classfile import ClassFile, disassemble
from jvmti.model.sources import Source
from jvmti.spec.errors import JavaException
from jvmti.spec.text import Lines, printable

if TYPE_CHECKING:
    from programs import JavaProgram

HOSTILE = "\x1b[2J\x07\u202e\u0085"
CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def hostile(data: bytes) -> bytes:
    """A class file whose names and texts begin with `HOSTILE`, but for names of attributes."""
    mark = HOSTILE.encode()
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
            if plain:
                text = mark + text
            elif text.startswith((b"L", b"(L", b"[L")):
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
        optional = vm.find_class("java.util.Optional").call("of", HOSTILE)
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
