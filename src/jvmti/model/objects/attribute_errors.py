"""Messages for unknown Python attributes of objects of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jvmti.interface.constants import ClassStatus
from jvmti.interface.errors import Error
from jvmti.model.objects.layouts import layout_of
from jvmti.text.names import suggestion

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Class
    from jvmti.model.values.overloads import Overload


def no_attribute(item: Any, name: str, *, static: bool) -> AttributeError:
    """The error for an attribute that is not there: how a Java field or method of that name is
    read or called, else which names are near.  No Java code runs.

    Args:
        item: what was asked for it.
        name: of the attribute.
        static: it is a class, whose own static fields and methods there are.
    """
    how: dict[str, list[str]] = {}
    try:
        cls = item if static else item.cls
        how = _java_names(cls, "cls" if static else "obj", static)
        what = f"class {cls.name}" if static else f"an object of {cls.name}"
    except (Error, LookupError):  # the object is gone, or cannot be asked now
        what = f"this {type(item).__name__}"
    message = f"{what} has no Python attribute {name!r}"
    if name in how:
        return AttributeError(f"{message}; in Java it is {' and '.join(how[name])}")
    own = {one: [repr(one)] for one in dir(type(item)) if not one.startswith("_")}
    forms = {**how, **own}
    near = suggestion(name, forms, formatted=lambda one: " and ".join(forms[one]))
    return AttributeError(message + near)


def _java_names(cls: Class, receiver: str, static: bool) -> dict[str, list[str]]:
    """How each field and method of a class is written in Python, by its name."""
    from jvmti.model.values.overloads import overloads_of

    found = {
        place.name: [f'the field {receiver}["{place.name}"]']
        for place in layout_of(cls).places
        if place.is_static or not static
    }
    if cls.is_array and not static:
        found["length"] = [f"len({receiver})"]
    if cls.status & (ClassStatus.PREPARED | ClassStatus.ARRAY):
        for name, overloads in overloads_of(cls).items():
            if name.startswith("<"):
                continue
            if any(one.is_static or not static for one in overloads):
                found.setdefault(name, []).append(_call_form(receiver, name, overloads))
    return found


def _call_form(receiver: str, name: str, overloads: list[Overload]) -> str:
    arguments = "" if any(one.signature.startswith("()") for one in overloads) else ", …"
    return f'the method {receiver}.call("{name}"{arguments})'


__all__ = ["no_attribute"]
