"""The meaning of names, members and calls in an expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from jvmti.expressions.methods import NoSuchCall
from jvmti.expressions.parsing import children, field
from jvmti.expressions.values.conversions import narrowed
from jvmti.expressions.values.places import ObjectField, Place
from jvmti.expressions.values.typed import OBJECT, UNKNOWN, Value, is_array
from jvmti.interface.modifiers import ClassModifiers
from jvmti.model.objects.layouts import layout_of
from jvmti.text.names import similar_names, suggestion

if TYPE_CHECKING:
    from tree_sitter import Node

    from jvmti.expressions.errors import ExpressionError
    from jvmti.expressions.evaluator import Evaluator
    from jvmti.model.classes.java_class import Class


class TypeName(NamedTuple):
    """A part of an expression that names a type."""

    cls: Class


_TYPE_VARIABLE = Value(OBJECT, UNKNOWN, is_open=True)
"""An object that is not there yet, whose type only the object itself says."""


class Names:
    """The meaning of names.

    Args:
        evaluator: the evaluation.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._running = evaluator.running
        self._types = evaluator.types
        self._methods = evaluator.methods
        self._scope = evaluator.scope

    # ---- names and fields ------------------------------------------------------------------

    def value_or_type(self, node: Node) -> Value | TypeName:
        """The value or type that a name, a member or a call is."""
        if node.type == "method_invocation":
            return self._invocation(node)
        if node.type == "identifier":
            bound = self._scope.bindings.get(self._evaluator.source(node))
            if bound is not None:
                return bound
        found = self._place_or_value(node)
        return found if isinstance(found, (Value, TypeName)) else found.read()

    def place(self, node: Node) -> Place:
        """The variable or field that a name means.

        Raises:
            ExpressionError: it means something else.
        """
        if node.type == "identifier" and self._evaluator.source(node) in self._scope.bindings:
            raise self._error(node, "variables of lambdas and patterns are not assigned to")
        found = self._place_or_value(node)
        if isinstance(found, (Value, TypeName)):
            raise self._error(node, "this is no variable, field or element of an array")
        return found

    def _error(self, node: Node, reason: str) -> ExpressionError:
        return self._evaluator.error(node, reason)

    def _place_or_value(self, node: Node) -> Place | Value | TypeName:
        source = self._evaluator.source
        if node.type == "identifier":
            name = source(node)
            place = self._simple(node, name)
            if place is not None:
                return place
            cls = self._scope.type_named(name)
            if cls is None:
                raise self._error(
                    node, f"there is no variable, field or type {name!r}{self._near(name)}"
                )
            return TypeName(cls)
        owner_node, member = field(node, "object"), field(node, "field")
        if member.type == "this":
            return self._outer_this(node, owner_node)
        if owner_node.type == "super":
            return self._super_field(node, source(member))
        name = source(member)
        owner = self._owner(owner_node, name)
        if owner is None:
            cls = self.type_by_name(source(node).replace(" ", "").split("."))
            if cls is not None:
                return TypeName(cls)
            raise self._unknown_path(node)
        if isinstance(owner, TypeName):
            return self._static(node, owner.cls, name)
        return self._field(node, owner, name)

    def _owner(self, node: Node, member: str) -> Value | TypeName | None:
        """The value or type before a dot; ``None`` for a package."""
        path = self._path(node)
        if path is None:
            return self._evaluator.anything(node)
        first = _first(node)
        name = path[0]
        if name in self._scope.bindings or self._simple(first, name) is not None:
            return self._evaluator.anything(node)
        cls = self.type_by_name(path)
        if cls is not None:
            return TypeName(cls)
        if self.type_by_name(path[:1]) is not None:
            return self._evaluator.anything(node)  # a static field among them
        for count in range(2, len(path)):
            if self.type_by_name(path[:count]) is not None:
                return self._evaluator.anything(node)
        return None

    def _path(self, node: Node) -> list[str] | None:
        """The names of ``a.b.c``; ``None`` where it is more than names."""
        if node.type == "identifier":
            return [self._evaluator.source(node)]
        if node.type != "field_access" or field(node, "field").type != "identifier":
            return None
        before = self._path(field(node, "object"))
        return None if before is None else [*before, self._evaluator.source(field(node, "field"))]

    def _unknown_path(self, node: Node) -> ExpressionError:
        first = _first(node)
        name = self._evaluator.source(first)
        return self._error(first, f"there is no variable, field or type {name!r}{self._near(name)}")

    def _near(self, name: str) -> str:
        """Similar names for an error about an unknown one."""
        variables = self._scope.variables()
        unnamed = [f"slot{one.slot} ({one.type})" for one in variables if one.name is None]
        if unnamed:
            return (
                "; the class was compiled without names of variables (javac -g keeps them), its "
                f"parameters are {', '.join(unnamed)}"
            )
        known = [one.name for one in variables]
        for level in self._scope.levels():
            known += [one.name for one in layout_of(level.cls).places]
        return suggestion(name, known)

    def similar_types(self, name: str) -> str:
        """Similar names for an error about an unknown type."""
        found = similar_names(name.rpartition(".")[2], self._scope.imports.loaded, 3)
        return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""

    def _simple(self, node: Node, name: str) -> Place | None:
        place = self._scope.variable(name)
        if isinstance(place, ObjectField) and place.object is None and not place.field.is_static:
            owner = place.field.owner
            why = "the method is static" if self._scope.is_static else "the compiler left it out"
            raise self._error(
                node, f"{name!r} is a field of an object of {owner}, and none is known here: {why}"
            )
        return place

    def _static(self, node: Node, cls: Class, name: str) -> Place | Value | TypeName:
        found = self._scope.field_of(cls, name, None)
        if found is not None:
            if not found.field.is_static:
                raise self._error(node, f"{cls.name}.{name} is not static: it needs an object")
            return found
        inner = self._scope.member_type(cls, name)
        if inner is not None:
            return TypeName(inner)
        there = [one.name for one in layout_of(cls).places if one.is_static]
        raise self._error(node, f"{cls.name} has no static field {name!r}{suggestion(name, there)}")

    def _field(self, node: Node, owner: Value, name: str) -> Place | Value:
        if owner.is_primitive:
            raise self._error(node, f"a value of type {owner.type_name} has no fields")
        if name == "length" and (is_array(owner.type) or owner.is_open):
            return self._length(node, owner)
        cls = self._types.of(owner.type, owner)
        found = None if cls is None else self._scope.field_of(cls, name, owner)
        if found is None and owner.is_known and owner.data is not None:
            # The object may have more than its declared type.
            owner = narrowed(self._running, owner)
            if name == "length" and is_array(owner.type):
                return self._length(node, owner)
            cls = self._types.of(owner.type, owner)
            found = None if cls is None else self._scope.field_of(cls, name, owner)
        if found is not None:
            return found
        if owner.is_open and not owner.is_known:
            return _TYPE_VARIABLE
        if owner.data is None:
            self._running.throw("NullPointerException")
        there = [] if cls is None else [one.name for one in layout_of(cls).places]
        raise self._error(node, f"{owner.type_name} has no field {name!r}{suggestion(name, there)}")

    def _length(self, node: Node, array: Value) -> Value:
        if not array.is_known:
            return Value("I", UNKNOWN)
        if array.data is None:
            self._running.throw(
                "NullPointerException", "Cannot read the array length because it is null"
            )
        return Value("I", self._running.jni.get_array_length(array.data))

    def _outer_this(self, node: Node, owner: Node) -> Value:
        cls = self.type_by_name(self._evaluator.source(owner).replace(" ", "").split("."))
        found = None if cls is None else self._scope.around(cls)
        if found is None:
            raise self._error(node, f"no object of {self._evaluator.source(owner)} is known here")
        return found

    def _super_field(self, node: Node, name: str) -> Place:
        this = self._scope.this
        above = self._types.home.superclass
        found = None
        if this is not None and above is not None:
            found = self._scope.field_of(above, name, this)
        if found is None:
            raise self._error(node, f"there is no `super.{name}` here")
        return found

    # ---- types -----------------------------------------------------------------------------

    def type_by_name(self, names: Sequence[str]) -> Class | None:
        """A type by its names: simple, nested in another, or with its package."""
        names = [one.strip() for one in names]
        cls = self._scope.type_named(names[0])
        if cls is not None:
            for name in names[1:]:
                inner = self._scope.member_type(cls, name)
                if inner is None:
                    return None
                cls = inner
            return cls
        return self._scope.imports.qualified(".".join(names)) if len(names) > 1 else None

    # ---- calls -----------------------------------------------------------------------------

    def _invocation(self, node: Node) -> Value:
        name_node = field(node, "name")
        name = self._evaluator.source(name_node)
        owner_node = node.child_by_field_name("object")
        if owner_node is None:
            return self._unqualified(name_node, name, field(node, "arguments"))
        if owner_node.type == "super":
            return self._super_call(name_node, name, field(node, "arguments"))
        owner = self._owner(owner_node, name)
        if owner is None:
            raise self._unknown_path(owner_node)
        if isinstance(owner, TypeName):
            arguments = self._arguments(field(node, "arguments"))
            chosen = self._methods.choose(owner.cls, name, arguments, static=True)
            return self._methods.call(chosen, None, arguments)
        if owner.is_primitive:
            raise self._error(name_node, f"a value of type {owner.type_name} has no methods")
        arguments = self._arguments(field(node, "arguments"))
        return self.call_on(owner, name, arguments)

    def call_on(self, owner: Value, name: str, arguments: list[Value]) -> Value:
        """Call a method of an object by its name."""
        running = self._running
        if not owner.is_known and owner.is_open:
            return _TYPE_VARIABLE
        cls = self._types.of(owner.type, owner)
        if cls is None and owner.data is None:
            running.prepare_to_call()
            running.throw("NullPointerException", f'Cannot invoke "{name}" on null')
        try:
            if cls is None:
                raise NoSuchCall(f"there is no class {owner.type_name}")
            chosen = self._methods.choose(cls, name, arguments)
        except NoSuchCall:
            # The object may have more than its declared type.
            if running.is_dry:
                return _TYPE_VARIABLE
            own = running.class_of(owner)
            if own is None and owner.is_open:
                running.throw("NullPointerException", f'Cannot invoke "{name}" on null')
            if own is None or own.signature == owner.type:
                raise
            self._types.learn(own)
            chosen = self._methods.choose(own, name, arguments)
            owner = narrowed(running, owner)
        return self._methods.call(chosen, owner, arguments)

    def _arguments(self, node: Node) -> list[Value]:
        return [self._evaluator.operand(one) for one in children(node)]

    def _unqualified(self, node: Node, name: str, arguments_node: Node) -> Value:
        level = self._scope.method_level(name)
        if level is None:
            known: list[str] = []
            from jvmti.model.values.overloads import overloads_of

            for one in self._scope.levels():
                known += overloads_of(one.cls)
            raise self._error(node, f"there is no method {name!r}{suggestion(name, known)}")
        arguments = self._arguments(arguments_node)
        chosen = self._methods.choose(level.cls, name, arguments)
        if not chosen.overload.is_static and level.object is None:
            why = "the method is static" if self._scope.is_static else "the compiler left it out"
            raise self._error(
                node, f"{chosen.overload} needs an object, and none is known here: {why}"
            )
        receiver = None if chosen.overload.is_static else level.object
        return self._methods.call(chosen, receiver, arguments)

    def _super_call(self, node: Node, name: str, arguments_node: Node) -> Value:
        this, above = self._scope.this, self._types.home.superclass
        if this is None or above is None:
            raise self._error(node, "there is no `super` here")
        arguments = self._arguments(arguments_node)
        chosen = self._methods.choose(above, name, arguments)
        of = None if chosen.overload.is_static else chosen.overload.method.declaring_class
        return self._methods.call(chosen, this, arguments, of=of)

    # ---- new objects -----------------------------------------------------------------------

    def new(self, node: Node) -> Value:
        """The value of ``new Type(arguments)``."""
        parts = children(node)
        if any(one.type == "class_body" for one in parts):
            raise self._error(node, "an anonymous class would need a new class in the program")
        type_node = field(node, "type")
        arguments = self._arguments(field(node, "arguments"))
        outer = None
        before = parts[0]
        if before.start_byte < type_node.start_byte and before.type != "type_arguments":
            outer = self._evaluator.operand(before)
            owner = self._types.of(outer.type, outer)
            name = self._evaluator.source(type_node).partition("<")[0]
            cls = None if owner is None else self._scope.member_type(owner, name)
            if cls is None:
                raise self._error(type_node, f"{outer.type_name} has no class {name!r}")
        else:
            signature = self._evaluator.type_signature(type_node)
            cls = self._types.of(signature)
            if cls is None or cls.is_primitive:
                raise self._error(type_node, f"there is no class {self._types.name(signature)}")
        if cls.modifiers & ClassModifiers.ABSTRACT:
            what = "an interface" if cls.is_interface else "abstract"
            raise self._error(type_node, f"{cls.name} is {what}: name a class that it stands for")
        if cls.is_enum:
            raise self._error(type_node, f"{cls.name} is an enum: its objects are its constants")
        around = self._around(type_node, cls, outer)
        arguments = [*around, *arguments]
        return self._methods.new(cls, self._methods.choose(cls, "<init>", arguments), arguments)

    def _around(self, node: Node, cls: Class, outer: Value | None) -> list[Value]:
        """The first argument of the constructor of an inner class: the object around it."""
        nested = "$" in cls.name and not cls.is_static and not cls.is_interface
        owner = cls.outer_class if nested else None
        if owner is None:
            return []
        if outer is not None:
            return [outer]
        for level in self._scope.levels():
            if level.object is not None and self._types.is_subtype(
                level.cls.signature, owner.signature
            ):
                return [level.object]
        raise self._error(node, f"{cls.name} is an inner class: say of which object, o.new …")


def _first(node: Node) -> Node:
    while node.type == "field_access":
        node = field(node, "object")
    return node


__all__ = ["Names", "TypeName"]
