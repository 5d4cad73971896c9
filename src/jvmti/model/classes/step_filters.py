"""Which methods steps pass over: those of the JDK, of chosen classes, and those of compilers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from jvmti.interface.modifiers import MethodModifiers
from jvmti.interface.signatures import matcher

if TYPE_CHECKING:
    from jvmti.model.classes.java_class import Method

JDK = "$JDK"
"""Stands for the classes of the JDK among the patterns."""
_JDK = ("java.*", "javax.*", "jdk.*", "sun.*", "com.sun.*", "netscape.javascript.*")
_WRITTEN = ("lambda$", "$anonfun$")
"""Names of methods that compilers make of code that people wrote."""


class StepFilters:
    """The methods that steps pass over.

    Args:
        skip_classes: patterns for classes, of which `JDK` stands for those of the JDK.
        skip_synthetics: methods that only compilers wrote, but for lambdas.
        skip_constructors: constructors.
        skip_static_initializers: initializers of classes.
    """

    def __init__(
        self,
        skip_classes: Iterable[str] = (JDK,),
        *,
        skip_synthetics: bool = True,
        skip_constructors: bool = False,
        skip_static_initializers: bool = False,
    ) -> None:
        chosen = [one for text in skip_classes for one in (_JDK if text == JDK else (text,))]
        self.classes = "\n".join(chosen) or None
        """Patterns for the classes whose methods steps pass over, one a line."""
        self._matches = None if self.classes is None else matcher(self.classes)
        self._synthetics = skip_synthetics
        self._constructors = skip_constructors
        self._initializers = skip_static_initializers
        self._known: dict[Method, bool] = {}

    def skips(self, method: Method) -> bool:
        """Whether steps pass over a method."""
        found = self._known.get(method)
        if found is None:
            found = self._known[method] = self._skips(method)
        return found

    def _skips(self, method: Method) -> bool:
        name, class_name = method.name, method.class_name
        if self._matches is not None and self._matches(class_name):
            return True
        if self._synthetics and ("$$Lambda" in class_name or "/0x" in class_name):
            return True  # it stands for a lambda, or is the glue of a method handle
        if name == "<init>":
            return self._constructors
        if name == "<clinit>":
            return self._initializers
        if not self._synthetics or is_lambda(name):
            return False
        return bool(method.modifiers & (MethodModifiers.SYNTHETIC | MethodModifiers.BRIDGE))


def is_lambda(name: str) -> bool:
    """Whether a method, by its name, has the code of a lambda."""
    return name.startswith(_WRITTEN)


__all__ = ["JDK", "StepFilters", "is_lambda"]
