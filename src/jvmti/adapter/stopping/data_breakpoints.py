"""The requests that stop threads at reads and writes of fields."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.showing.shown_values import text_of
from jvmti.adapter.showing.stacks import FrameReference
from jvmti.adapter.stopping.breakpoints import ClientBreakpoint, Create
from jvmti.adapter.stopping.hit_rules import Rule
from jvmti.model.objects.layouts import layout_of
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.showing.variables import VariableRequests
    from jvmti.adapter.stopping.breakpoints import BreakpointRequests
    from jvmti.model.debug.stops import Stop
    from jvmti.model.debug.watchpoints import Watchpoint

_ACCESS = {"read": (True, False), "write": (False, True), "readWrite": (True, True)}


class DataBreakpointRequests:
    """Answers requests about breakpoints at fields.

    Args:
        session: what requests share.
        breakpoints: keeps what was set.
        variables: knows which field a variable is.
    """

    def __init__(
        self, session: DebugSession, breakpoints: BreakpointRequests, variables: VariableRequests
    ) -> None:
        self._session = session
        self._breakpoints = breakpoints
        self._variables = variables

    @answers("dataBreakpointInfo")
    def data_breakpoint_info(self, given: Arguments) -> dict[str, Any]:
        """The field that a variable is, if it is one."""
        name = given.text("name")
        if given.has("variablesReference"):
            halted, parts = self._variables.parts(given.number("variablesReference"))
            found = self._session.run(halted, lambda: parts.field(name))
        elif given.has("frameId"):
            halted, reference = self._session.references.get(
                given.number("frameId"), FrameReference, "frame"
            )
            found = self._session.run(halted, lambda: _field_of(reference, name))
        else:
            found = name.rpartition(".")[::2] if "." in name else None
        if found is None:
            return {
                "dataId": None,
                "description": f"{printable(name)} is not a field: only reads and writes of fields "
                "stop threads",
            }
        identity = f"{found[0]}.{found[1]}"
        return {
            "dataId": identity,
            "description": f"{printable(identity)}, of any object",
            "accessTypes": list(_ACCESS),
            "canPersist": True,
        }

    @answers("setDataBreakpoints")
    def set_data_breakpoints(self, given: Arguments) -> dict[str, Any]:
        """The breakpoints at fields."""
        self._session.vm  # noqa: B018 - without one there is nothing to set them in
        wanted: list[tuple[Hashable, Create]] = []
        for item in given.each("breakpoints"):
            identity = item.text("dataId")
            access = item.text("accessType", "write")
            if access not in _ACCESS:
                raise RequestFailed(f"accessType is read, write or readWrite, not {access[:40]!r}")
            rule = Rule.of(item)
            wanted.append(((identity, access, rule), self._at_field(identity, access, rule)))
        return self._breakpoints.response(self._breakpoints.replace("data", wanted))

    def _at_field(self, identity: str, access: str, rule: Rule) -> Create:
        def create(one: ClientBreakpoint) -> None:
            owner, _, name = identity.rpartition(".")
            if not owner or not name:
                raise RequestFailed(
                    f"a field is named with its class, as com.acme.Order.total; not {identity!r}"
                )
            read, write = _ACCESS[access]
            functions = self._breakpoints.functions(one, rule, "data breakpoint", text=_accessed)
            one.request = request = self._session.vm.watch(
                owner,
                name,
                read=read,
                write=write,
                when=functions.when,
                hits=functions.hits,
                do=functions,
                placed=lambda request: self._placed(one, request),
            )
            _note(one, request)

        return create

    def _placed(self, one: ClientBreakpoint, request: Watchpoint) -> None:
        """Its class has been loaded."""
        _note(one, request)
        self._session.conversation.event(
            "breakpoint", reason="changed", breakpoint=self._breakpoints.shown(one)
        )


def _note(one: ClientBreakpoint, request: Watchpoint) -> None:
    one.is_verified = request.field is not None
    one.message = request.failure
    if request.is_pending:
        one.message = request.pending_reason or "no class of that name is loaded yet"


def _field_of(reference: FrameReference, name: str) -> tuple[str, str] | None:
    frame = reference.frame()
    name = name.removeprefix("this.")
    if name in frame.locals:
        return None
    try:
        place = layout_of(frame.method.declaring_class).find(name)
    except KeyError:
        return None
    return place.owner, place.name


def _accessed(stop: Stop) -> str | None:
    field = stop.field
    if field is None:
        return None
    name = f"{field.declaring_class.name}.{field.name}"
    if not stop.is_write:
        return printable(f"{name} is read")
    return printable(f"{name} becomes {text_of(stop.new_value, field.signature)}", 500)


__all__ = ["DataBreakpointRequests"]
