"""All threads of a program with five hundred of them, with stacks, lines and names, as objects.

The figures of docs/threads.md.  `make bench BENCH=model/threads`, with names of VMs as ARGS: each
VM gets a fresh program (Target.java), and the median of thirty samples counts, after the first,
which is measured apart because it looks up the names of all methods.  Before that, the variables of
one frame are read, with and without the other threads.
"""

from __future__ import annotations

import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from run import compile_program, target

import jvms
import jvmti

THREADS = 500


def milliseconds(function: Callable[[], object], rounds: int) -> list[float]:
    taken = []
    for _ in range(rounds):
        gc.collect()
        begin = time.perf_counter()
        kept = function()
        taken.append((time.perf_counter() - begin) * 1e3)
        del kept
    return taken


def walked(vm: jvmti.VM) -> int:
    """Every attribute of every frame, as a user would read them."""
    count = 0
    for thread in vm.threads.snapshot():
        assert thread.name
        for frame in thread.frames:
            count += bool(frame.method.name) + bool(frame.method.class_name)
            assert frame.line != 0
    return count


def variables(jvm: jvms.Jvm, classes: Path, threads: int) -> None:
    """The variables of a frame of a JVM that was attached to late."""
    with target(jvm, classes, f"-Dthreads={threads}") as (pid, _), jvmti.attach(pid) as vm:
        thread = vm.threads["main"]
        with thread.suspended():
            frame = thread.frames[-1]
            assert frame.method.name == "main"
            first = milliseconds(frame.locals.read, 1)[0]
            read = milliseconds(lambda: frame.locals.read(), 100)
            walks = [vm._agent.local_objects(thread, frame.depth).stopped for _ in range(100)]
            print(
                f"{jvm.name}: variables at late attach, {threads} threads beside: "
                f"{statistics.median(read) * 1e3:.0f} µs (first {first:.1f} ms), the VM stopped "
                f"for {statistics.median(walks) / 1e3:.0f} µs of it; {dict(frame.locals)}"
            )


def measure(jvm: jvms.Jvm, classes: Path) -> None:
    variables(jvm, classes, 0)
    variables(jvm, classes, THREADS)
    with target(jvm, classes, f"-Dthreads={THREADS}") as (pid, _), jvmti.attach(pid) as vm:
        first = milliseconds(vm.threads.snapshot, 1)[0]
        every = milliseconds(vm.threads.snapshot, 30)
        read = milliseconds(lambda: walked(vm), 30)
        bare = milliseconds(lambda: vm.lookup_env.map.get_all_stack_traces(1024), 30)
        frames = sum(len(thread.frames) for thread in vm.threads.snapshot())
        print(
            f"{jvm.name}: {len(vm.threads)} threads, {frames} frames: "
            f"{statistics.median(every):.1f} ms (least {min(every):.1f}, first {first:.1f}); "
            f"with every name and line read {statistics.median(read):.1f} ms; the VM's own "
            f"stacks as columns {statistics.median(bare):.1f} ms"
        )


if __name__ == "__main__":
    jdk = jvms.distribution_jdk()
    if jdk is None:
        raise SystemExit("there is no JDK with javac here; `make java` installs one")
    with tempfile.TemporaryDirectory() as directory:
        compile_program(jdk, "Target", Path(directory))
        for chosen in sys.argv[1:] or ["17", "25"]:
            measure(jvms.named(chosen), Path(directory))
