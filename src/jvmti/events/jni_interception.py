"""JNI interception: Python functions in the place of JNI functions, and counts of their calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jvmti.env.services import HANDLERS
from jvmti.events.values import value_at
from jvmti.interface.errors import JavaException, SessionClosed
from jvmti.interface.frozen import frozen
from jvmti.jni.calls import JNI
from jvmti.jni.interface import EXCLUDED, FUNCTIONS
from jvmti.layouts.conversations import OPENING
from jvmti.operations.agent import AgentOperations
from jvmti.text.names import suggestion
from jvmti.text.printable import escaped
from jvmti.wire.codecs import F64, I64, U64, codec_of

if TYPE_CHECKING:
    from jvmti.env.environment import Env
    from jvmti.interface.declaration import Declaration
    from jvmti.wire.session import Session

log = logging.getLogger("jvmti")

Function = Callable[..., Any]
FIRST = OPENING.JNI_CALL
"""The number of slot 0 in frames of calls."""


def _slots() -> dict[str, tuple[int, str]]:
    """Every JNI function by its name in C: its slot, and the method of `JNI` for it."""
    found = {}
    for name, declaration in FUNCTIONS.items():
        found[declaration.c_name] = (declaration.slot, name)
        if declaration.folds:
            stem = declaration.c_name.removesuffix("A")
            found[stem] = (declaration.slot - 2, name)
            found[f"{stem}V"] = (declaration.slot - 1, name)
    return found


SLOTS = _slots()
NAMES = {slot: (name, method) for name, (slot, method) in SLOTS.items()}
COUNTED = {name: slot for name, (slot, _) in SLOTS.items()} | {
    name: one.slot for name, one in EXCLUDED.items()
}
"""The slot of every function whose calls can be counted, by its name in C."""


def _check(name: str) -> None:
    """Raise where Python cannot take the place of a function."""
    if name not in COUNTED:
        raise ValueError(_unknown(name))
    if name.endswith("Critical"):
        raise ValueError(
            f"{name} begins or ends a critical region, in which a thread must not wait for Python; "
            f'count its calls instead: vm.jni.count("{name}")'
        )
    if name in EXCLUDED:
        raise ValueError(
            f"{name} has no method here that Python could take the place of: "
            f"{EXCLUDED[name].reason[:1].lower()}{EXCLUDED[name].reason[1:-1]}; "
            f'count its calls instead: vm.jni.count("{name}")'
        )


def _unknown(name: str) -> str:
    return f"there is no JNI function {name!r}; they are named as in C{suggestion(name, COUNTED)}"


class Original:
    """The function that a Python function has taken the place of.

    Called without arguments it goes through with the very call that was intercepted; called with
    arguments it makes another one of the same function, as the method of `JNI` does.

    Attributes:
        name: the JNI name of the function, as ``CallObjectMethodV``.
    """

    def __init__(self, calls: JniCalls, environment: int, name: str, method: str) -> None:
        self.name = name
        self._calls = calls
        self._environment = environment
        self._method = method

    def __call__(self, *arguments: Any) -> Any:
        """Make the call and give its result."""
        session = self._calls.session
        if arguments:
            return getattr(JNI(session), self._method)(*arguments)
        operations = AgentOperations(session, self._environment)
        data = operations.proceed_jni_call()
        return value_at(data, 0, session)[0] if data else None

    @escaped
    def __repr__(self) -> str:
        return f"<original {self.name}>"


def _answer(letter: str, value: Any, session: Session, name: str) -> bytes:
    """A result as it travels."""
    if letter == "V":
        if value is not None:
            raise TypeError(f"{name} has no result, and was given {value!r}")
        return b"\1" + bytes(8)
    if letter in "Lmf":
        if value is not None and getattr(value, "_session", None) is not session:
            raise TypeError(f"{name} must give a handle of this session or None, not {value!r}")
        return b"\1" + U64.pack(0 if value is None else value._handle)
    if letter == "D":
        return b"\1" + F64.pack(value)
    if isinstance(value, str) and len(value) == 1 and value <= "\uffff":
        value = ord(value)
    if not isinstance(value, int):
        raise TypeError(f"{name} must give a number, not {value!r}")
    return b"\1" + I64.pack(value)


@frozen
class JniCount:
    """How often a JNI function was called."""

    calls: int
    """How many calls there were."""
    nanoseconds: int
    """How long they took together; calls inside of calls are in both."""


class JniCalls:
    """The intercepted JNI functions of a session.

    Attributes:
        errors: what Python functions raised, first of each place; the calls went on to the VM.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.functions: dict[int, Function] = {}
        self.errors: list[Exception] = []
        self._local = threading.local()
        session.openings.register(range(FIRST, FIRST + 1 + max(NAMES)), self.opened)

    def set(
        self, env: Env, declaration: Declaration, arguments: tuple[Any, ...], timeout: float | None
    ) -> None:
        """Take over the functions that a table names, and give all others back."""
        (table,) = arguments
        if not isinstance(table, Mapping):
            raise TypeError(
                f"{declaration.name}() argument function_table must be a mapping, not "
                f"{type(table).__name__}"
            )
        wanted: dict[int, Function] = {}
        for name, function in table.items():
            _check(name)
            if not callable(function):
                raise TypeError(f"{name} must be callable, not {type(function).__name__}")
            wanted[SLOTS[name][0]] = function
        session = self.session
        payload = codec_of(declaration).encode(session, (sorted(wanted),))
        if wanted:
            session.services[HANDLERS].open_pool()
        before, self.functions = self.functions, {**self.functions, **wanted}
        try:
            session.call_encoded(declaration, env._number, payload, timeout)
        except BaseException:
            self.functions = before
            raise
        self.functions = wanted

    def count(self, environment: int, names: tuple[str, ...]) -> Counting:
        """Begin to count calls in the agent."""
        return Counting(self.session, environment, names)

    def opened(self, number: int, environment: int, data: bytes) -> bytes:
        """Call what has taken the place of a function; the answer as it travels."""
        slot = number - FIRST
        function = self.functions.get(slot)
        if function is None:
            return b"\0"
        session = self.session
        name, method = NAMES[slot]
        letter = chr(data[0])
        original = Original(self, environment, name, method)
        try:
            values = []
            at = 1
            while at < len(data):
                value, at = value_at(data, at, session)
                values.append(value)
            result = function(original, *values)
            # Released together with this answer, its handle would be gone before the agent reads
            # the answer.
            self._local.answered = result
            if letter == "p":
                return b"\0"  # an address is the VM's own
            return _answer(letter, result, session, name)
        except Exception as error:
            if isinstance(error, JavaException) and error.thrown:
                return b"\0"  # the program gets it, whatever is answered
            if not (session.detached and isinstance(error, SessionClosed)):
                if len(self.errors) < 100:
                    self.errors.append(error)
                log.exception("the function in the place of %s failed; the VM's goes on", name)
            return b"\0"


class Counting:
    """Calls of JNI functions that are being counted; leaving its ``with`` block ends it."""

    def __init__(self, session: Session, environment: int, names: tuple[str, ...]) -> None:
        for name in names:
            if name not in COUNTED:
                raise ValueError(_unknown(name))
        self._operations = AgentOperations(session, environment)
        self._operations.count_jni_calls(sorted({COUNTED[name] for name in names or COUNTED}))
        self._counts: dict[str, JniCount] | None = None

    def read(self) -> dict[str, JniCount]:
        """The functions that were called since the beginning, by their names in C."""
        if self._counts is not None:
            return self._counts
        found = self._operations.jni_counts()
        return {
            name: JniCount(found.calls[slot], found.nanoseconds[slot])
            for name, slot in COUNTED.items()
            if slot < len(found.calls) and found.calls[slot]
        }

    def stop(self) -> None:
        """Count no more; `read` goes on to give what was counted."""
        if self._counts is None:
            self._counts = self.read()
            self._operations.count_jni_calls([])

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()


__all__ = ["Counting", "JniCalls", "JniCount", "Original"]
