"""Values that the agent reads at a place in the code: variables, fields of objects, lengths.

A Java expression is translated to the words of traces and logpoints (`jvmti.tracing.conditions`),
where its types are known before it is evaluated: by the table of the method's variables, and by the
fields of the classes that are loaded.
"""

from __future__ import annotations

import functools
import keyword
import re
from typing import TYPE_CHECKING, NamedTuple

from jvmti.expressions.parsing import children, field, parsed
from jvmti.expressions.python_expression import PYTHON
from jvmti.interface.errors import Error
from jvmti.interface.modifiers import MethodModifiers
from jvmti.interface.signatures import STRING, java_name
from jvmti.model.objects.layouts import layout_of
from jvmti.tracing.conditions import EVERYWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

    from jvmti.expressions.parsing import ParsedExpression
    from jvmti.model.classes.java_class import Class, Method
    from jvmti.model.vm import VM

_DECLARES = re.compile(r"->|::|\binstanceof\b|\bswitch\b")
_ARGUMENT = re.compile(r"arg\d+\Z")


class NotReadable(Exception):
    """The agent cannot read this, or nothing says what it is."""


class AgentValue(NamedTuple):
    """A value as the agent names it."""

    text: str
    """Its name in the words of traces."""
    signature: str
    """Its static type."""


class CodePlace:
    """A place in a method.

    Args:
        vm: the VM.
        method: the method.
        location: the bytecode index.
    """

    def __init__(self, vm: VM, method: Method, location: int) -> None:
        self._vm = vm
        self._method = method
        self._location = location

    def value(self, expression: ParsedExpression, node: Node) -> AgentValue:
        """The value that a part of an expression stands for.

        Raises:
            NotReadable: it is more than a variable, fields of it, and a length.
        """
        source = expression.source
        match node.type:
            case "parenthesized_expression":
                return self.value(expression, children(node)[0])
            case "this":
                return self._this()
            case "identifier":
                return self._named(source(node))
            case "field_access":
                owner = self.value(expression, field(node, "object"))
                return self._field(owner, source(field(node, "field")))
            case "method_invocation":
                owner_node = node.child_by_field_name("object")
                arguments = children(field(node, "arguments"))
                if owner_node is not None and not arguments:
                    owner = self.value(expression, owner_node)
                    if (owner.signature, source(field(node, "name"))) == (STRING, "length"):
                        return AgentValue(f"len({owner.text})", "I")
        raise NotReadable

    def may_know(self, name: str) -> bool:
        """Whether a simple name may be that of a variable, or of a field of the classes around it;
        true where nothing says the variables."""
        if self.variables is None or name in self.variables:
            return True
        cls: Class | None = self._method.declaring_class
        while cls is not None:
            fields = layout_of(cls)
            for one in (name, f"val${name}"):
                try:
                    fields.find(one)
                except KeyError:
                    continue
                return True
            cls = cls.outer_class
        return False

    @functools.cached_property
    def variables(self) -> dict[str, str] | None:
        """The signatures of the variables by their names; ``None`` where nothing says them."""
        env = self._vm.env_with("can_access_local_variables")
        try:
            table = env.get_local_variable_table(self._method)
        except Error:
            return None
        return {
            one.name: one.signature
            for one in table
            if one.start_location <= self._location < one.start_location + one.length
        }

    def _this(self) -> AgentValue:
        if self._method.modifiers & MethodModifiers.STATIC:
            raise NotReadable
        return AgentValue("this", self._method.declaring_class.signature)

    def _named(self, name: str) -> AgentValue:
        if self.variables is None:
            raise NotReadable
        signature = self.variables.get(name)
        if signature is None:
            return self._field(self._this(), name)
        # The agent means something else by these.
        if name in EVERYWHERE or _ARGUMENT.match(name):
            raise NotReadable
        return AgentValue(_as_word(name), signature)

    def _field(self, owner: AgentValue, name: str) -> AgentValue:
        if owner.signature.startswith("["):
            if name != "length":
                raise NotReadable
            return AgentValue(f"len({owner.text})", "I")
        cls = self._class_of(owner.signature)
        try:
            place = layout_of(cls).find(name)
        except (LookupError, Error):
            raise NotReadable from None
        if place.is_static or owner.text.startswith("len("):
            raise NotReadable
        # A subclass may have a field of the same name.
        return AgentValue(f'{owner.text}["{place.owner}"].{_as_word(name)}', place.signature)

    def _class_of(self, signature: str) -> Class:
        home = self._method.declaring_class
        if signature == home.signature:
            return home
        if not signature.startswith("L"):
            raise NotReadable
        found = list(self._vm.classes.named(java_name(signature)))
        if len(found) != 1:
            raise NotReadable
        return found[0]


def _as_word(name: str) -> str:
    """A name as the agent's conditions take it."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise NotReadable
    return name


def unknown_name(vm: VM, text: str, places: Sequence[tuple[Method, int]]) -> str | None:
    """A simple name in an expression that means nothing at any of some places, if there is one.

    Names before a dot may be packages, and those with a capital letter classes or constants that
    the source imports; expressions that declare names have none of these.

    Args:
        vm: the VM.
        text: the expression.
        places: methods and bytecode indices in loaded classes.
    """
    if not places or text.startswith(PYTHON) or _DECLARES.search(text):
        return None
    expression = parsed(text)
    at = [CodePlace(vm, *one) for one in places]
    try:
        for node in _simple_names(expression.root):
            name = expression.source(node)
            if not name[0].isupper() and not any(one.may_know(name) for one in at):
                return name
    except Error:
        return None  # a class that is not ready to say what it has
    return None


def _simple_names(node: Node) -> Iterator[Node]:
    """The identifiers of an expression that stand for a variable or a field of ``this``."""
    if node.type == "identifier":
        yield node
    for one in children(node):
        before_dot = one == node.child_by_field_name("object")
        member = one in (node.child_by_field_name("field"), node.child_by_field_name("name"))
        if one.type != "identifier" or not (before_dot or member):
            yield from _simple_names(one)


__all__ = ["AgentValue", "CodePlace", "NotReadable", "unknown_name"]
