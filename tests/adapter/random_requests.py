"""Random sequences of requests, made from the protocol's schema: valid ones, and wrong ones.

python tests/adapter/random_requests.py --jvm 25 --requests 100000 [--late] [--endings 100]

Each request must be answered once and in order, whatever is in it; adapter and program live on.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

TESTS = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from hypothesis import seed as seeded  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import compiler  # noqa: E402
import jvms  # noqa: E402
import jvmti  # noqa: E402
from adapter.client import SOURCE, Client, Failed, line, schema  # noqa: E402
from jvmti.interface.constants import ThreadState  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

_SUSPENDED = ThreadState.SUSPENDED

ENDING = {"disconnect", "terminate"}
"""Requests that end a session: each is the last of one, with some more behind it."""

_TEXTS = st.sampled_from(
    [
        "count",
        "net + 1",
        "this.lines",
        "lines.get(999)",
        'note = "other"',
        "square(3)",
        "1 / 0",
        "((",
        "this",
        "Debugged.total",
        "java.lang.IllegalStateException",
        "% 3",
        "10",
        "caught",
        "uncaught",
        "0x100003",
        "array:7",
        "",
        "\0",
        "ä😀",
        "\ud800",
        str(SOURCE),
        "/nowhere/Debugged.java",
        "into",
        "instruction",
    ]
) | st.text(max_size=20)
_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
_LINES = [line(word) for word in ("NET", "GROSS", "BOTH", "NESTED", "CAUGHT", "DEEP")]


def _values(shape: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a part of the schema."""
    if "$ref" in shape:
        shape = schema()["definitions"][shape["$ref"].rpartition("/")[2]]
    if "enum" in shape:
        return st.sampled_from(shape["enum"])
    kind = shape.get("type")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object" or "properties" in shape:
        needed = set(shape.get("required", ()))
        names = shape.get("properties", {})
        if depth > 3:
            return st.just({})
        made = {name: _values(inner, depth + 1) for name, inner in names.items()}
        return st.fixed_dictionaries(
            {name: made[name] for name in needed if name in made},
            optional={name: one for name, one in made.items() if name not in needed},
        )
    if kind == "array":
        return st.lists(_values(shape.get("items", {}), depth + 1), max_size=3)
    if kind in ("integer", "number"):
        # Numbers of threads, frames and variables are small, and so are lines.
        return st.sampled_from([1, 0, -1, 2**31, *_LINES]) | st.integers(1, 60)
    if kind == "boolean":
        return st.booleans()
    return _TEXTS if kind == "string" else _JUNK


@functools.cache
def _arguments() -> dict[str, st.SearchStrategy[Any]]:
    """The arguments of each request of the protocol."""
    found = {}
    for definition in schema()["definitions"].values():
        for part in definition.get("allOf", ()):
            properties = part.get("properties", {})
            for command in properties.get("command", {}).get("enum", ()):
                found[command] = _values(properties.get("arguments", {}))
    return found


@st.composite
def requests(draw: st.DrawFn) -> tuple[Any, Any]:
    """A request: one in eight has something wrong in it."""
    known = _arguments()
    command: Any = draw(st.sampled_from(sorted(known.keys() - ENDING)))
    arguments: Any = draw(known[command])
    wrong = draw(st.integers(0, 31))
    if wrong == 0:
        arguments = draw(_JUNK)
    elif wrong == 1:
        command = draw(_JUNK.filter(lambda one: one not in ENDING if isinstance(one, str) else 1))
    elif wrong in (2, 3) and isinstance(arguments, dict) and arguments:
        arguments = dict(arguments)
        arguments[draw(st.sampled_from(sorted(arguments)))] = draw(_JUNK)
    return command, arguments


@st.composite
def endings(draw: st.DrawFn) -> tuple[list[Any], tuple[str, Any], list[Any]]:
    """Requests, one that ends the session, and requests that come too late."""
    command = draw(st.sampled_from(sorted(ENDING)))
    before = draw(st.lists(requests(), max_size=8))
    return before, (command, draw(_arguments()[command])), draw(st.lists(requests(), max_size=4))


class Session:
    """A session that random requests are sent to, with numbers of threads that exist.

    Attributes:
        sent: how many requests of each name were sent.
        failed: how many of these failed.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.sent: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._known: dict[str, int] = {}
        self._failure: Exception | None = None

    def check(self, sequence: Sequence[tuple[Any, Any]]) -> None:
        """Send a sequence from a new stop.

        Hypothesis sends one that failed again, which says nothing: the session is another then.
        """
        if self._failure is not None:
            raise self._failure
        try:
            self.resume()
            self.send(sequence)
        except Exception as error:
            self._failure = error
            raise

    def send(self, sequence: Sequence[tuple[Any, Any]]) -> None:
        """Send a sequence; each of its requests must have its response in time."""
        self._post(sequence)
        self._receive(sequence)

    def _post(self, sequence: Sequence[tuple[Any, Any]]) -> None:
        for command, arguments in sequence:
            self.client.post(command, self._real(arguments))

    def _receive(self, sequence: Sequence[tuple[Any, Any]]) -> bool:
        """Receive a response for each; return whether the last succeeded."""
        succeeded = True
        for command, _ in sequence:
            found = self.client.response(timeout=120)
            self.sent[str(command)] += 1
            self.failed[str(command)] += not found["success"]
            succeeded = bool(found["success"])
        return succeeded

    def end(
        self,
        before: Sequence[tuple[Any, Any]],
        ending: tuple[str, Any],
        behind: Sequence[tuple[Any, Any]],
    ) -> bool:
        """Send a sequence whose last request ends the session, and some more behind it.

        Returns:
            Whether the program may have ended with it.
        """
        sequence = [*before, ending]
        self._post(sequence)
        with suppress(BrokenPipeError):
            self._post(behind)
        succeeded = self._receive(sequence)
        command, arguments = ending
        if command == "disconnect" and succeeded:
            self.client.last_responses()
            self.client.close()
            return bool(arguments.get("terminateDebuggee"))
        # The program ends, and the client is to disconnect then.
        self._receive(behind)
        self.client.disconnect()
        return succeeded

    def _real(self, arguments: Any) -> Any:
        """The arguments, with numbers of things that exist in place of some others."""
        if not isinstance(arguments, dict):
            return arguments
        return {
            name: self._known[name] if name in self._known and value in range(1, 61) else value
            for name, value in arguments.items()
        }

    def resume(self) -> None:
        """Remove all breakpoints and let all threads run, so that the next ones stop anew."""
        client = self.client
        client.breakpoints()
        for command in ("setFunctionBreakpoints", "setDataBreakpoints"):
            client.ask(command, breakpoints=[])
        client.ask("setExceptionBreakpoints", filters=[])
        client.ask("setInstructionBreakpoints", breakpoints=[])
        # All that ever stopped: a step may end at any moment.
        stops = [one["body"] for one in client.events if one["event"] == "stopped"]
        for thread in {one["threadId"] for one in stops}:
            client.post("continue", {"threadId": thread})
            client.response()
        client.breakpoints(line("GROSS"))
        self._note_stop()

    def _note_stop(self) -> None:
        """Wait for a stop, and note the numbers of what there is."""
        client = self.client
        try:
            thread = client.stopped(timeout=3)
            frame = client.top(thread)["id"]
            scope = client.scope(frame)
        except (AssertionError, Failed):
            return  # of before, and it runs again
        self._known = {"threadId": thread, "frameId": frame, "variablesReference": scope}


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def run(session: Session, examples: int, size: int, seed: int | None = None) -> None:
    """Send random sequences.

    Args:
        session: the session.
        examples: how many sequences.
        size: requests in each at most.
        seed: for the same ones again.
    """

    @_settings(examples)
    @given(st.lists(requests(), min_size=size // 2, max_size=size))
    def send(sequence: list[tuple[Any, Any]]) -> None:
        session.check(sequence)

    if seed is not None:
        send = seeded(seed)(send)
    send()


def end_sessions(
    begin: Callable[[], AbstractContextManager[tuple[Client, subprocess.Popen[bytes] | None]]],
    examples: int,
    seed: int = 1,
) -> int:
    """End sessions, each with a random sequence; return how many requests these had.

    Args:
        begin: begins a session, with its program if that was there before.
        examples: how many.
        seed: chooses the sequences.
    """
    sent = 0

    @seeded(seed)
    @_settings(examples)
    @given(endings())
    def end(sequences: tuple[list[Any], tuple[str, Any], list[Any]]) -> None:
        nonlocal sent
        with begin() as (client, program):
            session = Session(client)
            session._note_stop()
            may_end = session.end(*sequences)
            sent += session.sent.total()
            if program is not None and not may_end:
                assert program.poll() is None, "the JVM has ended"
                with jvmti.attach(program.pid, timeout=30) as vm:
                    suspended = [one.name for one in vm.threads if one.state & _SUSPENDED]
                    assert suspended == []

    end()
    return sent


def main() -> None:
    """Send as many as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jvm", default="25")
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--late", action="store_true")
    parser.add_argument("--endings", type=int, default=0, help="instead: end so many sessions")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    jvm = jvms.named(chosen.jvm)
    command = [str(jvm.java), "-cp", str(compiler.classes("Debugged")), "Debugged"]

    @contextmanager
    def begun() -> Iterator[tuple[Client, subprocess.Popen[bytes] | None]]:
        program = None
        with ExitStack() as stack:
            client = stack.enter_context(closing(Client()))
            if chosen.late:
                program = subprocess.Popen(command, stdout=subprocess.PIPE)
                stack.callback(program.wait)
                stack.callback(program.kill)
                assert program.stdout is not None
                program.stdout.readline()
                client.attach(program.pid, line("GROSS"))
            else:
                client.launch(line("GROSS"), command=command)
            yield client, program

    began = time.monotonic()
    if chosen.endings:
        total = end_sessions(begun, chosen.endings, chosen.seed)
        print(f"{chosen.endings} sessions ended, {total:,} requests")
        return
    total = 0
    while total < chosen.requests:
        with begun() as (client, program):
            session = Session(client)
            run(session, min(100, (chosen.requests - total) // 15 + 1), 20, chosen.seed + total)
            total += session.sent.total()
            rate = total / (time.monotonic() - began)
            failed = session.failed.total() / session.sent.total()
            print(f"{total:,} requests, {rate:.0f}/s, {failed:.0%} failed", flush=True)
            assert not client.has_event("terminated"), "the program has ended"
            client.disconnect()
            assert program is None or program.poll() is None, "the JVM has ended"


if __name__ == "__main__":
    main()
