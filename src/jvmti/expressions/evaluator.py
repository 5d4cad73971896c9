"""Evaluates the syntax tree of a Java expression in a frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jvmti.expressions.errors import ExpressionError
from jvmti.expressions.methods import Methods, NoSuchCall
from jvmti.expressions.names import Names, TypeName
from jvmti.expressions.parsing import ParsedExpression, children, field
from jvmti.expressions.running import Forbidden, Running, model_value
from jvmti.expressions.scope import Scope
from jvmti.expressions.values import literals, operators
from jvmti.expressions.values.conversions import cast, is_text, narrowed, to_type
from jvmti.expressions.values.places import ElementPlace, NotAssigned, Place, assigned
from jvmti.expressions.values.typed import (
    LAMBDA,
    NOTHING,
    NULL,
    OBJECT,
    STRING,
    UNKNOWN,
    Text,
    Value,
    is_array,
)
from jvmti.expressions.values.types import Types
from jvmti.interface.errors import JavaException
from jvmti.interface.signatures import signature_of
from jvmti.model.values.conversion import BOXES

if TYPE_CHECKING:
    from tree_sitter import Node

    from jvmti.model.threads.frames import Frame

_NUMERIC_TYPES = ("integral_type", "floating_point_type", "boolean_type", "void_type")
_CLASS = "Ljava/lang/Class;"


class Evaluator:
    """One evaluation of an expression.

    Args:
        frame: the frame whose names it uses.
        expression: the expression.
        timeout: seconds for all of it; ``None`` is no limit.
        pure: refuse calls and assignments.
    """

    def __init__(
        self,
        frame: Frame,
        expression: ParsedExpression,
        timeout: float | None,
        *,
        pure: bool = False,
    ) -> None:
        self.expression = expression
        self._timeout = timeout
        self.running = Running(frame, timeout, pure=pure)
        self.types = Types(self.running)
        self.methods = Methods(self.running, self.types)
        self.scope = Scope(self.running, self.types)
        self.names = Names(self)
        self.failures: list[Exception] = []
        """Errors in lambdas that the program has called."""

    # ---- entry -----------------------------------------------------------------------------

    def evaluate(self) -> Value:
        """The value of the whole expression."""
        root = self.expression.root
        try:
            found = self.anything(root)
        except JavaException:
            if self.failures:
                raise self.failures[0] from None
            raise
        if isinstance(found, TypeName):
            raise self.error(root, f"{found.cls.name} is a type, not a value")
        if found.type == LAMBDA:
            raise self.error(
                root,
                "a lambda becomes an object where an interface is wanted: as an argument, or "
                "by a cast, (Runnable) () -> run()",
            )
        return found

    def within(self, bindings: dict[str, Value]) -> Evaluator:
        """An evaluation of a part that may come after the frame has moved on.

        Args:
            bindings: the variables, with their values.
        """
        made = Evaluator(self.running.frame, self.expression, self._timeout)
        made.scope.enter_lambda(self.scope.this, bindings)
        made.failures = self.failures
        return made

    def error(self, node: Node, reason: str) -> ExpressionError:
        """An error about a part of the expression."""
        return self.expression.error(node, reason)

    def source(self, node: Node) -> str:
        """The text of a part."""
        return self.expression.source(node)

    def anything(self, node: Node) -> Value | TypeName:
        """The value of a part, or the type that it names."""
        handler = _HANDLERS.get(node.type)
        if handler is None:
            raise self.error(node, _REFUSED.get(node.type, f"{node.type} is not evaluated"))
        try:
            return handler(self, node)
        except NoSuchCall as error:
            raise self.error(node, str(error)) from None
        except NotAssigned as error:
            raise self.error(node, str(error)) from None
        except Forbidden:
            raise self.error(node, "this would run code of the program, or change it") from None

    def value(self, node: Node) -> Value:
        """The value of a part."""
        found = self.anything(node)
        if isinstance(found, TypeName):
            raise self.error(node, f"{found.cls.name} is a type, not a value")
        return found

    def operand(self, node: Node) -> Value:
        """The value of a part that has one."""
        found = self.value(node)
        if found.type == "V":
            raise self.error(node, "the method returns nothing")
        return found

    def type_of(self, node: Node) -> Value:
        """The static type of a part that is not evaluated."""
        before, self.running.is_dry = self.running.is_dry, True
        try:
            return self.operand(node)
        finally:
            self.running.is_dry = before

    # ---- literals --------------------------------------------------------------------------

    def _literal(self, node: Node) -> Value:
        text = self.source(node)
        try:
            if node.type == "character_literal":
                return Value("C", literals.character(text[1:-1]), is_constant=True)
            if node.type == "string_literal":
                body = literals.text_block(text[3:-3]) if text.startswith('"""') else None
                found = literals.unescaped(text[1:-1]) if body is None else body
                return Value(STRING, Text(found, True), is_constant=True)
            if node.type.endswith("floating_point_literal"):
                letter, fraction = literals.fraction(text)
                return Value(letter, fraction, is_constant=True)
            negative = node.parent is not None and _is_minus(node.parent)
            letter, number = literals.whole_number(text, negative)
            return Value(letter, number, is_constant=True)
        except ValueError as error:
            raise self.error(node, str(error)) from None

    def _truth(self, node: Node) -> Value:
        return Value("Z", node.type == "true", is_constant=True)

    def _null(self, node: Node) -> Value:
        return NOTHING

    def _class_literal(self, node: Node) -> Value:
        signature = self.type_signature(children(node)[0], void=True)
        if self.running.is_dry:
            return Value(_CLASS, UNKNOWN)
        if len(signature) == 1:
            box = "java/lang/Void" if signature == "V" else BOXES[signature].signature[1:-1]
            cls = self.running.vm.bootstrap_class(box)
            jni = self.running.jni
            made = jni.get_static_field_id(cls, "TYPE", _CLASS)
            return Value(_CLASS, jni.get_static_object_field(cls, made))
        return Value(_CLASS, self.types.of(signature))

    def bind(self, names: Mapping[str, tuple[Any, str]]) -> None:
        """Add values that the frame has no variable for; see `evaluated`."""
        for name, (value, signature) in names.items():
            if self.scope.variable(name) is None:
                self.scope.bindings[name] = model_value(signature, value)

    # ---- names, members and calls ----------------------------------------------------------

    def _parenthesized(self, node: Node) -> Value | TypeName:
        return self.value(children(node)[0])

    def _this(self, node: Node) -> Value:
        this = self.scope.this
        if this is None:
            raise self.error(node, "there is no `this` in a static method")
        return Value(this.type, UNKNOWN) if self.running.is_dry else this

    def _name(self, node: Node) -> Value | TypeName:
        return self.names.value_or_type(node)

    def _element(self, node: Node) -> Value:
        return self.place(node).read()

    def place(self, node: Node) -> Place:
        """The variable, field or element that a part names.

        Raises:
            ExpressionError: it is none.
        """
        while node.type == "parenthesized_expression":
            node = children(node)[0]
        if node.type == "array_access":
            return self._element_place(node)
        if node.type in ("identifier", "field_access"):
            return self.names.place(node)
        raise self.error(node, "this is no variable, field or element of an array")

    def _element_place(self, node: Node) -> ElementPlace:
        array = self.operand(field(node, "array"))
        index = self.operand(field(node, "index"))
        if not is_array(array.type) and array.is_known:
            array = narrowed(self.running, array)
        if array.is_open and not array.is_known:
            array = array._replace(type=f"[{OBJECT}")
        if not is_array(array.type):
            raise self.error(node, f"{array.type_name} is no array")
        number = self._number(index, field(node, "index"))
        if operators.promoted(number.type) != "I":
            where = field(node, "index")
            raise self.error(where, f"an index is an int, not a {number.type_name}")
        return ElementPlace(self.running, array, number.data)

    # ---- operators -------------------------------------------------------------------------

    def _number(self, value: Value, node: Node) -> Value:
        """A value as a number, out of its box."""
        if value.primitive is None and value.is_known:
            value = narrowed(self.running, value)
        if value.is_open and value.primitive is None:
            if value.data is None:
                self.running.throw("NullPointerException")
            return Value("I", UNKNOWN, is_open=True)
        if value.primitive not in operators.NUMBERS:
            raise self.error(node, f"a number is needed here, not {_a(value)}")
        found = self.running.unboxed(value)
        return found._replace(is_constant=value.is_constant)

    def truth_of(self, value: Value, node: Node) -> bool:
        """A value as a boolean, out of its box."""
        if value.primitive is None and value.is_known:
            value = narrowed(self.running, value)
        if value.is_open and value.primitive is None:
            if value.data is None:
                self.running.throw("NullPointerException")
            return True
        if value.primitive != "Z":
            raise self.error(node, f"a boolean is needed here, not {_a(value)}")
        found = self.running.unboxed(value)
        return bool(found.data) if found.is_known else True

    def _binary(self, node: Node) -> Value:
        symbol = self.source(field(node, "operator"))
        left_node, right_node = field(node, "left"), field(node, "right")
        if symbol in ("&&", "||"):
            return self._joined(symbol, left_node, right_node)
        left, right = self.operand(left_node), self.operand(right_node)
        return self.combined(node, symbol, left, right)

    def combined(self, node: Node, symbol: str, left: Value, right: Value) -> Value:
        """The value of two operands and what stands between them."""
        if symbol == "+" and (is_text(left) or is_text(right)):
            return self._concatenated(left, right)
        if symbol in operators.EQUALITY_SYMBOLS:
            return self._equality(node, symbol, left, right)
        left_node = node.child_by_field_name("left") or node
        right_node = node.child_by_field_name("right") or node
        if symbol in operators.BITWISE_SYMBOLS and "Z" in (left.primitive, right.primitive):
            truths = self.truth_of(left, left_node), self.truth_of(right, right_node)
            if not (left.is_known and right.is_known):
                return Value("Z", UNKNOWN)
            constant = left.is_constant and right.is_constant
            return Value("Z", operators.arithmetic(symbol, "Z", *truths), False, constant)
        one, two = self._number(left, left_node), self._number(right, right_node)
        constant = one.is_constant and two.is_constant
        if symbol in operators.SHIFT_SYMBOLS:
            return self._shifted(node, symbol, one, two)
        letter = operators.promoted(one.type, two.type)
        if symbol in operators.BITWISE_SYMBOLS and letter in "FD":
            raise self.error(node, f"`{symbol}` takes whole numbers")
        if symbol in operators.ORDER_SYMBOLS:
            if not (one.is_known and two.is_known):
                return Value("Z", UNKNOWN)
            return Value("Z", operators.compared(symbol, *_both(one, two, letter)), False, constant)
        if not (one.is_known and two.is_known):
            return Value(letter, UNKNOWN, is_open=one.is_open or two.is_open)
        try:
            found = operators.arithmetic(symbol, letter, *_both(one, two, letter))
        except ZeroDivisionError:
            self.running.throw("ArithmeticException", "/ by zero")
        return Value(letter, found, is_constant=constant)

    def _joined(self, symbol: str, left_node: Node, right_node: Node) -> Value:
        left = self.operand(left_node)
        truth = self.truth_of(left, left_node)
        if self.running.is_dry:
            self.truth_of(self.operand(right_node), right_node)
            return Value("Z", UNKNOWN)
        if truth == (symbol == "||"):
            return Value("Z", truth)
        right = self.operand(right_node)
        return Value(
            "Z", self.truth_of(right, right_node), False, left.is_constant and right.is_constant
        )

    def _concatenated(self, left: Value, right: Value) -> Value:
        if not (left.is_known and right.is_known):
            return Value(STRING, UNKNOWN)
        text = self.running.text_of(left) + self.running.text_of(right)
        constant = left.is_constant and right.is_constant
        return Value(STRING, Text(text, constant), is_constant=constant)

    def _shifted(self, node: Node, symbol: str, one: Value, two: Value) -> Value:
        letter = operators.promoted(one.type)
        if letter in "FD" or operators.promoted(two.type) in "FD":
            raise self.error(node, f"`{symbol}` takes whole numbers")
        if not (one.is_known and two.is_known):
            return Value(letter, UNKNOWN)
        found = operators.shifted(symbol, letter, one.data, two.data)
        return Value(letter, found, is_constant=one.is_constant and two.is_constant)

    def _equality(self, node: Node, symbol: str, left: Value, right: Value) -> Value:
        constant = left.is_constant and right.is_constant
        if left.is_primitive or right.is_primitive:
            if not (left.is_known and right.is_known):
                return Value("Z", UNKNOWN)
            letters = (
                narrowed(self.running, left).primitive,
                narrowed(self.running, right).primitive,
            )
            if letters == ("Z", "Z"):
                one: Any = self.truth_of(left, node)
                other: Any = self.truth_of(right, node)
            elif None in letters or "Z" in letters:
                raise self.error(node, f"{_a(left)} is not compared with {_a(right)}")
            else:
                numbers = self._number(left, node), self._number(right, node)
                letter = operators.promoted(numbers[0].type, numbers[1].type)
                one, other = _both(*numbers, letter)
            return Value("Z", operators.compared(symbol, one, other), False, constant)
        if not (left.is_known and right.is_known):
            return Value("Z", UNKNOWN)
        if constant and isinstance(left.data, Text) and isinstance(right.data, Text):
            same = left.data.text == right.data.text
        elif left.data is None or right.data is None:
            same = left.data is right.data
        else:
            running = self.running
            same = running.jni.is_same_object(running.handle(left), running.handle(right))
        return Value("Z", bool(same) == (symbol == "=="), False, constant)

    def _unary(self, node: Node) -> Value:
        symbol = self.source(field(node, "operator"))
        inner = field(node, "operand")
        value = self.operand(inner)
        if symbol == "!":
            truth = self.truth_of(value, inner)
            if not value.is_known:
                return Value("Z", UNKNOWN)
            return Value("Z", not truth, False, value.is_constant)
        number = self._number(value, inner)
        letter = operators.promoted(number.type)
        if symbol == "~" and letter in "FD":
            raise self.error(node, "`~` takes a whole number")
        if not number.is_known:
            return Value(letter, UNKNOWN)
        plain = operators.converted(number.data, number.type, letter)
        if symbol == "-":
            plain = operators.negated(letter, plain)
        elif symbol == "~":
            plain = ~plain
        return Value(letter, plain, is_constant=number.is_constant)

    def _ternary(self, node: Node) -> Value:
        condition_node = field(node, "condition")
        condition = self.operand(condition_node)
        truth = self.truth_of(condition, condition_node)
        names = ("consequence", "alternative")
        if self.running.is_dry:
            one, other = (self.operand(field(node, name)) for name in names)
            return Value(self.of_both(one, other), UNKNOWN, is_open=one.is_open or other.is_open)
        taken = self.operand(field(node, names[not truth]))
        other = self.type_of(field(node, names[truth]))
        if other.is_open or taken.is_open:
            return taken
        found = to_type(self.running, taken, self.of_both(taken, other))
        return found

    def of_both(self, one: Value, other: Value) -> str:
        """The type of a conditional expression."""
        if one.type == other.type:
            return one.type
        letters = one.primitive, other.primitive
        if None not in letters and (
            one.is_primitive or other.is_primitive or letters[0] == letters[1]
        ):
            first, second = str(letters[0]), str(letters[1])
            if first == second:
                return first
            if "Z" not in letters:
                for wide, narrow in ((first, other), (second, one)):
                    constant = narrow.is_constant and narrow.type == "I"
                    if wide in "BSC" and constant and narrow.is_known:
                        if operators.fits(narrow.data, wide):
                            return wide
                if {first, second} == {"B", "S"}:
                    return "S"
                return operators.promoted(first, second)
        if None not in letters and "Z" not in letters:
            return operators.promoted(str(letters[0]), str(letters[1]))
        boxed = [
            BOXES[value.type].signature if value.is_primitive else value.type
            for value in (one, other)
        ]
        if NULL in boxed:
            return boxed[boxed[0] == NULL]
        return self.types.common(*boxed)

    def _cast(self, node: Node) -> Value:
        target = self.type_signature(field(node, "type"))
        value = self.operand(field(node, "value"))
        found = cast(self.running, self.types, value, target)
        if found is None:
            raise self.error(node, f"{_a(value)} cannot be cast to {self.types.name(target)}")
        return found

    def _instanceof(self, node: Node) -> Value:
        value = self.operand(field(node, "left"))
        right, name = node.child_by_field_name("right"), node.child_by_field_name("name")
        pattern = node.child_by_field_name("pattern")
        if pattern is not None and pattern.type == "type_pattern":
            right, name = children(pattern)[-2:]
        if right is None:
            raise self.error(node, "a pattern with parts is not evaluated")
        target = self.type_signature(right)
        if len(target) == 1 or value.is_primitive:
            raise self.error(node, "instanceof takes an object and a class")
        if not value.is_known:
            holds: Any = UNKNOWN
        elif value.data is None:
            holds = False
        else:
            cls = self.types.of(target, value)
            handle = self.running.handle(value)
            holds = cls is not None and self.running.jni.is_instance_of(handle, cls)
        if name is not None:
            data = value.data if holds is True else UNKNOWN
            self.scope.bindings[self.source(name)] = Value(target, data)
        return Value("Z", holds)

    # ---- lambdas and switches --------------------------------------------------------------

    def _function(self, node: Node) -> Value:
        from jvmti.expressions.functions import Lambda, MethodReference

        if self.running.pure:
            raise Forbidden
        kind = Lambda if node.type == "lambda_expression" else MethodReference
        return Value(LAMBDA, kind(self, node))

    def _switch(self, node: Node) -> Value:
        from jvmti.expressions.switches import switched

        return switched(self, node)

    # ---- assignments -----------------------------------------------------------------------

    def _assignment(self, node: Node) -> Value:
        symbol = self.source(field(node, "operator"))
        right_node = field(node, "right")
        if not self.running.is_dry:
            self.running.prepare_to_call()
        place = self.place(field(node, "left"))
        if symbol == "=":
            if right_node.type == "array_initializer":
                value = self.initializer(right_node, place.type)
            else:
                value = self.operand(right_node)
            return self.assign(node, place, value)
        before = place.read()
        found = self.combined(node, symbol[:-1], before, self.operand(right_node))
        return self._assign_cast(node, place, found)

    def assigned(self, node: Node, place: Place, value: Value) -> Value:
        """Assign a value to a place that a whole expression names; see `assign`."""
        try:
            return self.assign(node, place, value)
        except NotAssigned as error:
            raise self.error(node, str(error)) from None

    def assign(self, node: Node, place: Place, value: Value) -> Value:
        """Assign a value to a place, if its type accepts it."""
        if not self.types.assigns(place.type, value):
            value = narrowed(self.running, value)
        if not self.types.assigns(place.type, value):
            raise self.error(
                node, f"{_a(value)} cannot be assigned to {self.types.name(place.type)}"
            )
        return assigned(self.running, place, value)

    def _assign_cast(self, node: Node, place: Place, value: Value) -> Value:
        """Assign what an operator such as ``+=`` computes: with a cast to the type of the place."""
        target = Value(place.type, UNKNOWN).primitive
        if target is not None and value.is_primitive:
            plain = cast(self.running, self.types, value, target)
            if plain is not None:
                return assigned(self.running, place, plain)
        return self.assign(node, place, value)

    def _update(self, node: Node) -> Value:
        inner = children(node)[0]
        is_before = node.children[0].type in ("++", "--")
        symbol = node.children[0 if is_before else -1].type
        if not self.running.is_dry:
            self.running.prepare_to_call()
        place = self.place(inner)
        before = place.read()
        found = self.combined(node, symbol[0], before, Value("I", 1))
        after = self._assign_cast(node, place, found)
        return after if is_before else before

    # ---- new objects -----------------------------------------------------------------------

    def _new(self, node: Node) -> Value:
        return self.names.new(node)

    def _new_array(self, node: Node) -> Value:
        element = self.type_signature(field(node, "type"))
        lengths = []
        empty = 0
        initial = None
        for one in children(node)[1:]:
            if one.type == "dimensions_expr":
                lengths.append(self._length(children(one)[-1]))
            elif one.type == "dimensions":
                empty += self.source(one).count("[")
            elif one.type == "array_initializer":
                initial = one
        signature = "[" * (len(lengths) + empty) + element
        if self.running.is_dry:
            return Value(signature, UNKNOWN)
        if initial is not None:
            return self.initializer(initial, signature)
        return Value(signature, self._nested(signature, lengths))

    def _length(self, node: Node) -> int:
        number = self._number(self.operand(node), node)
        if operators.promoted(number.type) != "I":
            raise self.error(node, f"a length is an int, not a {number.type_name}")
        return 0 if not number.is_known else int(number.data)

    def _nested(self, signature: str, lengths: list[int]) -> Any:
        """A new array of arrays, as many levels deep as there are lengths."""
        if any(one < 0 for one in lengths):
            self.running.throw("NegativeArraySizeException", str(min(lengths)))
        array = self.methods.new_array(signature, lengths[0])
        if len(lengths) > 1:
            for place in range(lengths[0]):
                inner = self._nested(signature[1:], lengths[1:])
                self.running.jni.set_object_array_element(array, place, inner)
        return array

    def initializer(self, node: Node, signature: str) -> Value:
        """A new array from its elements in braces."""
        if not is_array(signature):
            raise self.error(node, f"{self.types.name(signature)} is no array")
        element = signature[1:]
        made = []
        for one in children(node):
            if one.type == "array_initializer":
                value = self.initializer(one, element)
            else:
                value = self.operand(one)
                if not self.types.assigns(element, value):
                    value = narrowed(self.running, value)
                if not self.types.assigns(element, value):
                    raise self.error(
                        one, f"{_a(value)} is no element of {self.types.name(signature)}"
                    )
                value = to_type(self.running, value, element)
            made.append(value)
        if self.running.is_dry:
            return Value(signature, UNKNOWN)
        elements = [
            value.data if value.is_primitive else self.running.handle(value) for value in made
        ]
        return Value(signature, self.methods.array_of(signature, elements))

    # ---- types -----------------------------------------------------------------------------

    def type_signature(self, node: Node, *, void: bool = False) -> str:
        """The signature of a type that the expression names."""
        text = self.source(node)
        if node.type in _NUMERIC_TYPES:
            if node.type == "void_type" and not void:
                raise self.error(node, "void is no type of a value")
            return signature_of(text)
        if node.type == "array_type":
            dimensions = self.source(field(node, "dimensions")).count("[")
            return "[" * dimensions + self.type_signature(field(node, "element"))
        if node.type == "generic_type":
            return self.type_signature(children(node)[0])
        if node.type == "annotated_type":
            return self.type_signature(children(node)[-1])
        cls = self.names.type_by_name(text.split("."))
        if cls is None:
            raise self.error(node, f"there is no type {text!r}{self.names.similar_types(text)}")
        return cls.signature


def _is_minus(node: Node) -> bool:
    found = node.child_by_field_name("operator")
    return node.type == "unary_expression" and found is not None and found.type == "-"


def _both(one: Value, other: Value, letter: str) -> tuple[Any, Any]:
    return (
        operators.converted(one.data, one.type, letter),
        operators.converted(other.data, other.type, letter),
    )


def _a(value: Value) -> str:
    return "null" if value.type == NULL else f"a value of type {value.type_name}"


_Handler = Callable[[Evaluator, "Node"], "Value | TypeName"]
_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(
        (
            "decimal_integer_literal",
            "hex_integer_literal",
            "octal_integer_literal",
            "binary_integer_literal",
            "decimal_floating_point_literal",
            "hex_floating_point_literal",
            "character_literal",
            "string_literal",
        ),
        Evaluator._literal,
    ),
    "true": Evaluator._truth,
    "false": Evaluator._truth,
    "null_literal": Evaluator._null,
    "class_literal": Evaluator._class_literal,
    "parenthesized_expression": Evaluator._parenthesized,
    "this": Evaluator._this,
    "identifier": Evaluator._name,
    "field_access": Evaluator._name,
    "method_invocation": Evaluator._name,
    "array_access": Evaluator._element,
    "binary_expression": Evaluator._binary,
    "unary_expression": Evaluator._unary,
    "ternary_expression": Evaluator._ternary,
    "cast_expression": Evaluator._cast,
    "instanceof_expression": Evaluator._instanceof,
    "assignment_expression": Evaluator._assignment,
    "update_expression": Evaluator._update,
    "object_creation_expression": Evaluator._new,
    "array_creation_expression": Evaluator._new_array,
    "lambda_expression": Evaluator._function,
    "method_reference": Evaluator._function,
    "switch_expression": Evaluator._switch,
}
_REFUSED = {
    "super": "`super` stands before a member: super.name()",
}

__all__ = ["Evaluator"]
