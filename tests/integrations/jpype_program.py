"""A Python program with a JVM inside, by JPype, which looks at that JVM in several ways.

    python jpype_program.py WAY,… LIBJVM [OPTION …]

The last line has what it saw as JSON, by way.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jpype

import jvmti
from documented import blocks
from jvms import ROOT


def look() -> dict[str, Any]:
    """What a controller sees, beside what Java says of itself."""
    seen: dict[str, Any] = {"direct": error_of(lambda: jvmti.attach(os.getpid()))}
    with jvmti.attach_self(timeout=60) as controller:
        seen["threads"] = controller.call(lambda vm: sorted(t.name for t in vm.threads))
        seen["version"] = controller.call(lambda vm: vm.version.major)
        seen["pid"] = controller.call(lambda vm: vm.process.pid)
        seen["arguments"] = controller.call(
            lambda vm, *args, **named: [args, named], 1, "two", three=[3]
        )
        seen["open"] = not controller.closed
    seen["closed"] = controller.closed and not Path(f"/proc/{controller.pid}").exists()
    seen["after"] = error_of(lambda: controller.call(lambda vm: 1))
    seen["own"] = os.getpid()
    threads = jpype.JClass("java.lang.Thread").getAllStackTraces().keySet()
    seen["java threads"] = sorted(str(thread.getName()) for thread in threads)
    version = jpype.JClass("java.lang.System").getProperty("java.specification.version")
    seen["java version"] = int(str(version))
    return seen


def handle_events() -> dict[str, Any]:
    """Events of a thread that has Python's lock, with a handler that it waits for without limit."""

    def watch(vm: jvmti.VM) -> list[str]:
        names: list[str] = []
        vm.env.on("ClassPrepare", lambda event: names.append(event.klass.name), timeout=None)
        return names

    with jvmti.attach_self(timeout=60) as controller:
        names = controller.keep(watch)
        jpype.JClass("java.util.concurrent.Exchanger")
        jpype.JClass("java.util.concurrent.Phaser")()
        seen = {"prepared": controller.call(lambda vm, names: names, names)}
        seen["described"] = repr(names)
    with jvmti.attach_self(timeout=60) as other:
        seen["elsewhere"] = error_of(lambda: other.call(lambda vm, names: names, names))
    return seen


def suspend() -> dict[str, Any]:
    """Suspend the thread that waits for the call: inside of a function, and beyond its end."""

    def stack_of_main(vm: jvmti.VM) -> bool:
        main = vm.threads["main"]
        vm.env.suspend_thread(main)
        suspended = bool(main.state & jvmti.interface.constants.ThreadState.SUSPENDED)
        vm.env.resume_thread(main)
        return suspended

    with jvmti.attach_self(timeout=60, capabilities=["can_suspend"]) as controller:
        seen: dict[str, Any] = {"within": controller.call(stack_of_main)}
        seen["left"] = error_of(
            lambda: controller.call(lambda vm: vm.env.suspend_thread(vm.threads["main"]))
        )
        seen["java"] = java_works()
        seen["after"] = error_of(lambda: controller.call(lambda vm: 1))
    # A controller that is killed resumes what it suspended, as one that ends does.
    with jvmti.attach_self(timeout=60, capabilities=["can_suspend"]) as controller:

        def die(vm: jvmti.VM) -> None:
            vm.env.suspend_thread(vm.threads["main"])
            os.kill(os.getpid(), signal.SIGKILL)

        seen["killed"] = error_of(lambda: controller.call(die))
    seen["java again"] = java_works()
    return seen


def fail() -> dict[str, Any]:
    """What cannot be copied, and what fails over there."""
    seen: dict[str, Any] = {}
    with jvmti.attach_self(timeout=60) as controller:
        call = controller.call
        seen["result"] = error_of(lambda: call(lambda vm: vm.threads["main"]))
        lock = threading.Lock()
        seen["argument"] = error_of(lambda: call(lambda vm, lock: None, lock))
        seen["no function"] = error_of(lambda: call("threads"))  # type: ignore[arg-type]
        seen["raised"] = error_of(lambda: call(lambda vm: 1 // 0))
        seen["java"] = error_of(lambda: call(lambda vm: vm.jni.find_class("no/Such")))
        seen["jvmti"] = error_of(lambda: call(lambda vm: vm.env.add_capabilities({"can_tag"})))
        try:
            call(lambda vm: [][1])
        except IndexError as error:
            seen["cause"] = str(error.__cause__)
        seen["still"] = call(lambda vm: vm.phase.name)
    seen["capability"] = error_of(lambda: jvmti.attach_self(capabilities=["can_fly"]))
    return seen


def interrupt() -> dict[str, Any]:
    """Ctrl-C while the controller is at something that does not end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    read, write = os.pipe()
    with jvmti.attach_self(timeout=60, capabilities=["can_suspend"]) as controller:
        path = f"/proc/{os.getpid()}/fd/{write}"

        def never_return(vm: jvmti.VM) -> None:
            vm.env.suspend_thread(vm.threads["main"])
            with open(path, "wb") as file:
                file.write(b".")
            threading.Event().wait()

        def at_work() -> None:
            os.read(read, 1)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=at_work).start()
        seen: dict[str, Any] = {"raised": error_of(lambda: controller.call(never_return))}
        seen["closed"] = controller.closed
        seen["gone"] = not Path(f"/proc/{controller.pid}").exists()
    seen["java"] = java_works()
    return seen


def be_killed() -> dict[str, Any]:
    """Wait for the end, with a controller at work."""
    controller = jvmti.attach_self(timeout=60)
    print(json.dumps(controller.pid), flush=True)
    controller.call(lambda vm: threading.Event().wait())
    return {}


def shut_down() -> dict[str, Any]:
    """The JVM ends before the controller does."""
    with jvmti.attach_self(timeout=60) as controller:
        jpype.shutdownJVM()
        seen: dict[str, Any] = {"error": error_of(lambda: controller.call(lambda vm: vm.phase))}
    seen["closed"] = controller.closed
    return seen


def compile_java() -> dict[str, Any]:
    """The Eclipse compiler at work in this process, looked at while it is."""
    compiler = jpype.JClass("org.eclipse.jdt.core.compiler.batch.BatchCompiler")
    writer = jpype.JClass("java.io.PrintWriter")(jpype.JClass("java.lang.System").err)
    # A third of them keeps it at work for long enough to be seen.
    sources = sorted(map(str, (ROOT / "tests" / "java").glob("*.java")))[::3]
    words = ["-11", "-proc:none", "-nowarn", "-d", "none", *sources]
    done: list[bool] = []

    def compile_all() -> None:
        done.append(bool(compiler.compile(words, writer, writer, None)))

    def places(vm: jvmti.VM) -> set[str]:
        return {frame.method.declaring_class.name for t in vm.threads for frame in t.frames}

    with jvmti.attach_self(timeout=60) as controller:
        worker = threading.Thread(target=compile_all)
        worker.start()
        at_work: set[str] = set()
        while worker.is_alive():
            at_work.update(controller.call(places))
        worker.join()
        loaded = controller.call(lambda vm: [cls.name for cls in vm.classes("org.eclipse.jdt.*")])
    return {"compiled": done, "at work": sorted(at_work), "loaded": loaded}


def run_examples() -> dict[str, Any]:
    """The page's examples; the JVM has been started already."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    page = ROOT / "docs" / "python_programs.md"
    texts = [block.text for block in blocks(page) if block.language == "python"]
    examples = [text for text in texts if "spark" not in text.lower()]
    with contextlib.redirect_stdout(printed):
        for example in examples:
            exec(example.replace("jpype.startJVM()", ""), names)
    return {"printed": printed.getvalue(), "examples": len(examples)}


def take_sigquit() -> dict[str, Any]:
    """The program takes the signal that the JVM is asked by."""
    signal.signal(signal.SIGQUIT, lambda number, frame: None)
    try:
        with jvmti.attach_self(timeout=1) as controller:
            return {"version": controller.call(lambda vm: vm.version.major)}
    except jvmti.AttachError as error:
        return {"refused": str(error)}


def java_works() -> bool:
    return bool(jpype.JClass("java.lang.System").nanoTime())


def error_of(function: Callable[[], object]) -> list[str]:
    try:
        function()
    except BaseException as error:
        return [type(error).__name__, str(error)]
    return []


def main() -> None:
    _, ways, libjvm, *options = sys.argv
    faulthandler.dump_traceback_later(100, exit=True)  # a program that hangs says where
    seen: dict[str, Any] = {"no jvm": error_of(jvmti.attach_self)}
    # Python's Ctrl-C, not that of the JVM.
    jpype.startJVM(libjvm, *options, interrupt=True)
    for way in ways.split(","):
        seen[way] = globals()[way]()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
