"""All exceptions of the package are in one tree, which `jvmti.errors` lists."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import pytest

import jvmti

NOT_RAISED_TO_CALLERS = {
    "CommandFailed", "NotWritten", "RemoteTraceback", "PrintableError",
    "MalformedMessage", "RequestFailed", "RequestCancelled", "StreamLost", "AsksProgram",
    "Forbidden", "NoSuchCall", "NotAssigned", "NotReadable",
}  # fmt: skip
"""How a command ends, the cause of another exception, and what the base is made of; how a request
of an editor ends, or goes on elsewhere; what becomes an `ExpressionError`; and what the controller
decides instead."""


def exceptions() -> list[type[BaseException]]:
    """Every exception class that a module of the package defines under a public name."""
    found = []
    for module in pkgutil.walk_packages(jvmti.__path__, "jvmti."):
        if module.name.endswith("__main__"):
            continue
        for cls in vars(importlib.import_module(module.name)).values():
            if not inspect.isclass(cls) or not issubclass(cls, BaseException):
                continue
            if cls.__module__ == module.name and not cls.__name__.startswith("_"):
                found.append(cls)
    return [cls for cls in found if cls.__name__ not in NOT_RAISED_TO_CALLERS]


def test_every_exception_is_an_error_of_the_package() -> None:
    assert [cls for cls in exceptions() if not issubclass(cls, jvmti.Error)] == []


def test_no_two_have_the_same_name() -> None:
    names = [cls.__name__ for cls in exceptions()]
    assert len(names) > 90
    assert [name for name in names if names.count(name) > 1] == []


def test_each_can_be_had_from_one_module() -> None:
    for cls in exceptions():
        assert getattr(jvmti.errors, cls.__name__) is cls
        assert cls.__name__ in jvmti.errors.__all__
        assert cls.__name__ in dir(jvmti.errors)


def test_the_tree_is_as_it_is_drawn() -> None:
    drawn = {}
    above = [("Error", 4)]
    for line in (jvmti.errors.__doc__ or "").splitlines():
        match = re.match(r"([ │├└]+)─ (\w+)", line)
        if match is None:
            continue
        indent, name = len(match[1]), match[2]
        while above[-1][1] >= indent:
            above.pop()
        drawn[name] = above[-1][0]
        above.append((name, indent))
        for builtin in re.findall(r"also (\w+)\)", line):
            assert issubclass(getattr(jvmti.errors, name), __builtins__[builtin]), line
    for cls in exceptions():
        if cls is jvmti.Error or (issubclass(cls, jvmti.JvmtiError) and cls.__name__ not in drawn):
            continue
        parent = next(base for base in cls.__mro__[1:] if issubclass(base, jvmti.Error))
        assert drawn[cls.__name__] == parent.__name__
    assert set(drawn) <= {cls.__name__ for cls in exceptions()}


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'InvalidThreat'"):
        getattr(jvmti.errors, "InvalidThreat")  # noqa: B009
