"""The same measures from inside: this process has the JVM, and ctypes calls JVM TI.

    in_process.py LIBJVM CLASSES CALLS ROUNDS

prints a line for each measure, a name and nanoseconds.  It is the shortest way that there is from
Python to JVM TI without a compiler, for programs that can live in one process with it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p, cast
from statistics import median
from typing import Any

JVMTI_VERSION_1_2 = 0x30010200
JNI_VERSION_1_8 = 0x00010008

JNI = {"FindClass": 6, "DeleteLocalRef": 23, "GetStaticMethodID": 113, "CallStaticVoidMethod": 141}
JVMTI = {
    "Deallocate": 47,
    "GetAllThreads": 4,
    "GetThreadInfo": 9,
    "GetThreadState": 17,
    "GetClassSignature": 48,
    "GetClassStatus": 49,
    "GetClassLoader": 57,
    "GetMethodName": 64,
    "GetMethodDeclaringClass": 65,
    "GetLineNumberTable": 70,
    "GetLoadedClasses": 78,
    "GetAllStackTraces": 100,
    "GetPotentialCapabilities": 140,
    "AddCapabilities": 142,
}


class Option(Structure):
    _fields_ = [("text", c_char_p), ("extra", c_void_p)]


class Arguments(Structure):
    _fields_ = [
        ("version", c_int),
        ("count", c_int),
        ("options", POINTER(Option)),
        ("lenient", ctypes.c_ubyte),
    ]


class ThreadInfo(Structure):
    _fields_ = [
        ("name", c_void_p),
        ("priority", c_int),
        ("daemon", ctypes.c_ubyte),
        ("group", c_void_p),
        ("loader", c_void_p),
    ]


class Frame(Structure):
    _fields_ = [("method", c_void_p), ("location", c_int64)]


class Stack(Structure):
    _fields_ = [
        ("thread", c_void_p),
        ("state", c_int),
        ("frames", POINTER(Frame)),
        ("count", c_int),
    ]


class Line(Structure):
    _fields_ = [("start", c_int64), ("number", c_int)]


class Table:
    """The functions of an interface pointer, by name."""

    def __init__(
        self, pointer: c_void_p, slots: dict[str, int], first: int, result: type[Any]
    ) -> None:
        self.pointer = pointer
        table = cast(cast(pointer, POINTER(c_void_p))[0], POINTER(c_void_p))
        for name, slot in slots.items():
            setattr(self, name, cast(table[slot - first], ctypes.CFUNCTYPE(result)))


class Machine:
    """A JVM in this process."""

    def __init__(self, libjvm: str, classes: str) -> None:
        library = ctypes.CDLL(libjvm, mode=ctypes.RTLD_GLOBAL)
        options = (Option * 2)(Option(f"-Djava.class.path={classes}".encode()), Option(b"-Xrs"))
        arguments = Arguments(JNI_VERSION_1_8, len(options), options, 0)
        vm, jni, env = c_void_p(), c_void_p(), c_void_p()
        if library.JNI_CreateJavaVM(byref(vm), byref(jni), byref(arguments)):
            raise SystemExit("the JVM does not start")
        invocation = cast(cast(vm, POINTER(c_void_p))[0], POINTER(c_void_p))
        get_env = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), c_int)(invocation[6])
        if get_env(vm, byref(env), JVMTI_VERSION_1_2):
            raise SystemExit("the JVM has no JVM TI")
        self.jni: Any = Table(jni, JNI, 0, c_void_p)
        self.env: Any = Table(env, JVMTI, 1, c_int)
        capabilities = (ctypes.c_uint64 * 2)()
        self.env.GetPotentialCapabilities(env, byref(capabilities))
        self.env.AddCapabilities(env, byref(capabilities))

    def start(self) -> None:
        jni, pointer = self.jni, self.jni.pointer
        target = c_void_p(jni.FindClass(pointer, b"Target"))
        method = c_void_p(jni.GetStaticMethodID(pointer, target, b"start", b"()V"))
        jni.CallStaticVoidMethod(pointer, target, method)

    def text(self, pointer: c_void_p) -> str:
        said = ctypes.string_at(pointer).decode() if pointer.value else ""
        self.env.Deallocate(self.env.pointer, pointer)
        return said

    def threads(self) -> list[int]:
        count, items = c_int(), POINTER(c_void_p)()
        self.env.GetAllThreads(self.env.pointer, byref(count), byref(items))
        threads = items[: count.value]
        self.env.Deallocate(self.env.pointer, items)
        return threads

    def state(self, thread: c_void_p) -> int:
        state = c_int()
        self.env.GetThreadState(self.env.pointer, thread, byref(state))
        return state.value

    def stacks(self) -> list[tuple[str, list[tuple[str, str, int]]]]:
        env, pointer = self.env, self.env.pointer
        known: dict[int, tuple[str, str, list[tuple[int, int]]]] = {}
        stacks, count = POINTER(Stack)(), c_int()
        env.GetAllStackTraces(pointer, 1024, byref(stacks), byref(count))
        result = []
        for stack in stacks[: count.value]:
            info = ThreadInfo()
            env.GetThreadInfo(pointer, c_void_p(stack.thread), byref(info))
            frames = []
            for frame in stack.frames[: stack.count]:
                about = known.get(frame.method)
                if about is None:
                    about = known[frame.method] = self.method(c_void_p(frame.method))
                line = -1
                for start, number in about[2]:
                    if start > frame.location:
                        break
                    line = number
                frames.append((about[0], about[1], line))
            result.append((self.text(c_void_p(info.name)), frames))
            for local in (stack.thread, info.group, info.loader):
                self.jni.DeleteLocalRef(self.jni.pointer, c_void_p(local))
        env.Deallocate(pointer, stacks)
        return result

    def method(self, method: c_void_p) -> tuple[str, str, list[tuple[int, int]]]:
        env, pointer = self.env, self.env.pointer
        cls, name, signature = c_void_p(), c_void_p(), c_void_p()
        env.GetMethodDeclaringClass(pointer, method, byref(cls))
        env.GetClassSignature(pointer, cls, byref(signature), None)
        env.GetMethodName(pointer, method, byref(name), None, None)
        self.jni.DeleteLocalRef(self.jni.pointer, cls)
        count, lines = c_int(), POINTER(Line)()
        table = []
        if env.GetLineNumberTable(pointer, method, byref(count), byref(lines)) == 0:
            table = sorted((line.start, line.number) for line in lines[: count.value])
            env.Deallocate(pointer, lines)
        return self.text(signature), self.text(name), table

    def classes(self) -> list[tuple[str, int, int | None]]:
        env, pointer, jni = self.env, self.env.pointer, self.jni
        count, items = c_int(), POINTER(c_void_p)()
        env.GetLoadedClasses(pointer, byref(count), byref(items))
        result = []
        for item in items[: count.value]:
            cls = c_void_p(item)
            signature, status, loader = c_void_p(), c_int(), c_void_p()
            env.GetClassSignature(pointer, cls, byref(signature), None)
            env.GetClassStatus(pointer, cls, byref(status))
            env.GetClassLoader(pointer, cls, byref(loader))
            result.append((self.text(signature), status.value, loader.value))
            jni.DeleteLocalRef(jni.pointer, cls)
            jni.DeleteLocalRef(jni.pointer, loader)
        env.Deallocate(pointer, items)
        return result


def timed(rounds: int, action: Any) -> list[int]:
    times = []
    for _ in range(rounds):
        began = time.perf_counter_ns()
        action()
        times.append(time.perf_counter_ns() - began)
    return times


def main() -> None:
    libjvm, classes, calls, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    machine = Machine(libjvm, classes)
    machine.start()
    time.sleep(0.5)
    thread = c_void_p(machine.threads()[0])
    call = median(timed(calls, lambda: machine.state(thread)))
    print("call", int(call))
    stacks = timed(rounds, machine.stacks)
    print("stacks-first", stacks[0])
    print("stacks", int(median(stacks)))
    print("frames", sum(len(frames) for _, frames in machine.stacks()))
    print("class-count", len(machine.classes()))
    classes_times = timed(rounds, machine.classes)
    print("classes-first", classes_times[0])
    print("classes", int(median(classes_times)))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
