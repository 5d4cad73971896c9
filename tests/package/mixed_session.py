"""A session on a program that nobody here wrote: a look at everything, checked for sense.

What comes back is counted and compared with itself: a line begins inside of its method, a
constant pool has as many entries as it says, a field can be read from the objects of its class.
The program goes on meanwhile, so classes may go and threads may end between two looks; what that
gives are the errors that the specification has for it, and nothing else.
"""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy

from jvmti.interface.constants import ClassStatus
from jvmti.interface.errors import ErrorCode

if TYPE_CHECKING:
    import jvmti
    from jvmti.wire.columns import Columns

CAPABILITIES = {
    "can_get_bytecodes",
    "can_get_constant_pool",
    "can_get_line_numbers",
    "can_get_source_file_name",
    "can_tag_objects",
}
STATIC = 0x0008

#: Bytes after the tag of each kind of entry in a constant pool; text (1) says its own length.
ENTRIES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4,
           18: 4, 19: 2, 20: 2}  # fmt: skip


@dataclass
class Seen:
    """How much a session has seen."""

    threads: int = 0
    frames: int = 0
    classes: int = 0
    methods: int = 0
    lines: int = 0
    constants: int = 0
    fields: int = 0
    objects: int = 0
    values: int = 0
    texts: int = 0
    #: Rows that had no answer, by the error's name.
    absent: Counter[str] = field(default_factory=Counter)


def look_at_everything(vm: jvmti.VM, most_methods: int = 50_000, most_objects: int = 5_000) -> Seen:
    """Threads, stacks, classes, constant pools, line tables, and fields of live objects."""
    seen = Seen()
    vm.env.add_capabilities(CAPABILITIES)
    look_at_threads(vm, seen)
    loaded = vm.env.map.get_loaded_classes().check().value.items
    signatures = list(vm.env.map.get_class_signature(loaded).check().signature)
    statuses = vm.env.map.get_class_status(loaded).check().value
    assert "Ljava/lang/Object;" in signatures
    seen.classes = len(signatures)
    prepared = loaded.array[statuses & int(ClassStatus.PREPARED) != 0]
    initialized = loaded.array[
        (statuses & int(ClassStatus.INITIALIZED) != 0) & (statuses & int(ClassStatus.ARRAY) == 0)
    ]
    look_at_constant_pools(vm, seen, prepared)
    look_at_methods(vm, seen, prepared, most_methods)
    look_at_objects(vm, seen, initialized, most_objects)
    return seen


def answered(seen: Seen, columns: Columns, *may_lack: str) -> numpy.ndarray[Any, Any]:
    """Which rows have an answer; the others must have one of the errors that may be."""
    for code, count in Counter(columns.status.tolist()).items():
        if code:
            name = ErrorCode(code).name
            assert name in may_lack, f"{count} rows give {name}"
            seen.absent[name] += count
    return numpy.flatnonzero(columns.status == 0)


def look_at_threads(vm: jvmti.VM, seen: Seen) -> None:
    snapshots = vm.threads.snapshot()
    assert snapshots
    seen.threads = len(snapshots)
    for snapshot in snapshots:
        assert snapshot.thread.name is not None
        for frame in snapshot.frames:
            assert frame.method.name
            assert frame.line is None or frame.line >= 0
            seen.frames += 1


def look_at_constant_pools(vm: jvmti.VM, seen: Seen, classes: numpy.ndarray[Any, Any]) -> None:
    pools = vm.env.map.get_constant_pool(classes)
    counts = pools.constant_pool_count.tolist()
    for row in answered(seen, pools, "ABSENT_INFORMATION", "CLASS_NOT_PREPARED"):
        data = bytes(pools.constant_pool_bytes[row])
        seen.constants += constants_in(data, counts[row])


def constants_in(pool: bytes, count: int) -> int:
    """Walk through a constant pool; it must end where its last entry does."""
    at, number, entries = 0, 1, 0
    while number < count:
        tag = pool[at]
        if tag == 1:
            (length,) = struct.unpack_from(">H", pool, at + 1)
            at += 3 + length
        else:
            at += 1 + ENTRIES[tag]
        number += 2 if tag in (5, 6) else 1
        entries += 1
    assert at == len(pool), (at, len(pool), count)
    return entries


def look_at_methods(vm: jvmti.VM, seen: Seen, classes: numpy.ndarray[Any, Any], most: int) -> None:
    env = vm.env.map
    of_classes = env.get_class_methods(classes)
    answered(seen, of_classes, "CLASS_NOT_PREPARED")
    handles = of_classes.value.items.array
    step = max(len(handles) // most, 1)
    methods = handles[::step]
    seen.methods = len(methods)
    absent = ("INVALID_METHODID", "NATIVE_METHOD", "ABSENT_INFORMATION")
    answered(seen, env.get_method_name(methods), *absent)
    tables = env.get_line_number_table(methods)
    codes = env.get_bytecodes(methods)
    answered(seen, codes, *absent)
    lengths = codes.value.lengths
    starts = tables.value.items["start_location"]
    offsets = tables.value.offsets
    for row in answered(seen, tables, *absent):
        begins = starts[offsets[row] : offsets[row + 1]]
        seen.lines += len(begins)
        if len(begins) and codes.status[row] == 0:
            assert 0 <= begins.min() <= begins.max() < lengths[row]


def look_at_objects(vm: jvmti.VM, seen: Seen, classes: numpy.ndarray[Any, Any], most: int) -> None:
    """The objects in static fields, and what is in their own fields."""
    env, jni = vm.env.map, vm.map
    static_fields, owners, signatures = fields_of(vm, seen, classes, static=True)
    references = numpy.array([text[0] in "L[" for text in signatures], bool)
    values = jni.get_static_object_field(owners[references], static_fields[references])
    rows = answered(seen, values, "INVALID_CLASS", "INVALID_FIELDID")
    handles = values.value.array[rows]
    objects = handles[handles != 0][:most]
    if not len(objects):
        return
    seen.objects = len(objects)
    sizes = env.get_object_size(objects).check().value
    assert (sizes >= 8).all()
    answered(seen, env.get_object_hash_code(objects))
    types = jni.get_object_class(objects).check().value

    # Classes that are one have different handles here, so the fields are asked for by name.
    names = list(env.get_class_signature(types).check().signature)
    distinct = {name: row for row, name in enumerate(names) if not name.startswith("[")}
    one_each = types.array[list(distinct.values())]
    instance_fields, owners, kinds = fields_of(vm, seen, one_each, static=False)
    fields: dict[int, list[tuple[int, str]]] = {}
    for handle, owner, kind in zip(instance_fields.tolist(), owners.tolist(), kinds, strict=True):
        fields.setdefault(owner, []).append((handle, kind[0]))
    wanted: dict[str, tuple[list[int], list[int]]] = {}
    for row, owner in zip(distinct.values(), one_each.tolist(), strict=True):
        for handle, kind in fields.get(owner, ()):
            receivers, members = wanted.setdefault(kind, ([], []))
            receivers.append(int(objects[row]))
            members.append(handle)
    readers = {
        "Z": jni.get_boolean_field,
        "B": jni.get_byte_field,
        "C": jni.get_char_field,
        "S": jni.get_short_field,
        "I": jni.get_int_field,
        "J": jni.get_long_field,
        "F": jni.get_float_field,
        "D": jni.get_double_field,
        "L": jni.get_object_field,
        "[": jni.get_object_field,
    }
    for kind, (receivers, members) in wanted.items():
        read = readers[kind](numpy.array(receivers, "<u8"), numpy.array(members, "<u8"))
        seen.values += len(answered(seen, read))
    strings = [row for row, name in enumerate(names) if name == "Ljava/lang/String;"]
    if strings:
        lengths = jni.get_string_length(objects[strings]).check().value
        texts = list(jni.get_string_chars(objects[strings]).check().value)
        # Java counts in units of UTF-16.
        assert [len(text.encode("utf-16-le", "surrogatepass")) // 2 for text in texts] == list(
            lengths
        )
        seen.texts = len(texts)


def fields_of(
    vm: jvmti.VM, seen: Seen, classes: numpy.ndarray[Any, Any], *, static: bool
) -> tuple[numpy.ndarray[Any, Any], numpy.ndarray[Any, Any], list[str]]:
    """The fields of classes: their handles, the class of each, and their signatures."""
    env = vm.env.map
    of_classes = env.get_class_fields(classes)
    answered(seen, of_classes, "CLASS_NOT_PREPARED")
    fields = of_classes.value.items.array
    owners = numpy.repeat(classes, numpy.maximum(of_classes.value.counts, 0))
    seen.fields += len(fields)
    if not len(fields):
        return fields, owners, []
    modifiers = env.get_field_modifiers(owners, fields).check().value
    chosen = (modifiers & STATIC != 0) == static
    fields, owners = fields[chosen], owners[chosen]
    if not len(fields):
        return fields, owners, []
    return fields, owners, list(env.get_field_name(owners, fields).check().signature)
