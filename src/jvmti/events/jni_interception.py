"""JNI interception: Python functions that replace JNI functions, and counts of calls."""

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
    """Raise if Python cannot replace a function."""
    if name not in COUNTED:
        raise ValueError(_unknown(name))
    if name.endswith("Critical"):
        raise ValueError(
            f"{name} begins or ends a critical region, in which a thread must not wait for Python; "
            f'count its calls instead: vm.jni.count("{name}")'
        )
    if name in EXCLUDED:
        raise ValueError(
            f"Python cannot replace {name}, which has no method here: "
            f"{EXCLUDED[name].reason[:1].lower()}{EXCLUDED[name].reason[1:-1]}; "
            f'count its calls instead: vm.jni.count("{name}")'
        )


def _unknown(name: str) -> str:
    return f"there is no JNI function {name!r}; they are named as in C{suggestion(name, COUNTED)}"


class Original:
    """The original of a replaced JNI function.

    Called without arguments, it makes the intercepted call itself; called with arguments, it makes
    another call of the same function, like the method of `JNI`.

    Attributes:
        name: the JNI name of the function, as ``CallObjectMethodV``.
    """

    def __init__(self, calls: JniCalls, environment: int, name: str, method: str) -> None:
        self.name = name
        self._calls = calls
        self._environment = environment
        self._method = method

    def __call__(self, *arguments: Any) -> Any:
        """Make the call and return its result."""
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
    """Encode a result."""
    if letter == "V":
        if value is not None:
            raise TypeError(f"{name} has no result, and got {value!r}")
        return b"\1" + bytes(8)
    if letter in "Lmf":
        if value is not None and getattr(value, "_session", None) is not session:
            raise TypeError(f"{name} must return a handle of this session or None, not {value!r}")
        return b"\1" + U64.pack(0 if value is None else value._handle)
    if letter == "D":
        return b"\1" + F64.pack(value)
    if isinstance(value, str) and len(value) == 1 and value <= "\uffff":
        value = ord(value)
    if not isinstance(value, int):
        raise TypeError(f"{name} must return a number, not {value!r}")
    return b"\1" + I64.pack(value)


@frozen
class JniCount:
    """The calls of a JNI function."""

    calls: int
    """How many calls there were."""
    nanoseconds: int
    """How long they took in total; nested calls count in both."""


class JniCalls:
    """The intercepted JNI functions of a session.

    Attributes:
        errors: what Python functions raised, the first of each place; the VM made these calls.
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
        """Replace the functions that a table names, and restore all others."""
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
        """Call the replacement of a function, and return the encoded answer."""
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
            # If it were released with this answer, its handle would be gone before the agent reads
            # # the answer.
            self._local.answered = result
            if letter == "p":
                return b"\0"  # an address is the VM's own
            return _answer(letter, result, session, name)
        except Exception as error:
            if isinstance(error, JavaException) and error.thrown:
                return b"\0"  # the program gets it, whatever the answer is
            if not (session.detached and isinstance(error, SessionClosed)):
                if len(self.errors) < 100:
                    self.errors.append(error)
                log.exception("the replacement of %s failed; the VM's function runs", name)
            return b"\0"


class Counting:
    """A running count of calls of JNI functions; leaving its ``with`` block ends it."""

    def __init__(self, session: Session, environment: int, names: tuple[str, ...]) -> None:
        for name in names:
            if name not in COUNTED:
                raise ValueError(_unknown(name))
        self._operations = AgentOperations(session, environment)
        self._operations.count_jni_calls(sorted({COUNTED[name] for name in names or COUNTED}))
        self._counts: dict[str, JniCount] | None = None

    def read(self) -> dict[str, JniCount]:
        """The functions called since the beginning, by their names in C."""
        if self._counts is not None:
            return self._counts
        found = self._operations.jni_counts()
        return {
            name: JniCount(found.calls[slot], found.nanoseconds[slot])
            for name, slot in COUNTED.items()
            if slot < len(found.calls) and found.calls[slot]
        }

    def stop(self) -> None:
        """Stop counting; `read` still returns the counts."""
        if self._counts is None:
            self._counts = self.read()
            self._operations.count_jni_calls([])

    def __enter__(self) -> Counting:
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()


__all__ = ["Counting", "JniCalls", "JniCount", "Original"]
