"""Conditions of breakpoints, compiled from text; the agent evaluates them without the controller.

A condition compares local variables, and fields of objects in them, with constants: ``n > 1000 and
order.customer.name == "Host"``.  A number in a box counts as the number, and ``len(x)`` is the
length of an array or a string.  Python's own parser reads it; `jvmti.layouts.conditions` has the
instructions.

The method of a breakpoint is known, so its condition goes to the agent.  A watchpoint or catchpoint
can stop in any method: `ControllerCondition` compiles the condition for that one and interprets the
same instructions in the controller. It has no fields.
"""

from __future__ import annotations

import ast
import logging
import operator
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.deferred import difflib
from jvmti.interface.comparable import TEXTS, incomparable
from jvmti.interface.errors import AbsentInformation, Error, JvmtiError, NativeMethod
from jvmti.interface.signatures import BOXED, RANGES, STRING, a_type
from jvmti.layouts.conditions import INSTRUCTION, LIMITS, Operation, Relation
from jvmti.model.debug.variables import Variable, object_or_text
from jvmti.text.syntax import syntax_reason

if TYPE_CHECKING:
    from jvmti.env.structures import LocalVariableEntry
    from jvmti.model.classes.java_class import Field
    from jvmti.model.debug.stops import Stop
    from jvmti.model.vm import VM

log = logging.getLogger("jvmti")

_RELATIONS: dict[type[ast.cmpop], Relation] = {
    ast.Eq: Relation.EQUAL,
    ast.Is: Relation.EQUAL,
    ast.NotEq: Relation.NOT_EQUAL,
    ast.IsNot: Relation.NOT_EQUAL,
    ast.Lt: Relation.LESS,
    ast.LtE: Relation.LESS_OR_EQUAL,
    ast.Gt: Relation.GREATER,
    ast.GtE: Relation.GREATER_OR_EQUAL,
}
_COMPARED: dict[int, Callable[[Any, Any], bool]] = {
    Relation.EQUAL: operator.eq,
    Relation.NOT_EQUAL: operator.ne,
    Relation.LESS: operator.lt,
    Relation.LESS_OR_EQUAL: operator.le,
    Relation.GREATER: operator.gt,
    Relation.GREATER_OR_EQUAL: operator.ge,
}
_TURNED = {
    Relation.EQUAL: Relation.EQUAL,
    Relation.NOT_EQUAL: Relation.NOT_EQUAL,
    Relation.LESS: Relation.GREATER,
    Relation.LESS_OR_EQUAL: Relation.GREATER_OR_EQUAL,
    Relation.GREATER: Relation.LESS,
    Relation.GREATER_OR_EQUAL: Relation.LESS_OR_EQUAL,
}
_EQUALITY = (Relation.EQUAL, Relation.NOT_EQUAL)
_RECORDED = {*"ZBCSIJFD", STRING}
_FEW = 8
"""Up to this many variables an error names all; of more, similar ones."""

_OTHERS = "; pass a Python function instead, which takes the stop while the thread waits"


class Condition(NamedTuple):
    """A condition as the agent takes it."""

    instructions: list[int]
    """In the form of `jvmti.layouts.conditions.INSTRUCTION`, one after the other."""
    texts: bytes
    """The texts that it compares with, in UTF-16."""
    fields: Sequence[Field] = ()
    """The fields that it reads."""
    is_all: bool = False
    """Whether nothing is left of a function's condition."""
    records: bool = False
    """Whether hits are recorded, and stop no thread where all can be read."""


NONE = Condition([], b"")

FindField = Callable[[str, str, "str | None"], "Field"]
"""Finds the field of a class: by the signature of the class, the field's name, and the name of the
class that declares it, where that is given. Raises LookupError."""


class ConditionError(Error, ValueError):
    """A condition that the agent cannot evaluate; the message names the part."""


def parse(text: str) -> ast.expr:
    """The syntax tree of a condition.

    Raises:
        ConditionError: not an expression, or one that the agent cannot evaluate.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        why = syntax_reason(text, error)
        raise ConditionError(f"the condition {text!r} is not an expression: {why}") from None
    _Compiler(text, None).condition(tree)
    return tree


def compiled(
    text: str,
    tree: ast.expr,
    table: Sequence[LocalVariableEntry],
    location: int,
    unnamed: Sequence[Variable] = (),
    find_field: FindField | None = None,
) -> Condition:
    """A condition on the local variables in scope at a location.

    Args:
        text: the condition.
        tree: what `parse` made of it.
        table: the local variables of the method.
        location: the bytecode index of the breakpoint.
        unnamed: the parameters, where the class was compiled without names: ``slot1`` is the one
            in slot 1.
        find_field: finds fields; ``None`` if the condition can have none.

    Raises:
        ConditionError: there is no such variable, or it cannot be compared so.
    """
    there = [
        Variable(one.name, one.signature, one.slot) for one in table if _is_there(one, location)
    ]
    by_slot = [Variable(one.name or f"slot{one.slot}", one.signature, one.slot) for one in unnamed]
    compiler = _Compiler(text, there or by_slot, table, find_field)
    compiler.condition(tree)
    if len(compiler.code) > LIMITS.INSTRUCTIONS:
        raise ConditionError(
            f"the condition {text!r} is too long: it makes {len(compiler.code)} instructions, and "
            f"{LIMITS.INSTRUCTIONS} is the most{_OTHERS}"
        )
    return Condition(
        [number for one in compiler.code for number in one],
        bytes(compiler.texts),
        list(compiler.fields),
    )


def recording(
    condition: Condition,
    values: Sequence[str],
    number: Callable[[Sequence[str]], int],
    table: Sequence[LocalVariableEntry],
    location: int,
    find_field: FindField,
) -> Condition:
    """A condition that records values where it holds, in place of a stop.

    Args:
        condition: the condition.
        values: variables, fields and lengths, in the agent's words.
        number: for values of these types.
        table: the local variables of the method.
        location: the bytecode index of the breakpoint.
        find_field: finds fields.

    Raises:
        ConditionError: the agent cannot record one of them.
    """
    there = [
        Variable(one.name, one.signature, one.slot) for one in table if _is_there(one, location)
    ]
    compiler = _Compiler(", ".join(values), there, table, find_field)
    compiler.fields |= {one: at for at, one in enumerate(condition.fields)}
    compiler.code = [list(one) for one in INSTRUCTION.rows(condition.instructions)]
    jump = [Operation.SKIP_IF_FALSE, 0, 0, 0, 0]
    if compiler.code:
        compiler.code.append(jump)
    compiler.code.append(record := [Operation.RECORD, 0, 0, 0, 0])
    signatures = [compiler.record(ast.parse(one, mode="eval").body) for one in values]
    jump[3] = len(compiler.code)
    if len(compiler.code) > LIMITS.INSTRUCTIONS:
        raise ConditionError(f"{values!r} are too many values for the agent")
    record[4] = number(signatures)
    instructions = [value for one in compiler.code for value in one]
    return condition._replace(instructions=instructions, fields=list(compiler.fields), records=True)


def _is_there(variable: LocalVariableEntry, location: int) -> bool:
    return variable.start_location <= location < variable.start_location + variable.length


class ControllerCondition:
    """A condition that the controller evaluates, for any method that a thread has stopped in.

    It is false in a method without such variables, and logs that once per method.

    Args:
        vm: the JVM; the model's environment takes ``can_access_local_variables``.
        text: the condition.

    Raises:
        ConditionError: the text is not a condition.
        NotAvailable: this JVM gives no access to local variables now.
    """

    def __init__(self, vm: VM, text: str) -> None:
        self._text = text
        self._tree = parse(text)
        for one in ast.walk(self._tree):
            if isinstance(one, ast.Attribute | ast.Call):
                why = f"only breakpoints compare fields and lengths{_OTHERS}"
                raise _Compiler(text, None).refuse(one, why)
        self._env = vm.breakpoints.environment("can_access_local_variables")
        self._without: set[str] = set()

    def __call__(self, stop: Stop) -> bool:
        """Whether it holds in the topmost frame; called on the waiting thread."""
        with stop._conversing():
            return self._holds_at(stop)

    def _holds_at(self, stop: Stop) -> bool:
        try:
            table = self._env.get_local_variable_table(stop.method)
        except (AbsentInformation, NativeMethod):
            table = []
        try:
            condition = compiled(self._text, self._tree, table, stop.location)
        except ConditionError as error:
            name = f"{stop.method.class_name}.{stop.method.name}"
            if name not in self._without:
                self._without.add(name)
                log.info("the condition is false in %s: %s", name, str(error))
            return False
        try:
            return self._holds(condition, stop)
        except JvmtiError:
            return True  # as in the agent: stop, so that the user sees the unreadable variable

    def _holds(self, condition: Condition, stop: Stop) -> bool:
        instructions = list(INSTRUCTION.rows(condition.instructions))
        truth, at = True, 0
        while at < len(instructions):
            operation, type_, slot, relation, constant = instructions[at]
            at += 1
            if operation == Operation.TEST:
                value, wanted = self._sides(condition.texts, chr(type_), slot, constant, stop)
                truth = _COMPARED[relation](value, wanted)
            elif operation == Operation.NOT:
                truth = not truth
            elif truth == (operation == Operation.SKIP_IF_TRUE):
                at = relation
        return truth

    def _sides(
        self, texts: bytes, type_: str, slot: int, constant: int, stop: Stop
    ) -> tuple[Any, Any]:
        env, thread = self._env, stop.thread
        match type_:
            case "I":
                return env.get_local_int(thread, 0, slot), constant
            case "J":
                return env.get_local_long(thread, 0, slot), constant
            case "F":
                return env.get_local_float(thread, 0, slot), _double(constant)
            case "D":
                return env.get_local_double(thread, 0, slot), _double(constant)
        value = env.get_local_object(thread, 0, slot)
        if type_ == "L":
            return value is None, True
        start, length = constant >> 32, constant & 0xFFFFFFFF
        units = texts[2 * start : 2 * (start + length)]
        return object_or_text(stop._vm, value), units.decode("utf-16-le", "surrogatepass")


def _double(bits: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(value)


def _is_value(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Name | ast.Attribute) or _measured(tree) is not None


def _measured(tree: ast.expr) -> ast.expr | None:
    """The array or string that a length is of; ``None`` where it is no length."""
    match tree:
        case ast.Call(ast.Name("len"), [measured], []):
            return measured
    return None


class _Compiler:
    """Compiles to instructions; without variables it only checks the syntax."""

    def __init__(
        self,
        text: str,
        variables: Sequence[Variable] | None,
        all_variables: Sequence[LocalVariableEntry] = (),
        find_field: FindField | None = None,
    ) -> None:
        self.text = text
        self.find_field = find_field
        self.fields: dict[Field, int] = {}
        """Those that it reads, with their places among them."""
        self.variables = variables
        self.all_variables = all_variables
        self.code: list[list[int]] = []
        self.texts = bytearray()

    def refuse(self, part: ast.AST, why: str) -> ConditionError:
        named = ast.get_source_segment(self.text.strip(), part) or self.text
        return ConditionError(f"{named!r} in the condition {self.text!r}: {why}")

    def condition(self, tree: ast.expr) -> None:
        match tree:
            case ast.BoolOp(op, values):
                skip = (
                    Operation.SKIP_IF_FALSE if isinstance(op, ast.And) else Operation.SKIP_IF_TRUE
                )
                self.joined([lambda one=one: self.condition(one) for one in values], skip)
            case ast.UnaryOp(ast.Not(), operand):
                self.condition(operand)
                self.code.append([Operation.NOT, 0, 0, 0, 0])
            case ast.Compare(left, operators, others):
                pairs = zip([left, *others], operators, others, strict=False)
                self.joined(
                    [lambda pair=pair: self.comparison(tree, *pair) for pair in pairs],
                    Operation.SKIP_IF_FALSE,
                )
            case ast.Name() | ast.Attribute():
                self.test(tree, tree, Relation.EQUAL, True)
            case _:
                raise self.refuse(
                    tree, f"the agent compares variables with constants only{_OTHERS}"
                )

    def joined(self, parts: list[Any], skip: Operation) -> None:
        jumps = []
        for number, part in enumerate(parts):
            if number:
                jumps.append([skip, 0, 0, 0, 0])
                self.code.append(jumps[-1])
            part()
        for jump in jumps:
            jump[3] = len(self.code)

    def comparison(
        self, whole: ast.expr, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> None:
        relation = _RELATIONS.get(type(operator))
        if relation is None:
            raise self.refuse(whole, f"the agent does not know `in`{_OTHERS}")
        if _is_value(left) and not _is_value(right):
            self.test(whole, left, relation, self.constant(right))
        elif _is_value(right) and not _is_value(left):
            self.test(whole, right, _TURNED[relation], self.constant(left))
        else:
            both = _is_value(left)
            what = "two variables" if both else "no variable"
            for side in () if both else (left, right):
                if not isinstance(side, ast.Constant):
                    raise self.refuse(side, f"it is neither a variable nor a constant{_OTHERS}")
            raise self.refuse(
                whole, f"there is {what}: one side is a variable, the other a constant{_OTHERS}"
            )

    def constant(self, tree: ast.expr) -> Any:
        match tree:
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
                return -value
            case ast.Constant(bool() | int() | float() | str() | None as value):
                return value
        raise self.refuse(tree, f"not a Java constant{_OTHERS}")

    def test(self, whole: ast.expr, value: ast.expr, relation: Relation, constant: Any) -> None:
        measured = _measured(value)
        name, path = self.path(value if measured is None else measured)
        if self.variables is None:
            return
        variable = self.variable(name)
        before = self.taken(value, variable, path)
        signature = before[-1][0].signature if before else variable.signature
        if measured is not None:
            self.test_length(whole, measured, before, variable, relation, constant)
            return
        if signature in BOXED and constant is not None:
            before = self.taken(value, variable, [*path, ("value", None)])
        if before:
            signature = before[-1][0].signature
            variable = Variable(ast.unparse(value), signature, self.place_of(before[-1][0]))
        type_, number = self.typed(whole, variable, relation, constant)
        if type_ in "LT" and relation not in _EQUALITY:
            raise self.refuse(
                whole, f"{variable.name} is {a_type(variable.signature)}, which has no order"
            )
        self.code += [take for _, take in before]
        operation = Operation.TEST_FIELD if before else Operation.TEST
        self.code.append([operation, ord(type_), variable.slot, relation, number])

    def record(self, value: ast.expr) -> str:
        """Record a value; its signature."""
        measured = _measured(value)
        name, path = self.path(value if measured is None else measured)
        variable = self.variable(name)
        taken = self.taken(value, variable, path)
        signature = taken[-1][0].signature if taken else variable.signature
        if measured is not None:
            self.code += [take for _, take in taken]
            self.code.append(self.object_at_hand(taken, variable))
            self.code.append([Operation.RECORD_LENGTH, 0, 0, 0, 0])
            return "I"
        is_box = signature in BOXED
        if is_box:
            taken = self.taken(value, variable, [*path, ("value", None)])
            signature = taken[-1][0].signature
        if signature not in _RECORDED:
            raise self.refuse(value, f"{a_type(signature)} is not recorded")
        self.code += [take for _, take in taken]
        if taken:
            null = ord("N") if is_box else 0
            self.code.append([Operation.RECORD_FIELD, null, self.place_of(taken[-1][0]), 0, 0])
        else:
            type_ = "T" if signature == STRING else signature if signature in "JFD" else "I"
            self.code.append([Operation.RECORD_LOCAL, ord(type_), variable.slot, 0, 0])
        return signature

    def object_at_hand(
        self, taken: Sequence[tuple[Any, list[int]]], variable: Variable
    ) -> list[int]:
        """Takes the object of a path itself."""
        if taken:
            return [Operation.TAKE_FIELD, 0, self.place_of(taken[-1][0]), 0, 0]
        return [Operation.TAKE_LOCAL, 0, variable.slot, 0, 0]

    def test_length(
        self,
        whole: ast.expr,
        measured: ast.expr,
        before: Sequence[tuple[Any, list[int]]],
        variable: Variable,
        relation: Relation,
        constant: Any,
    ) -> None:
        """Compare the length of an array or a string, which is taken by what comes before."""
        self.code += [take for _, take in before]
        signature = before[-1][0].signature if before else variable.signature
        take = self.object_at_hand(before, variable)
        if not signature.startswith("[") and signature != STRING:
            raise self.refuse(measured, f"{a_type(signature)} has no length{_OTHERS}")
        length = Variable(f"len({ast.unparse(measured)})", "I", 0)
        type_, number = self.typed(whole, length, relation, constant)
        self.code += [take, [Operation.TEST_LENGTH, ord(type_), 0, relation, number]]

    def path(self, tree: ast.expr) -> tuple[ast.Name, list[tuple[str, str | None]]]:
        """The variable of a value, and fields from there: names, and classes that declare them."""
        path: list[tuple[str, str | None]] = []
        while isinstance(tree, ast.Attribute):
            name, declared_by, tree = tree.attr, None, tree.value
            if isinstance(tree, ast.Subscript):
                owner = tree.slice
                if not isinstance(owner, ast.Constant) or not isinstance(owner.value, str):
                    raise self.refuse(tree, "in brackets is the class that declares the field")
                declared_by, tree = owner.value, tree.value
            path.insert(0, (name, declared_by))
        if not isinstance(tree, ast.Name):
            raise self.refuse(tree, f"it is neither a variable nor a constant{_OTHERS}")
        return tree, path

    def taken(
        self, whole: ast.expr, variable: Variable, path: Sequence[tuple[str, str | None]]
    ) -> list[tuple[Any, list[int]]]:
        """The fields of a path, each with the instruction that takes the object that has it."""
        found: list[tuple[Any, list[int]]] = []
        signature = variable.signature
        take = [Operation.TAKE_LOCAL, 0, variable.slot, 0, 0]
        for name, declared_by in path:
            if self.find_field is None:
                raise self.refuse(whole, f"only breakpoints compare fields{_OTHERS}")
            try:
                one = self.find_field(signature, name, declared_by)
            except LookupError as error:
                raise self.refuse(whole, f"{error}{_OTHERS}") from None
            found.append((one, take))
            signature = one.signature
            take = [Operation.TAKE_FIELD, 0, self.place_of(one), 0, 0]
        return found

    def place_of(self, one: Any) -> int:
        """The place of a field among those of the condition."""
        return self.fields.setdefault(one, len(self.fields))

    def variable(self, name: ast.Name) -> Variable:
        assert self.variables is not None
        for one in self.variables:
            if one.name == name.id:
                return one
        if not self.all_variables:
            slots = ", ".join(f"{one.name} ({one.type})" for one in self.variables) or "none"
            raise self.refuse(
                name,
                "the class was compiled without the names of local variables (javac -g); its "
                f"parameters are {slots}{_OTHERS}",
            )
        if any(one.name == name.id for one in self.all_variables):
            raise self.refuse(name, "the variable has no value yet at this place")
        names = [str(one.name) for one in self.variables]
        if len(names) > _FEW:
            names = difflib.get_close_matches(name.id, names, n=3) or [*names[:_FEW], "others"]
        there = f"there are {', '.join(names)}" if names else "there are none at this place"
        raise self.refuse(name, f"there is no such local variable; {there}")

    def typed(
        self, whole: ast.expr, variable: Variable, relation: Relation, value: Any
    ) -> tuple[str, int]:
        """The type to compare by, and the constant in it."""
        signature = variable.signature
        impossible = f"what {a_type(signature)} can be"

        def other(wanted: str | None = None) -> ConditionError:
            return self.refuse(whole, incomparable(str(variable.name), signature, value, wanted))

        match signature:
            case "Z":
                if not isinstance(value, bool) or relation not in _EQUALITY:
                    raise other()
                return "I", int(value)
            case "C":
                if isinstance(value, str) and len(value) == 1 and ord(value) < 0x10000:
                    return "I", ord(value)
                if isinstance(value, int) and not isinstance(value, bool):
                    return "I", value
                raise other()
            case "B" | "S" | "I" | "J":
                if isinstance(value, float) and value.is_integer():
                    value = int(value)
                if not isinstance(value, int) or isinstance(value, bool):
                    raise other()
                least, most = RANGES[signature if relation is Relation.EQUAL else "J"]
                if not least <= value <= most:
                    raise other(impossible)
                return "J" if signature == "J" else "I", value
            case "F" | "D":
                if not isinstance(value, int | float) or isinstance(value, bool):
                    raise other()
                try:
                    number = float(value)
                    if signature == "F":
                        (number,) = struct.unpack("<f", struct.pack("<f", number))
                except OverflowError:
                    raise other(impossible) from None
                (bits,) = struct.unpack("<q", struct.pack("<d", number))
                return signature, bits
        if value is None:
            return "L", 0
        if isinstance(value, str) and signature in TEXTS:
            units = value.encode("utf-16-le", "surrogatepass")
            at = len(self.texts) // 2
            self.texts += units
            return "T", at << 32 | len(units) // 2
        raise other()


__all__ = ["NONE", "ControllerCondition", "Condition", "ConditionError", "compiled", "parse"]
