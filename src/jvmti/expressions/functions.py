"""Lambdas and method references: objects of the program whose methods ask the debugger.

The program gets a small class for each interface (`jvmti.expressions.function_classes`). A thread
that calls a method of such an object stops, and the expression is evaluated on it.
"""

from __future__ import annotations

import itertools
import random
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jvmti.expressions.errors import ExpressionError
from jvmti.expressions.function_classes import (
    DECIDE,
    DONE,
    RESULT,
    SUFFIX,
    THROWN,
    function_class,
)
from jvmti.expressions.methods import NoSuchCall
from jvmti.expressions.names import TypeName
from jvmti.expressions.parsing import children, field
from jvmti.expressions.values.conversions import narrowed, to_type
from jvmti.expressions.values.places import LocalPlace
from jvmti.expressions.values.typed import LAMBDA, UNKNOWN, Value, is_array
from jvmti.interface.errors import Error, JavaException
from jvmti.interface.modifiers import MethodModifiers
from jvmti.layouts.stops import Within
from jvmti.model.debug.breakpoints import Breakpoint
from jvmti.model.values.conversion import BOXES
from jvmti.model.values.overloads import Overload

if TYPE_CHECKING:
    from tree_sitter import Node

    from jvmti.expressions.evaluator import Evaluator
    from jvmti.model.classes.java_class import Class
    from jvmti.model.debug.stops import Stop
    from jvmti.model.vm import VM

_MOST = 1000
"""Lambdas of a session that can be called; the oldest is forgotten first."""
_OF_OBJECT = frozenset((("equals", "(Ljava/lang/Object;)Z"), ("hashCode", "()I"),
                        ("toString", "()Ljava/lang/String;")))  # fmt: skip


class Shape(NamedTuple):
    """The abstract method of a functional interface, in each of its signatures."""

    methods: tuple[Overload, ...]

    @property
    def parameters(self) -> list[str]:
        """The types of the parameters."""
        return self.methods[0].parameters

    @property
    def result(self) -> str:
        """The type of the result."""
        return self.methods[0].result


def shape_of(cls: Class) -> Shape | None:
    """The abstract method of a functional interface; ``None`` of other classes."""
    if cls.is_array or cls.is_primitive or not cls.is_interface:
        return None
    wanted: dict[tuple[str, str], Overload] = {}
    given: set[tuple[str, str]] = set(_OF_OBJECT)
    for one in [cls, *cls.all_interfaces]:
        for method in one.methods:
            key, modifiers = (method.name, method.signature), method.modifiers
            if modifiers & MethodModifiers.STATIC:
                continue
            if modifiers & MethodModifiers.ABSTRACT:
                wanted.setdefault(key, Overload(method, *key, modifiers, one.name))
            else:
                given.add(key)
    left = [one for key, one in wanted.items() if key not in given]
    if len({(one.name, len(one.parameters)) for one in left}) != 1:
        return None
    return Shape(tuple(left))


class Function:
    """A lambda or a method reference, whose interface its context decides.

    Args:
        evaluator: the evaluation that it is in.
        node: its part of the expression.
    """

    def __init__(self, evaluator: Evaluator, node: Node) -> None:
        self.evaluator = evaluator
        self.node = node
        self._lock = threading.RLock()

    count: int | None = None
    """The number of its parameters, where it is known."""
    may_be_void = True
    """Whether it may be one without a result."""

    def accepts(self, signature: str) -> bool:
        """Whether an object of a type can be made of it."""
        shape = self._shape(signature)
        if shape is None or self.count not in (None, len(shape.parameters)):
            return False
        return shape.result != "V" or self.may_be_void

    def has_result(self, signature: str) -> bool:
        """Whether the method of a type has a result."""
        shape = self._shape(signature)
        return shape is not None and shape.result != "V"

    def _shape(self, signature: str) -> Shape | None:
        cls = self.evaluator.types.of(signature)
        return None if cls is None else functions_of(self.evaluator.running.vm).shape_of(cls)

    def made(self, signature: str) -> Value:
        """An object of a type that accepts it."""
        running = self.evaluator.running
        if running.is_dry:
            return Value(signature, UNKNOWN)
        running.prepare_to_call()
        cls = self.evaluator.types.of(signature)
        assert cls is not None
        bound = self.bound()
        return Value(signature, functions_of(running.vm).made(self.evaluator, cls, bound))

    def bound(self) -> BoundFunction:
        """The function with the values of the frame that it uses."""
        raise NotImplementedError


class BoundFunction:
    """A function that can be called after its frame has moved on.

    Args:
        outer: the evaluation that it was made in.
        node: its part of the expression.
    """

    def __init__(self, outer: Evaluator, node: Node) -> None:
        self.node = node
        self.failures = outer.failures
        self.evaluator = outer.within(_captured(outer, node))
        self._lock = threading.RLock()

    def called(self, arguments: Sequence[Value]) -> Value:
        """Its result."""
        raise NotImplementedError

    def result(self, arguments: Sequence[Any], shape: Shape) -> Any:
        """Its result as an object.

        Args:
            arguments: its arguments as objects.
            shape: the types of these, and of the result.
        """
        evaluator = self.evaluator
        running, types, target = evaluator.running, evaluator.types, shape.result
        with self._lock:
            running.restart()
            given = [
                self._argument(one, kind)
                for one, kind in zip(arguments, shape.parameters, strict=True)
            ]
            value = self.called(given)
            if target == "V":
                return None
            if value.type == "V":
                raise evaluator.error(self.node, "this returns nothing, and a result is needed")
            if not types.assigns(target, value):
                value = narrowed(running, value)
            if not types.assigns(target, value):
                raise evaluator.error(
                    self.node, f"the result is of type {value.type_name}, not {types.name(target)}"
                )
            value = to_type(running, value, target)
            if value.is_primitive:
                return running.boxed(value.data, value.type)
            return running.handle(value)

    def _argument(self, data: Any, kind: str) -> Value:
        running = self.evaluator.running
        if len(kind) == 1:
            return running.unboxed(Value(BOXES[kind].signature, data))
        return narrowed(running, Value(kind, data, is_open=True))


def _captured(outer: Evaluator, node: Node) -> dict[str, Value]:
    """The variables of the frame that a function uses, with their values now."""
    names = {outer.source(one) for one in _identifiers(node)}
    found = {}
    for variable in outer.scope.variables():
        name = variable.name if variable.name is not None else f"slot{variable.slot}"
        if name in names and name != "this":
            found[name] = LocalPlace(outer.running, variable).read()
    return found | outer.scope.bindings


def _identifiers(node: Node) -> Iterator[Node]:
    if node.type == "identifier":
        yield node
    for one in node.named_children:
        yield from _identifiers(one)


# ---- lambdas -----------------------------------------------------------------------------------


class Lambda(Function):
    """A lambda: ``order -> order.total > 3``."""

    def __init__(self, evaluator: Evaluator, node: Node) -> None:
        super().__init__(evaluator, node)
        parameters = field(node, "parameters")
        if parameters.type == "identifier":
            self.names = [evaluator.source(parameters)]
        elif parameters.type == "inferred_parameters":
            self.names = [evaluator.source(one) for one in children(parameters)]
        else:
            found = [field(one, "name") for one in children(parameters)]
            self.names = [evaluator.source(one) for one in found]
        self.count = len(self.names)
        self.body = field(node, "body")
        self.statements = children(self.body) if self.body.type == "block" else None
        for one in self.statements or ():
            if one.type not in ("expression_statement", "return_statement"):
                raise evaluator.error(
                    one,
                    "in a lambda only expressions and `return` are evaluated; write a method in "
                    "the program, or evaluate Python: =py …",
                )
        self.may_be_void = (
            self.body.type in _STATEMENTS
            if self.statements is None
            else not any(
                one.type == "return_statement" and children(one) for one in self.statements
            )
        )

    def bound(self) -> BoundFunction:
        """See `Function.bound`."""
        return _BoundLambda(self)


_STATEMENTS = frozenset(
    (
        "method_invocation",
        "assignment_expression",
        "update_expression",
        "object_creation_expression",
    )
)


class _BoundLambda(BoundFunction):
    def __init__(self, source: Lambda) -> None:
        super().__init__(source.evaluator, source.node)
        self._source = source

    def called(self, arguments: Sequence[Value]) -> Value:
        scope = self.evaluator.scope
        before = dict(scope.bindings)
        scope.bindings.update(zip(self._source.names, arguments, strict=True))
        try:
            if self._source.statements is None:
                return self.evaluator.value(self._source.body)
            found = Value("V", None)
            for one in self._source.statements:
                inner = children(one)
                if one.type == "return_statement":
                    return self.evaluator.operand(inner[0]) if inner else found
                self.evaluator.value(inner[0])
            return found
        finally:
            scope.bindings.clear()
            scope.bindings.update(before)


# ---- method references -------------------------------------------------------------------------


class MethodReference(Function):
    """A method reference: ``Order::name``, ``order::add``, ``Order::new``, ``int[]::new``."""

    def bound(self) -> BoundFunction:
        """See `Function.bound`."""
        return _BoundReference(self)


class _BoundReference(BoundFunction):
    def __init__(self, source: MethodReference) -> None:
        super().__init__(source.evaluator, source.node)
        evaluator = source.evaluator
        owner = source.node.children[0]
        self._name = evaluator.source(source.node.children[-1])
        self._value: Value | None = None
        self._cls: Class | None = None
        self._signature = ""
        if owner.type == "super":
            raise evaluator.error(owner, "a lambda can call it: () -> super.name()")
        if owner.type in ("array_type", "generic_type", "integral_type", "floating_point_type"):
            self._signature = evaluator.type_signature(owner)
            self._cls = evaluator.types.of(self._signature)
            return
        found = evaluator.anything(owner)
        if isinstance(found, TypeName):
            self._cls, self._signature = found.cls, found.cls.signature
            return
        if found.data is None:
            evaluator.running.throw("NullPointerException")
        self._value = found

    def called(self, arguments: Sequence[Value]) -> Value:
        evaluator = self.evaluator
        methods, given = evaluator.methods, list(arguments)
        try:
            if self._value is not None:
                return evaluator.names.call_on(self._value, self._name, given)
            if self._name == "new" and is_array(self._signature):
                length = evaluator.running.unboxed(given[0]).data
                return Value(self._signature, methods.new_array(self._signature, length))
            assert self._cls is not None
            if self._name == "new":
                chosen = methods.choose(self._cls, "<init>", given)
                return methods.new(self._cls, chosen, given)
            try:
                chosen = methods.choose(self._cls, self._name, given, static=True)
            except NoSuchCall:
                if not given:
                    raise
                return evaluator.names.call_on(given[0], self._name, given[1:])
            return methods.call(chosen, None, given)
        except NoSuchCall as error:
            raise evaluator.error(self.node, str(error)) from None


# ---- objects in the program --------------------------------------------------------------------


class _Question(Breakpoint):
    """The place where such an object asks, also in a call by the evaluation itself."""

    _also = Within.HANDLERS


class Functions:
    """The lambdas of a session.

    Args:
        vm: its VM.
    """

    def __init__(self, vm: VM) -> None:
        self._vm = weakref.ref(vm)
        self._lock = threading.RLock()
        self._shapes: dict[Class, Shape | None] = {}
        self._makers: dict[Class, tuple[Class, Any]] = {}
        self._made: OrderedDict[int, tuple[BoundFunction, Shape]] = OrderedDict()
        # Objects of an earlier session may be there, whose numbers must not be taken for ours.
        self._numbers = itertools.count(random.getrandbits(30))

    def shape_of(self, cls: Class) -> Shape | None:
        """See `shape_of`."""
        with self._lock:
            if cls not in self._shapes:
                self._shapes[cls] = shape_of(cls)
            return self._shapes[cls]

    def made(self, evaluator: Evaluator, interface: Class, bound: BoundFunction) -> Any:
        """An object that implements an interface by a function."""
        shape = self.shape_of(interface)
        assert shape is not None
        with self._lock:
            if interface not in self._makers:
                self._makers[interface] = self._maker(evaluator, interface, shape)
            cls, constructor = self._makers[interface]
            number = next(self._numbers)
            self._made[number] = bound, shape
            while len(self._made) > _MOST:
                self._made.popitem(last=False)
        return evaluator.running.new(cls, constructor, [number])

    def _maker(self, evaluator: Evaluator, interface: Class, shape: Shape) -> tuple[Class, Any]:
        """The class of such objects, and its constructor."""
        running = evaluator.running
        name = interface.name + SUFFIX
        found = [one for one in running.vm.classes.named(name) if one.loader == interface.loader]
        if found:
            cls = found[0]  # of an earlier session
        else:
            methods = [(one.name, one.signature) for one in shape.methods]
            internal = name.replace(".", "/")
            data = function_class(internal, interface.signature[1:-1], methods)
            loader: Any = interface.loader
            cls = running.jni.define_class(internal, loader, data)  # type: ignore[assignment]
        constructor = running.jni.get_method_id(cls, "<init>", "(I)V")  # which initialises it
        (decide,) = (one for one in cls.methods if one.name == DECIDE)
        _Question(
            running.vm,
            decide,
            None,
            None,
            0,
            when=None,
            hits=None,
            thread=None,
            caller=None,
            do=self._decide,
        )
        return cls, constructor

    def _decide(self, stop: Stop) -> None:
        """A thread has called a method of such an object: give it the answer."""
        vm = stop.thread._vm
        variables = stop.frame.locals
        number, arguments, answer = variables[0], variables[1], variables[2]
        with self._lock:
            found = self._made.get(number)
        if found is None:
            return
        bound, shape = found
        jni = vm.jni
        try:
            count = range(len(shape.parameters))
            given = [jni.get_object_array_element(arguments, place) for place in count]
            result = bound.result(given, shape)
            jni.set_object_array_element(answer, RESULT, result)
        except JavaException as error:
            jni.set_object_array_element(answer, THROWN, error.throwable)
        except (ExpressionError, Error, LookupError) as error:
            bound.failures.append(error)
            cls = vm.bootstrap_class("java/lang/IllegalStateException")
            constructor = jni.get_method_id(cls, "<init>", "(Ljava/lang/String;)V")
            thrown = jni.new_object(cls, constructor, [jni.new_string(str(error))])
            jni.set_object_array_element(answer, THROWN, thrown)
        jni.set_object_array_element(answer, DONE, arguments)


_OF_VMS: weakref.WeakKeyDictionary[VM, Functions] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()


def functions_of(vm: VM) -> Functions:
    """The lambdas of a VM's session."""
    with _LOCK:
        found = _OF_VMS.get(vm)
        if found is None:
            found = _OF_VMS[vm] = Functions(vm)
        return found


__all__ = ["LAMBDA", "BoundFunction", "Function", "Lambda", "MethodReference", "functions_of"]
