"""The requests about exceptions: where they stop threads, and what the one at a stop is."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.stopping.breakpoints import ClientBreakpoint, Create
from jvmti.adapter.stopping.hit_rules import Rule
from jvmti.interface.errors import Error
from jvmti.interface.signatures import in_any_package
from jvmti.model.debug.prepared_classes import PreparedClasses
from jvmti.text.printable import printable, printable_lines

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.stopping.breakpoints import BreakpointRequests
    from jvmti.model.debug.stops import Stop

_IF = re.compile(r"\s*(.*?)\s*(?:\bif\b\s*(.*))?\Z", re.DOTALL)
_CLASS = re.compile(r"[\w$.*?]+\Z")
_FILTERS = {"caught": ["caught"], "uncaught": ["uncaught"], "thrown": ["caught", "uncaught"]}
"""The kinds of exceptions that each filter means; late there is the last alone."""
_CAUSES = 20
"""Causes of an exception that are shown at most."""


class ExceptionRequests:
    """Answers requests about exceptions.

    Args:
        session: what requests share.
        breakpoints: keeps what was set.
    """

    def __init__(self, session: DebugSession, breakpoints: BreakpointRequests) -> None:
        self._session = session
        self._breakpoints = breakpoints

    @answers("setExceptionBreakpoints")
    def set_exception_breakpoints(self, given: Arguments) -> dict[str, Any]:
        """Stop threads that throw exceptions of some classes, caught or not."""
        self._session.vm  # noqa: B018 - without one there is nothing to set them in
        chosen = [(name, "") for name in given.texts("filters")]
        chosen += [
            (one.text("filterId"), one.text("condition", "")) for one in given.each("filterOptions")
        ]
        for name, _ in chosen:
            if name not in _FILTERS:
                raise RequestFailed(
                    f"there is no filter {printable(name, 40)!r}; there are caught and uncaught, "
                    "and thrown for both"
                )
        kinds: dict[str, set[str]] = {}
        for name, condition in chosen:
            kinds.setdefault(condition, set()).update(_FILTERS[name])
        # Both kinds with one condition are one request: a late agent cannot tell them apart.
        wanted: list[tuple[Hashable, Create]] = [
            ((condition, frozenset(names)), self._thrown(condition, names))
            for condition, names in kinds.items()
        ]
        found = dict(zip(kinds, self._breakpoints.replace("exceptions", wanted), strict=True))
        return self._breakpoints.response([found[condition] for _, condition in chosen])

    def _thrown(self, condition: str, names: set[str]) -> Create:
        def create(one: ClientBreakpoint) -> None:
            matched = _IF.match(condition)
            assert matched is not None
            classes = [name for name in re.split(r"[\s,]+", matched[1]) if name]
            for name in classes:
                if not _CLASS.match(name):
                    raise RequestFailed(
                        f"{printable(name, 60)!r} is no name of a class; a condition is, as "
                        "java.lang.IllegalStateException, com.acme.* if n > 1000"
                    )
            functions = self._breakpoints.functions(
                one, Rule(matched[2] or "", "", ""), "exception", text=_thrown_text
            )
            one.request = self._session.vm.catch(
                "\n".join(classes or ["java.lang.Throwable"]),
                caught="caught" in names,
                uncaught="uncaught" in names,
                when=functions.when,
                do=functions,
            )
            one.message = one.request.pending_reason
            one.is_verified = one.message is None
            if not one.is_verified:
                self._wait_for(one, classes)

        return create

    def _wait_for(self, one: ClientBreakpoint, classes: list[str]) -> None:
        """Say so as soon as one of the classes is loaded, of which there is none yet."""

        def loaded(_: object) -> None:
            if not one.is_verified:
                one.is_verified, one.message = True, None
                self._breakpoints.changed(one)

        meant = "\n".join(each for name in classes for each in in_any_package(name))
        one.watch = PreparedClasses(self._session.vm, meant, loaded)

    @answers("exceptionInfo")
    def exception_info(self, given: Arguments) -> dict[str, Any]:
        """The exception that a thread has stopped for."""
        halted = self._session.halted.get(given.number("threadId"))
        stop = halted.stop
        if stop is None or stop.exception is None:
            raise RequestFailed(f"thread {halted.id} has not stopped because of an exception")
        thrown = stop.exception

        def read() -> dict[str, Any]:
            assert stop is not None
            foreseen = not stop.request.is_emulated and stop.catch_method is None
            body: dict[str, Any] = {
                "exceptionId": printable(thrown.cls.name),
                "breakMode": "unhandled" if foreseen else "always",
                "details": _details(thrown, _CAUSES),
            }
            if thrown.message:
                body["description"] = printable_lines(thrown.message)
            return body

        return self._session.run(halted, read)


def _thrown_text(stop: Stop) -> str | None:
    thrown = stop.exception
    if thrown is None:
        return None
    try:
        message = thrown.message
    except Error:
        message = None
    return printable(thrown.cls.name + (f": {message}" if message else ""), 500)


def _details(thrown: Any, most: int) -> dict[str, Any]:
    name = thrown.cls.name
    details: dict[str, Any] = {
        "typeName": printable(name.rpartition(".")[2]),
        "fullTypeName": printable(name),
    }
    if thrown.message is not None:
        details["message"] = printable_lines(thrown.message)
    try:
        details["stackTrace"] = "\n".join(f"at {one}" for one in thrown.stack_trace)
    except Error as error:
        details["stackTrace"] = f"not available: {error}"
    cause = thrown.cause
    if cause is not None and most:
        details["innerException"] = [_details(cause, most - 1)]
    return details


__all__ = ["ExceptionRequests"]
