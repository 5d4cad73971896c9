"""Random calls: functions of JVM TI, JNI and the agent with arguments of every quality.

Arguments are made as bytes, past all checks of the Python side, from the declarations: valid
handles, stale ones, those of another session, those of a wrong kind, and garbage.  What would end
or block the VM by its meaning is left out, each with its reason in `EXCLUDED` and `TARGETS`.
"""

from __future__ import annotations

import random
import struct
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jvmti
from jvmti.env.interface import FUNCTIONS
from jvmti.interface import shapes
from jvmti.interface.constants import Event, EventMode
from jvmti.interface.declaration import Declaration, Table
from jvmti.jni.interface import FUNCTIONS as JNI_FUNCTIONS
from jvmti.operations.functions import OPERATIONS
from jvmti.refs import handles
from jvmti.wire.channel import Request
from jvmti.wire.codecs import codec_of
from jvmti.wire.ownership import RELEASE
from jvmti.wire.protocol import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


EXCLUDED = {
    "fatal_error": "ends the VM by its meaning",
    "set_verbose_flag": "the VM would print between the program's answers",
    "exception_describe": "prints a stack for every call and checks nothing",
    "monitor_exit": "would leave the program's own monitors only if it held them; kept balanced "
    "by the fuzzer itself",
    "raw_monitor_enter": "one thread, so never blocked; called with its exit by the fuzzer itself",
    "raw_monitor_wait": "waits for ever for a notification that nobody sends; called with a limit "
    "by the fuzzer itself",
    "monitor_enter": "the program's own monitors would be kept from it",
    "enter_monitor": "the same, and who has one may be suspended",
    "suspend_all_virtual_threads": "stops the carriers' scheduler for everything but the test",
    "add_to_bootstrap_class_loader_search": "a VM-wide class path has no way back",
    "add_to_system_class_loader_search": "a VM-wide class path has no way back",
}
"""Functions that are never called at random, and why."""

ON_ZERO = {
    "set_field_access_watch": "the interpreter-only VM 17 uses an object after the call that tells "
    "of the access, though a collection may have moved it meanwhile; see docs/robustness.md",
    "set_field_modification_watch": "the same with a write",
}
"""What is left out besides on the interpreter-only VM, and why."""

WRITES = (
    "Functions that change, stop or run something in the program get receivers, classes, members "
    "and threads of the prey only, beside stale, foreign and garbage ones."
)
TARGETS: dict[str, str] = {
    **dict.fromkeys(
        (
            "suspend_thread",
            "suspend_thread_list",
            "resume_thread",
            "resume_thread_list",
            "suspend",
            "resume_all_virtual_threads",
            "stop_thread",
            "interrupt_thread",
            "pop_frame",
            "notify_frame_pop",
            "force_early_return_object",
            "force_early_return_int",
            "force_early_return_long",
            "force_early_return_float",
            "force_early_return_double",
            "force_early_return_void",
            "set_local_object",
            "set_local_int",
            "set_local_long",
            "set_local_float",
            "set_local_double",
            "set_event_notification_mode",
            "run_agent_thread",
            "step_thread",
        ),
        "stops or changes a thread",
    ),
    **dict.fromkeys(
        (
            "set_breakpoint",
            "clear_breakpoint",
            "install_breakpoint",
            "redefine_classes",
            "retransform_classes",
        ),
        "changes code, for the whole VM",
    ),
    **dict.fromkeys(
        ("register_natives", "unregister_natives", "define_class", "alloc_object"),
        "changes or makes instances of a class",
    ),
}

HEAVY = {
    "force_garbage_collection": 0.02,
    "get_loaded_classes": 0.05,
    "get_all_modules": 0.1,
    "get_classloader_classes": 0.1,
    "get_class_loader_classes": 0.1,
    "get_all_stack_traces": 0.2,
    "get_objects_with_tags": 0.3,
    "generate_events": 0.1,
    "retransform_classes": 0.05,
    "redefine_classes": 0.05,
    "new_env": 0.05,
    "dispose_environment": 0.05,
    "relinquish_capabilities": 0.1,
    "set_event_notification_mode": 0.2,
    "set_heap_sampling_interval": 0.1,
    "get_all_threads": 0.3,
    "define_class": 0.1,
    "stop_thread": 0.3,
    "set_native_method_prefix": 0.1,
    "set_native_method_prefixes": 0.1,
}
"""How much less often than others a function is called: expensive, or slowing all the others."""

_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_ENTRY = struct.Struct("<HII")
_RESULT = struct.Struct("<HBI")
_RELEASE = struct.Struct("<QI")

_JNI_WRITES = ("set_", "call_", "new_object", "release_", "throw")
_EDGES = [0, 1, -1, 2, 3, 7, 127, 255, 65535, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
_LENGTHS = [-1, 0, 1, 2, 10, 1000, 2**31 - 1]
_SIZES = [0, 1, 16, 64, 4096, -1, 2**62, 2**63 - 1, -(2**63)]
_TEXTS = [
    "", "a", "Steady", "Steady$Prey", "LSteady$Prey;", "java/lang/Object", "java/lang/String",
    "[I", "[[Ljava/lang/String;", "I", "()V", "(I)I", "(J)I", "missing", "staticMissing", "<init>",
    "<clinit>", "anInt", "staticInt", "java.version", "no.such.property", "getpid", "nobody",
    "/nowhere.jar", "x" * 300, "(" * 70000, "\u00e9\u4e2d\U0001f600", "[" * 300 + "I",
]  # fmt: skip


def modified(text: str) -> bytes:
    from jvmti.text import modified_utf8

    return modified_utf8.encode(text)


class NumbersOnly:
    """Stands where a codec expects a session, and leaves handles as numbers."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def wrap(self, handle: int) -> int:
        self.seen.append(handle)
        return handle

    def wrap_all(self, handles: Iterable[int]) -> list[int]:
        return [self.wrap(handle) for handle in handles if handle]

    def stored(self, token: int) -> int:
        return token


@dataclass
class Pools:
    """Handles to draw arguments from, by kind."""

    prey: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    found: dict[int, deque[int]] = field(default_factory=lambda: defaultdict(deque))
    stale: deque[int] = field(default_factory=lambda: deque(maxlen=2000))
    foreign: list[int] = field(default_factory=list)
    environments: list[int] = field(default_factory=lambda: [1])

    def live(self, handle: int) -> bool:
        """Whether a number might name something live that is not the prey's."""
        kind = handle >> 56
        return kind in handles.CLASSES and handle not in self.prey[kind]


class Fuzzer:
    """Sends random calls on one session in batches."""

    def __init__(self, seed: int, keep: Callable[[bytes], None] = lambda payload: None) -> None:
        self.random = random.Random(seed)
        self.keep = keep
        """Gets each frame before it is sent, to have the last one after a crash."""
        self.statuses: Counter[int] = Counter()
        self.by_function: dict[str, Counter[int]] = defaultdict(Counter)
        self.calls = 0
        every: list[Declaration] = [
            *FUNCTIONS.values(), *JNI_FUNCTIONS.values(), *OPERATIONS.values()
        ]  # fmt: skip
        self.functions = [one for one in every if not one.callback and one.name not in EXCLUDED]
        self.never = {one.number for one in every if one.name in EXCLUDED}
        self.weights = [HEAVY.get(one.name, 1.0) for one in self.functions]
        self.targets_only = {
            one.number
            for one in self.functions
            if one.name in TARGETS
            or (one.table is Table.JNI and one.name.startswith(_JNI_WRITES))
            or one.name in ("write_direct_buffer", "write_memory")
        }
        self.numbers = NumbersOnly()
        self.foreign: list[int] = []

    def _leave_out(self, names: Iterable[str]) -> None:
        self.never |= {one.number for one in self.functions if one.name in names}
        self.functions = [one for one in self.functions if one.name not in names]
        self.weights = [HEAVY.get(one.name, 1.0) for one in self.functions]

    # ---- a session ---------------------------------------------------------------------------

    def begin(self, vm: jvmti.VM) -> None:
        """Collect what the prey has, and add all capabilities."""
        self.vm = vm
        self.session = vm._session
        self.session.openings.register(range(1 << 16), self._opened)
        env, jni = vm.env, vm.jni
        if "Zero" in (env.get_system_property("java.vm.name") or ""):
            self._leave_out(ON_ZERO)
        self.pools = Pools(foreign=list(self.foreign))
        env.add_capabilities(env.get_potential_capabilities())
        steady = next(
            cls for cls in env.get_loaded_classes()
            if env.get_class_signature(cls).signature == "LSteady;"
        )  # fmt: skip
        loader = env.get_class_loader(steady)
        prey = next(
            cls for cls in env.get_class_loader_classes(loader)
            if env.get_class_signature(cls).signature == "LSteady$Prey;"
        )  # fmt: skip
        self.kept: list[Any] = [prey, loader]
        spare_id = jni.get_static_field_id(steady, "spare", "LSteady$Spare;")
        spare = jni.get_object_class(jni.get_static_object_field(steady, spare_id))
        self.kept_spare, self.spare = spare, spare._handle
        field_id = jni.get_static_field_id(steady, "prey", "LSteady$Prey;")
        instance = jni.get_static_object_field(steady, field_id)
        self.kept += [instance, *self._prey_threads()]
        for one in env.get_class_methods(prey):
            self.kept.append(one)
        for one in env.get_class_fields(prey):
            self.kept.append(one)
            self._collect_value(prey, instance, one)
        constructor = jni.get_method_id(prey, "<init>", "()V")
        for _ in range(3):
            self.kept.append(jni.new_object(prey, constructor, []))
        self.kept.append(jni.new_weak_global_ref(instance))
        self.kept.append(jni.new_string("prey"))
        self.kept += [env.create_raw_monitor(f"monitor {i}") for i in range(3)]
        self.kept += [env.allocate(size) for size in (0, 1, 64, 4096)]
        throwable = jni.find_class("java/lang/IllegalStateException")
        thrown = jni.new_object(throwable, jni.get_method_id(throwable, "<init>", "()V"), [])
        self.kept += [thrown]
        for one in self.kept:
            if one is not None:
                self.pools.prey[one._handle >> 56].append(one._handle)
        for one in [*env.get_all_threads(), *env.get_top_thread_groups()]:
            self._found(one._handle)
            self.session.ownership._wrappers[one._handle].count = 0

    def _opened(self, number: int, environment: int, payload: bytes) -> bytes:
        """Answer an event that a random call has asked for, mostly with nonsense."""
        return self.random.randbytes(self.random.choice([0, 0, 1, 5, 9, 40]))

    def _prey_threads(self) -> list[Any]:
        env = self.vm.env
        return [
            thread
            for thread in env.get_all_threads()
            if env.get_thread_info(thread).name.startswith("prey-")
        ]

    def _collect_value(self, prey: Any, instance: Any, field_id: Any) -> None:
        env, jni = self.vm.env, self.vm.jni
        signature = env.get_field_name(prey, field_id).signature
        if signature[0] not in "L[":
            return
        if env.get_field_modifiers(prey, field_id) & 8:
            value = jni.get_static_object_field(prey, field_id)
        else:
            value = jni.get_object_field(instance, field_id)
        if value is not None:
            self.kept.append(value)

    def heal(self) -> None:
        """Let everything go that random calls may hold or slow down."""
        env, jni = self.vm.env, self.vm.jni
        env.add_capabilities(env.get_potential_capabilities())
        threads = self._prey_threads()
        for thread in threads:
            try:
                env.resume_thread(thread)
            except jvmti.JvmtiError:
                pass
        for event in Event:
            for thread in (None, *threads):
                try:
                    env.set_event_notification_mode(EventMode.DISABLE, event, thread)
                except jvmti.JvmtiError:
                    pass
        try:
            env.set_heap_sampling_interval(512 * 1024)
        except jvmti.errors.MustPossessCapability:
            pass  # a profile that a random call began has it; it ends with the session
        try:
            while True:
                jni.pop_local_frame(None)
        except jvmti.JvmtiError:
            pass
        jni.exception_clear()

    def end(self) -> None:
        """Remember some handles: in the next session they are those of another."""
        every = [one for kind in self.pools.prey.values() for one in kind]
        every += [one for kind in self.pools.found.values() for one in kind]
        self.foreign = self.random.sample(every, min(len(every), 300))

    # ---- arguments ---------------------------------------------------------------------------

    def _found(self, handle: int) -> None:
        pool = self.pools.found[handle >> 56]
        pool.append(handle)

    def garbage(self) -> int:
        chance = self.random.random()
        if chance < 0.3:
            return self.random.getrandbits(64)
        if chance < 0.6:
            kind = self.random.choice([*handles.CLASSES, 0, 19, 31, 37, 255])
            return kind << 56 | self.random.getrandbits(24) << 32 | self.random.randrange(5000)
        return self.random.choice([0, 1, 2**64 - 1, 2**63, 0x7FFF00000000, 8, 0xFFFFFFFF])

    def handle(self, wanted: int, targets_only: bool) -> int:
        pools, rng = self.pools, self.random
        chance = rng.random()
        number = 0
        if chance < 0.72:
            same = pools.prey[wanted] or pools.prey[handles.Object.KIND]
            if wanted == handles.Object.KIND and rng.random() < 0.6:
                same = pools.prey[rng.choice([*pools.prey])]
            if not targets_only and pools.found[wanted] and rng.random() < 0.5:
                return rng.choice(pools.found[wanted])
            number = rng.choice(same) if same else 0
            return number
        if chance < 0.80:
            number = rng.choice(pools.prey[rng.choice([*pools.prey])] or [0])
            return number
        if chance < 0.85:
            return 0
        if chance < 0.90 and pools.stale:
            number = rng.choice(pools.stale)
        elif chance < 0.94 and pools.foreign:
            number = rng.choice(pools.foreign)
        else:
            number = self.garbage()
        # By chance such a number may name something live; where that does harm it must not.
        return number ^ 0x00AA_AA00_0000_0000 if targets_only and pools.live(number) else number

    def number(self, shape: shapes.Number, name: str, function: str) -> bytes:
        rng = self.random
        code = shape.code
        if code in "fd":
            return struct.pack(f"<{code}", rng.choice([0.0, 1.5, -1.0, 1e38, float("nan")]))
        if code == "?":
            return rng.choice([b"\0", b"\1", b"\1", b"\0", b"\xff"])
        size = struct.calcsize(code)
        if shape.python is not None and rng.random() < 0.85:
            value = int(rng.choice(list(shape.python)))  # type: ignore[call-overload]
        elif name in ("length", "capacity") or function.startswith("new_"):
            value = rng.choice(_LENGTHS)
        elif function == "allocate":
            value = rng.choice(_SIZES)
        elif name in ("max_frame_count", "max_count", "depth", "start_depth", "slot"):
            value = rng.choice([0, 0, 1, 1, 2, 3, 4, 5, 16, -1, 2**31 - 1])
        else:
            value = rng.choice(_EDGES) if rng.random() < 0.6 else rng.randrange(-8, 64)
        return (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def value(self, shape: shapes.Shape, name: str, function: str, targets: bool) -> bytes:
        rng = self.random
        match shape:
            case shapes.Number():
                return self.number(shape, name, function)
            case shapes.Reference(python):
                handle = self.handle(python.KIND, targets)
                if function == "define_class" and handle == 0:
                    handle = self.garbage() | 1  # the VM believes class files of its own loader
                return _U64.pack(handle)
            case shapes.Text():
                chance = rng.random()
                if chance < 0.03:
                    return b"\xff\xff\xff\xff"
                data = modified(rng.choice(_TEXTS)) if chance < 0.9 else rng.randbytes(20)
                end = b"\0" if chance < 0.97 else b"x"
                length = len(data) if chance < 0.98 else rng.choice([-2, 2**31 - 1, 5])
                return struct.pack("<i", length) + data + end
            case shapes.Unicode():
                data = rng.choice(_TEXTS).encode("utf-16-le")
                return _U32.pack(len(data)) + data
            case shapes.Bytes() | shapes.ElementBlock():
                data = rng.randbytes(rng.choice([0, 1, 3, 5, 5, 10, 20, 40, 40, 64]))
                if function in ("define_class",) and rng.random() < 0.7:
                    data = self.class_bytes()
                length = len(data) if rng.random() < 0.97 else rng.getrandbits(32)
                return _U32.pack(length) + data
            case shapes.Arguments():
                parts = []
                count = rng.choice([0, 1, 1, 1, 2, 3, 5])
                for _ in range(count):
                    code = rng.choice(b"JJJDLLLx" if rng.random() < 0.05 else b"JJDL")
                    if code == ord("L"):
                        kind = rng.choice([1, 1, 8, 14])
                        parts.append(b"L" + _U64.pack(self.handle(kind, True)))
                    elif code == ord("D"):
                        parts.append(b"D" + struct.pack("<d", rng.choice([0.0, 1e300, 2.5])))
                    else:
                        parts.append(bytes([code]) + struct.pack("<q", rng.choice(_EDGES)))
                said = count if rng.random() < 0.97 else rng.getrandbits(32)
                return _U32.pack(said) + b"".join(parts)
            case shapes.Token():
                return _U64.pack(rng.getrandbits(64))
            case shapes.CapabilitySet():
                return _U64.pack(rng.getrandbits(64) & rng.getrandbits(64))
            case shapes.List() if function == "retransform_classes":
                # Not the prey: HotSpot 17 to 25 takes a breakpoint's instruction from an older
                # version of the class where one is still running; see docs/robustness.md.
                classes = [
                    self.spare if rng.random() < 0.8 else self.garbage()
                    for _ in range(rng.choice([0, 1, 1, 2]))
                ]
                return _U32.pack(len(classes)) + b"".join(map(_U64.pack, classes))
            case shapes.List(item, _, _):
                parts = [
                    self.value(item, name, function, targets)
                    for _ in range(rng.choice([0, 1, 1, 2, 3, 10]))
                ]
                data = b"".join(parts)
                said = len(data) if isinstance(item, shapes.Number) else len(parts)
                if rng.random() < 0.03:
                    said = rng.getrandbits(32)
                return _U32.pack(said) + data
            case shapes.Structure(_, c, fields):
                if c == "jvmtiClassDefinition":
                    klass = self.spare if rng.random() < 0.8 else self.garbage()
                    data = self.class_bytes()
                    return _U64.pack(klass) + _U32.pack(len(data)) + data
                return b"".join(self.value(one, name, function, targets) for _, one in fields)
        raise TypeError(shape)

    template = b""
    """A class file to mutate: of a class that nothing runs, so whatever passes does no harm."""

    def class_bytes(self) -> bytes:
        data = bytearray(self.template or b"\xca\xfe\xba\xbe")
        for _ in range(self.random.choice([0, 0, 1, 3, 10])):
            data[self.random.randrange(len(data))] = self.random.getrandbits(8)
        return bytes(data[: self.random.choice([len(data)] * 5 + [10, len(data) // 2])])

    def arguments(self, declaration: Declaration) -> bytes:
        rng = self.random
        targets = declaration.number in self.targets_only
        if declaration.name.startswith("delete_") and self.random.random() < 0.9:
            # Deleting the prey would leave the later calls of a session without any.
            found = self.pools.found[handles.Object.KIND]
            return _U64.pack(self.random.choice(found) if found else self.garbage())
        parts = [
            self.value(shape, name, declaration.name, targets)
            for name, shape in codec_of(declaration).inputs
        ]
        data = b"".join(parts)
        chance = rng.random()
        if chance < 0.02 and not targets:
            return data[: rng.randrange(len(data) + 1)]
        if chance < 0.04:
            return data + rng.randbytes(rng.randrange(20))
        return data

    def environment(self, declaration: Declaration) -> int:
        if declaration.name == "dispose_environment":
            # The first one is what everything else needs.
            return self.random.choice([*self.pools.environments[1:], 0, 77, 2**32 - 1])
        chance = self.random.random()
        if chance < 0.9:
            return 1
        return self.random.choice([*self.pools.environments, 0, 99, 2**32 - 1])

    # ---- calls -------------------------------------------------------------------------------

    def choose(self, count: int) -> list[Declaration]:
        return self.random.choices(self.functions, self.weights, k=count)

    def batch(self, count: int = 250) -> None:
        """Send one batch of random calls and take its replies apart."""
        chosen = self.choose(count)
        parts = []
        for declaration in chosen:
            data = self.arguments(declaration)
            environment = self.environment(declaration)
            parts.append(_ENTRY.pack(declaration.number, environment, len(data)) + data)
        payload = _U32.pack(count) + b"".join(parts)
        self.keep(payload)
        reply = self.session.request(Request(Kind.BATCH, 0, 0, payload, "random batch", 60.0))
        self.calls += count
        view = memoryview(reply.payload)
        at = 0
        self.numbers.seen.clear()
        for declaration in chosen:
            if at + _RESULT.size > len(view):
                break
            status, _flags, size = _RESULT.unpack_from(view, at)
            piece = view[at + _RESULT.size : at + _RESULT.size + size]
            at += _RESULT.size + size
            self.statuses[status] += 1
            self.by_function[declaration.name][status] += 1
            if status == 0:
                result = codec_of(declaration).decode(piece, self.numbers)
                if declaration.name == "new_env":
                    self.pools.environments.append(result)
            elif status == 1000 and size >= 8:
                self.numbers.seen.append(_U64.unpack_from(piece)[0])
        self._keep_some()

    def _keep_some(self) -> None:
        """Some of the new handles go into the pools, all others back to the agent."""
        releases = []
        mine = {one for pool in self.pools.prey.values() for one in pool}
        for handle in self.numbers.seen:
            if handle == 0 or handle in mine:
                continue
            kind = handle >> 56
            pool = self.pools.found[kind]
            if kind >= handles.Method.KIND:
                pool.append(handle)
                if len(pool) > 200:
                    pool.popleft()
                continue
            if self.random.random() < 0.1:
                pool.append(handle)
            else:
                releases.append(handle)
            if len(pool) > 50:
                releases.append(pool.popleft())
        for handle in releases:
            # The same object may have come more than once, and may be kept.
            self.session.ownership.give_up(RELEASE.pack(handle, 1))
            self.pools.stale.append(handle)


__all__ = ["EXCLUDED", "HEAVY", "TARGETS", "Fuzzer"]
