"""The requests about bytecode: ``disassemble``, and breakpoints at instructions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from jvmti.adapter.protocol.arguments import Arguments, RequestFailed
from jvmti.adapter.protocol.requests import answers
from jvmti.adapter.stopping.breakpoints import ClientBreakpoint, Create
from jvmti.adapter.stopping.hit_rules import Rule
from jvmti.classfile.disassembly import code_rows
from jvmti.classfile.opcodes import instructions
from jvmti.interface.errors import UnmodifiableClass
from jvmti.text.printable import printable

if TYPE_CHECKING:
    from jvmti.adapter.code.code_addresses import CodeAddresses
    from jvmti.adapter.debug_session import DebugSession
    from jvmti.adapter.stopping.breakpoints import BreakpointRequests
    from jvmti.classfile.constant_pool import Constant
    from jvmti.model.classes.java_class import Method

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
        code, lines, pool = _code_of(method)
        texts = _texts(method, code, pool)
        found: list[dict[str, Any]] = []
        for one in instructions(code):
            shown: dict[str, Any] = {
                "location": one.location,
                "instruction": texts.get(one.location, one.name),
                "instructionBytes": code[one.location : one.location + one.size].hex(" "),
            }
            if not found:
                shown["symbol"] = printable(f"{method.class_name}.{method.name}")
            if one.location in lines:
                shown["line"] = self._session.to_client(lines[one.location])
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


def _code_of(method: Method) -> tuple[bytes, dict[int, int], Mapping[int, Constant]]:
    """The code of a method without our probes, the lines that begin in it, and its constants."""
    cls = method.declaring_class
    try:
        file = cls.class_file_before_probes
        code = file.method(method.name, method.signature).code
    except (UnmodifiableClass, LookupError):
        # Hidden, which gets no probes; or the class was redefined, and has the method no more.
        lines = {one.start_location: one.line_number for one in method.lines}
        return method.bytecodes, lines, cls.constant_pool
    if code is None:
        return b"", {}, file.constant_pool
    return code.bytecodes, dict(code.lines), file.constant_pool


def _texts(method: Method, code: bytes, pool: Mapping[int, Constant]) -> dict[int, str]:
    """The instructions of a method as ``javap`` writes them, by their locations."""
    texts: dict[int, str] = {}
    for text, location in code_rows(code, pool, method.declaring_class.signature[1:-1]):
        if location is not None:
            texts[location] = " ".join(text.partition(":")[2].split())
    return texts


__all__ = ["DisassemblyRequests"]
