"""A controller of the random walk, to be killed, stopped and continued at any moment.

    walking_controller.py SEED SECONDS CLASSES LOG PID
    walking_controller.py SEED SECONDS CLASSES LOG -- java …

With a command it starts the program itself and makes random calls in the OnLoad phase, and from
handlers in the start phase, before it goes on like one that attaches.  Each step is in the log
before it is taken, so that the last line tells what was going on.
"""

from __future__ import annotations

import faulthandler
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))

import agent_builds  # noqa: E402
import jvmti  # noqa: E402
from jvmti.interface.constants import Event, EventMode  # noqa: E402
from robustness.walks import walk_steps  # noqa: E402

EARLY = (
    "VMStart",
    "VMInit",
    "ClassFileLoadHook",
    "ClassPrepare",
    "ClassLoad",
    "ThreadStart",
    "Exception",
)


class Log:
    """Lines that are written at once, from any thread, each with the time."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)
        self._begun = time.monotonic()

    def __call__(self, line: str) -> None:
        at = time.monotonic() - self._begun
        self._file.write(f"{at:8.3f} {threading.get_ident() % 100000:5d} {line}\n")

    def surprise(self) -> None:
        """An exception that the package should not let out: the walk's result has it."""
        what = " ".join(str(sys.exc_info()[1]).split())
        self(f"SURPRISE {type(sys.exc_info()[1]).__name__}: {what}\n{traceback.format_exc()}")


def early_steps(walker: walk_steps.Walker, count: int) -> None:
    """Random calls before the VM is live."""
    rng, env = walker.random, walker.vm.env
    for _ in range(count):
        try:
            what = rng.randrange(8)
            if what == 0:
                env.add_capabilities(env.get_potential_capabilities())
            elif what == 1:
                event = rng.choice(EARLY)
                walker.left.append(
                    env.on(event, early_handler(walker), timeout=rng.choice([0.2, 2]))
                )
            elif what == 2:
                walker.left.append(env.stream(rng.choice([*Event]), policy="drop"))
            elif what == 3:
                mode = EventMode.ENABLE if rng.random() < 0.7 else EventMode.DISABLE
                env.set_event_notification_mode(mode, rng.choice([*Event]), None)
            elif what == 4:
                name = rng.choice(["walk.one", "java.vm.info", "no.such", "java.class.path"])
                env.set_system_property(name, "value" if name == "walk.one" else None)
            elif what == 5:
                walker.vm.new_env().get_capabilities()
            else:
                for declaration in rng.sample(walk_steps.FUNCTIONS_CALLED, 10):
                    if declaration.name != "set_system_property":
                        walk_steps.call_at_random(walker, declaration)
        except walk_steps.EXPECTED as error:
            walker.tell(f"  {type(error).__name__}")


def early_handler(walker: walk_steps.Walker) -> Callable[[Any], None]:
    own = random.Random(walker.random.getrandbits(64))
    left = [40]

    def handler(event: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            return
        mine = walk_steps.Walker(walker.vm, own, walker.spare_file, walker.tell, 1)
        mine.tell(f"  in {type(event).__name__}")
        if own.random() < 0.5:
            early_steps(mine, 1)
        else:
            mine.nested(1)

    return handler


def begin(command: list[str], directory: Path) -> jvmti.VM:
    """The session: with the program that runs, or with one that is held in OnLoad."""
    if command[0] != "--":
        return jvmti.attach(int(command[0]), timeout=30)
    with (directory / "stdout").open("ab") as out, (directory / "stderr").open("ab") as err:
        vm = jvmti.launch(
            command[1:], hold=True, stdout=out, stderr=err, cwd=directory, start_new_session=True,
            timeout=120, env=agent_builds.environment_of_java(directory),
        )  # fmt: skip
    assert vm.popen is not None
    print(vm.popen.pid, flush=True)
    return vm


def main() -> None:
    seed, seconds, classes, log_path, *command = sys.argv[1:]
    log = Log(Path(log_path))
    trace = Path(log_path).with_suffix(".stacks").open("w")
    faulthandler.register(signal.SIGUSR1, trace, all_threads=True)
    rng = random.Random(int(seed))
    vm = begin(command, Path(log_path).parent)
    until = time.monotonic() + float(seconds)
    vm.timeout = walk_steps.LIMIT
    spare = walk_steps.spare_file(Path(classes))
    walkers = [
        walk_steps.Walker(vm, random.Random(rng.getrandbits(64)), spare, log)
        for _ in range(rng.choice([1, 1, 2, 3]))
    ]

    def walk(walker: walk_steps.Walker) -> None:
        while time.monotonic() < until and not vm.closed:
            try:
                walker.run()
            except walk_steps.EXPECTED as error:
                log(f"  {type(error).__name__}: {str(error)[:100]}")
            except Exception:
                log.surprise()

    try:
        if vm.held:
            early_steps(walkers[0], rng.randrange(30))
            vm.proceed(100)
        else:
            early_steps(walkers[0], rng.randrange(3))
        if rng.random() < 0.8:
            vm.env.add_capabilities(vm.env.get_potential_capabilities())
    except walk_steps.EXPECTED as error:
        log(f"  {type(error).__name__}: {str(error)[:100]}")
    threads = [threading.Thread(target=walk, args=(one,), daemon=True) for one in walkers[1:]]
    for one in threads:
        one.start()
    walk(walkers[0])
    for one in threads:
        one.join(20)
    log("ends")
    if rng.random() < 0.7:
        vm.detach(timeout=30)
    log("ended")


if __name__ == "__main__":
    main()
