"""Expressions in the language of the program: Java, evaluated in a frame of a stopped thread;
and Python over the model.

What lives here: the syntax tree of an expression (by ``tree-sitter``), what its names mean in a
frame, Java's rules for types, operators and overloads, completion, and the part of a condition that
the agent can decide.  What does not: values and calls themselves (`jvmti.model`), the conditions of
the agent (`jvmti.model.debug.conditions`), and Python expressions of the prompt (`jvmti.shell`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jvmti.reexports import reexports

if TYPE_CHECKING:
    from jvmti.expressions.completion import Completion, completions
    from jvmti.expressions.errors import ExpressionError
    from jvmti.expressions.evaluation import Evaluated, assign, evaluate, evaluated
    from jvmti.expressions.python_expression import PYTHON, PythonExpression
    from jvmti.expressions.stop_conditions import JavaCondition, PythonCondition, condition, holds
else:
    __getattr__, __dir__ = reexports(
        __name__,
        {
            "Completion": "jvmti.expressions.completion",
            "Evaluated": "jvmti.expressions.evaluation",
            "ExpressionError": "jvmti.expressions.errors",
            "JavaCondition": "jvmti.expressions.stop_conditions",
            "PYTHON": "jvmti.expressions.python_expression",
            "PythonCondition": "jvmti.expressions.stop_conditions",
            "PythonExpression": "jvmti.expressions.python_expression",
            "assign": "jvmti.expressions.evaluation",
            "completions": "jvmti.expressions.completion",
            "condition": "jvmti.expressions.stop_conditions",
            "evaluate": "jvmti.expressions.evaluation",
            "evaluated": "jvmti.expressions.evaluation",
            "holds": "jvmti.expressions.stop_conditions",
        },
    )

__all__ = [
    "PYTHON",
    "Completion",
    "Evaluated",
    "ExpressionError",
    "JavaCondition",
    "PythonCondition",
    "PythonExpression",
    "assign",
    "completions",
    "condition",
    "evaluate",
    "evaluated",
    "holds",
]
