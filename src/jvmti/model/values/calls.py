"""Calls of Java methods from outside: which thread runs them, for how long, and what they wait for.

Read docs/calling.md before you call into a running program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.interface.constants import ThreadState
from jvmti.interface.errors import CallTimeout, Error
from jvmti.model.values.conversion import to_python
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jvmti.model.vm import VM

TIME_LIMIT = 30.0
"""The default time limit of a Java method in seconds."""

_ABSTRACT = 0x0400
_DIAGNOSIS_WITHIN = 5.0


def call(
    item: Any,
    cls: Any,
    name: str,
    arguments: Sequence[Any],
    signature: str | None,
    timeout: float | None,
    *,
    static: bool = False,
) -> Any:
    """Call a method of an object or class; see ``obj.call``."""
    from jvmti.model.values.overloads import choose, name_of_result

    vm: VM = cls._vm
    overload, made = choose(cls, name, arguments, signature=signature, static=static, receiver=item)
    result = overload.result
    jni = vm.jni.with_timeout(timeout)
    kind = name_of_result(result)
    receiver = cls if overload.is_static else item
    function = f"call_{'static_' if overload.is_static else ''}{kind}_method"
    try:
        given = getattr(jni, function)(receiver, overload.method, made)
    except CallTimeout as error:
        raise explained(vm, error, receiver, timeout, str(overload)) from None
    return to_python(vm, given, result)


def new(cls: Any, arguments: Sequence[Any], signature: str | None, timeout: float | None) -> Any:
    """Make an object; see ``cls.new``."""
    from jvmti.model.values.overloads import choose

    vm: VM = cls._vm
    overload, made = choose(cls, "<init>", arguments, signature=signature)
    if cls.modifiers & _ABSTRACT:
        raise TypeError(printable(f"{cls.name} is abstract: create an object of a subclass"))
    try:
        return vm.jni.with_timeout(timeout).new_object(cls, overload.method, made)
    except CallTimeout as error:
        raise explained(vm, error, None, timeout, str(overload)) from None


def explained(
    vm: VM, error: CallTimeout, item: Any, timeout: float | None, called: str | None = None
) -> CallTimeout:
    """The same error with a note on what the call waits for, if that is visible."""
    try:
        why = _waits_for(vm, item)
    except Error:
        why = None  # the JVM itself does not answer; the time limit is what is known
    return CallTimeout(called or error.function, timeout, why)


def _waits_for(vm: VM, item: Any) -> str | None:
    """The state of an unfinished call, for an error message."""
    env = vm.lookup_env.with_timeout(_DIAGNOSIS_WITHIN)
    states: Any = env.get_all_stack_traces(0)
    suspended = {one.thread.name for one in states if one.state & ThreadState.SUSPENDED}
    for thread in vm.service_threads():
        frames = env.get_stack_trace(thread, 0, 1)
        state = env.get_thread_state(thread)
        blocked = bool(state & ThreadState.BLOCKED_ON_MONITOR_ENTER)
        waiting = bool(state & ThreadState.WAITING)
        if not frames and not blocked:
            continue  # it waits for us
        place = ""
        if frames:
            method: Any = frames[0].method
            place = f" in {method.class_name}.{method.name}"
        if blocked:
            owner = None if item is None else env.get_object_monitor_usage(item).owner
            if owner is not None:
                name = owner.name  # type: ignore[attr-defined]
                what = ", which is suspended: resume it" if name in suspended else ""
                return f"it waits for a monitor{place} that thread {name!r} has{what}"
            return f"it waits for a monitor{place}{_suspects(suspended)}"
        if waiting:
            return f"it waits{place}{_suspects(suspended)}"
        return f"it is{place}"
    return None


def _suspects(suspended: set[str]) -> str:
    if not suspended:
        return ""
    names = sorted(suspended)
    listed = ", ".join(map(repr, names[:5])) + (" and others" if len(names) > 5 else "")
    return f"; it may wait for a suspended thread: {listed}"


__all__ = ["TIME_LIMIT", "call", "explained", "new"]
