"""The requests about bytecode: ``disassemble``, and breakpoints at instructions."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.stopping.breakpoints import ClientBreakpoint, Create
from jvmti.adapter.stopping.hit_rules import Rule
from jvmti.classfile.opcodes import instructions
from jvmti.interface.errors import UnmodifiableClass
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.code.code_addresses import CodeAddresses
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.stopping.breakpoints import BreakpointRequests
    from jvmti.model.classes.java_class import Method
    from jvmti.model.classes.running_code import RunningCode

_MOST = 10_000
"""Instructions in a response at most."""


class DisassemblyRequests:
    """Answers requests about bytecode.

    Args:
        session: what requests share.
        breakpoints: keeps what was set.
        addresses: the addresses of instructions.
    """

    def __init__(
        self, session: DebugSession, breakpoints: BreakpointRequests, addresses: CodeAddresses
    ) -> None:
        self._session = session
        self._breakpoints = breakpoints
        self._addresses = addresses

    @answers("disassemble")
    def disassemble(self, given: Arguments) -> dict[str, Any]:
        """As many instructions as are asked for; beyond the method's ends, placeholders."""
        method, location = self._addresses.find(
            given.text("memoryReference"), given.number("offset", 0)
        )
        count = given.number("instructionCount")
        if not 0 <= count <= _MOST:
            raise RequestFailed(f"disassemble: instructionCount is at most {_MOST}, not {count}")
        listed = self._instructions(method)
        at = sum(1 for one in listed if one["location"] < location)
        first = at + given.number("instructionOffset", 0)
        start = self._addresses.start(method)
        end = listed[-1]["location"] + 1 if listed else 0
        found = []
        for index in range(first, first + count):
            if 0 <= index < len(listed):
                one = dict(listed[index])
                one["address"] = hex(start + one.pop("location"))
                found.append(one)
            else:
                # The addresses of placeholders must differ, and rise.
                beyond = index if index < 0 else end + index - len(listed)
                found.append(
                    {
                        "address": hex(max(start + beyond, 0)),
                        "instruction": "",
                        "presentationHint": "invalid",
                    }
                )
        return {"instructions": found}

    def _instructions(self, method: Method) -> list[dict[str, Any]]:
        from jvmti.classfile.disassembly import instruction_rows

        its = _code_of(self._session, method)
        within = method.declaring_class.signature[1:-1]
        texts = {
            location: " ".join(text.partition(":")[2].split())
            for text, location in instruction_rows(its.instructions, its.pool, within)
            if location is not None
        }
        found: list[dict[str, Any]] = []
        for one, code in zip(its.instructions, its.code, strict=True):
            shown: dict[str, Any] = {
                "location": one.location,
                "instruction": texts.get(one.location, one.name),
                "instructionBytes": code.hex(" "),
            }
            if not found:
                shown["symbol"] = printable(f"{method.class_name}.{method.name}")
            if one.location in its.lines:
                shown["line"] = self._session.to_client(its.lines[one.location])
            found.append(shown)
        return found

    @answers("setInstructionBreakpoints")
    def set_instruction_breakpoints(self, given: Arguments) -> dict[str, Any]:
        """The breakpoints at instructions."""
        wanted: list[tuple[Hashable, Create]] = []
        for item in given.each("breakpoints"):
            address, offset = item.text("instructionReference"), item.number("offset", 0)
            rule = Rule.of(item)
            wanted.append(((address, offset, rule), self._at_instruction(address, offset, rule)))
        return self._breakpoints.response(self._breakpoints.replace("instructions", wanted))

    def _at_instruction(self, address: str, offset: int, rule: Rule) -> Create:
        def create(one: ClientBreakpoint) -> None:
            method, location = self._addresses.find(address, offset)
            functions = self._breakpoints.functions(one, rule, "instruction breakpoint")
            one.request = method.breakpoint(
                location=location,
                when=functions.when,
                hits=functions.hits,
                do=functions,
            )
            one.is_verified = True

        return create


def _code_of(session: DebugSession, method: Method) -> RunningCode:
    """The code of a method without our probes, the lines that begin in it, and its constants."""
    from jvmti.model.classes.running_code import RunningCode, running_code

    cls = method.declaring_class
    if not session.vm.lookup_env.is_method_obsolete(method):
        try:
            file = cls.class_file_before_probes
            code = file.method(method.name, method.signature).code
        except (UnmodifiableClass, LookupError):
            pass  # Hidden, which gets no probes.
        else:
            its = b"" if code is None else code.bytecodes
            found = list(instructions(its))
            pieces = [its[one.location : one.location + one.size] for one in found]
            lines = {} if code is None else dict(code.lines)
            return RunningCode(found, pieces, lines, file.constant_pool)
    return running_code(method)


__all__ = ["DisassemblyRequests"]
