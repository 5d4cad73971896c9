"""The process that `own.attach_self` starts: it holds the session and runs the functions that it
receives.

It handles one request at a time: the answer says whether it succeeded, with the result or the
exception and its traceback.
"""

from __future__ import annotations

import itertools
import os
import pickle
import reprlib
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import jvmti
from jvmti.integrations.copying import copied
from jvmti.interface.constants import ThreadState
from jvmti.interface.errors import Error
from jvmti.model.vm import VM

_GRACE = 2.0
"""Seconds that a call may continue after the JVM has ended."""

_objects: dict[str, Any] = {}
_keys = itertools.count(1)


def main() -> NoReturn:
    """Serve the process that started this one, which has the other end of the connection."""
    connection = Connection(int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    sys.argv = [""]
    pid, wanted = pickle.loads(connection.recv_bytes())
    try:
        vm = jvmti.attach(pid, **wanted)
    except BaseException as error:
        connection.send_bytes(_failure(error))
        sys.exit(1)
    connection.send_bytes(_success(None))
    threading.Thread(target=_end_with, args=(vm,), daemon=True).start()
    while not vm.closed:
        try:
            request = connection.recv_bytes()
        except (EOFError, OSError):
            break
        connection.send_bytes(_answer(vm, request))
    vm.detach()
    sys.exit(0)


def object_of(key: str, description: str) -> Any:
    """The object of a ``RemoteObject``. Raises LookupError if another controller has it."""
    if key not in _objects:
        raise LookupError(f"{description} is kept by another controller, which may have ended")
    return _objects[key]


def _answer(vm: VM, request: bytes) -> bytes:
    before = _suspended(vm)
    try:
        function, args, kwargs, keeping = pickle.loads(request)
        value = function(vm, *args, **kwargs)
        answer = _success(_keep(value) if keeping else value)
    except BaseException as error:
        answer = _failure(error)
    try:
        left = _suspended(vm) - before
        names = ", ".join(sorted(repr(thread.name) for thread in left))
    except Error:
        return answer  # the session is over, and its suspended threads run again
    if not left:
        return answer
    # The program could not resume them: it may be one of them, or wait for one while it holds
    # Python's interpreter lock. Leaving the JVM resumes what this session suspended.
    vm.detach()
    return _failure(
        RuntimeError(
            f"the function has left threads suspended ({names}), which would stop this program "
            "for good. The session has been ended, so they run again; a function must resume what "
            "it suspends before it returns"
        )
    )


def _suspended(vm: VM) -> set[Any]:
    if vm.closed:
        return set()
    states = vm.env.get_all_stack_traces(0)
    return {one.thread for one in states if one.state & ThreadState.SUSPENDED}


def _keep(value: Any) -> tuple[str, str]:
    """Keep an object; returns the fields of its ``RemoteObject``."""
    key = f"{os.getpid()}-{next(_keys)}"
    _objects[key] = value
    return key, reprlib.repr(value)


def _success(value: Any) -> bytes:
    try:
        answer = copied((True, value, ""))
    except Exception as error:
        raise TypeError(
            f"the result cannot be copied to the calling process ({error}): return names, numbers "
            "and other plain values, or keep it in the controller with Controller.keep"
        ) from None
    return answer


def _failure(error: BaseException) -> bytes:
    where = "".join(traceback.format_exception(error))
    try:
        answer = copied((False, error, where))
        pickle.loads(answer)
    except Exception:
        # Attributes such as the throwable of a JavaException stay here.
        failure = Error(f"{type(error).__name__}: {error}")
        answer = copied((False, failure, where))
    return answer


def _end_with(vm: VM) -> None:
    """End this process some time after the JVM, even in the middle of a call."""
    vm.wait()
    threading.Event().wait(_GRACE)
    os._exit(1)
